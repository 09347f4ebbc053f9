//! etcd, API server, controller manager and scheduler, in node-a's network namespace.

use std::ffi::OsString;

use anyhow::Result;

use super::layout::{API_ADDRESS, Layout, Node, SERVICE_NETWORK};
use super::process::{Process, arguments};
use crate::binaries::Binaries;

/// The processes of the control plane, in the order in which they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controller manager.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];
    /// What a test of API objects needs.
    pub const API: [Self; 2] = [Self::Etcd, Self::ApiServer];

    /// The program's name; also that of its log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(self, layout: &Layout, binaries: &Binaries) -> Result<Process> {
        // It starts no containers, so the CPU mask of `taskset` is inherited by nobody.
        let mut line = arguments(["nsenter", &format!("--net=/run/netns/{}", Node::A.namespace())]);
        line.extend(arguments(["taskset", "--cpu-list", "0"]));
        line.push(binaries.path(self.name()).into());
        line.extend(match self {
            Self::Etcd => etcd(layout),
            Self::ApiServer => api_server(layout),
            Self::ControllerManager => controller_manager(layout),
            Self::Scheduler => scheduler(layout),
        });
        Process::start(layout, self.name(), &line)
    }
}

fn etcd(layout: &Layout) -> Vec<OsString> {
    let data = layout.etcd();
    arguments([
        format!("--data-dir={}", data.display()),
        "--listen-client-urls=http://127.0.0.1:2379".into(),
        "--advertise-client-urls=http://127.0.0.1:2379".into(),
        "--listen-peer-urls=http://127.0.0.1:2380".into(),
        // Nothing in it is worth surviving a power failure.
        "--unsafe-no-fsync".into(),
    ])
}

fn api_server(layout: &Layout) -> Vec<OsString> {
    let pki = |file: &str| layout.pki(file).display().to_string();
    arguments([
        "--etcd-servers=http://127.0.0.1:2379".into(),
        format!("--bind-address={API_ADDRESS}"),
        format!("--advertise-address={API_ADDRESS}"),
        "--secure-port=6443".into(),
        format!("--tls-cert-file={}", pki("kube-apiserver.crt")),
        format!("--tls-private-key-file={}", pki("kube-apiserver.key")),
        format!("--client-ca-file={}", pki("ca.crt")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", pki("service-account.pub")),
        format!("--service-account-signing-key-file={}", pki("service-account.key")),
        format!("--service-cluster-ip-range={SERVICE_NETWORK}"),
        "--authorization-mode=Node,RBAC".into(),
        format!("--kubelet-client-certificate={}", pki("kubelet-client.crt")),
        format!("--kubelet-client-key={}", pki("kubelet-client.key")),
        format!("--kubelet-certificate-authority={}", pki("ca.crt")),
        "--kubelet-preferred-address-types=InternalIP".into(),
        "--allow-privileged=true".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--profiling=false".into(),
    ])
}

fn controller_manager(layout: &Layout) -> Vec<OsString> {
    let pki = |file: &str| layout.pki(file).display().to_string();
    arguments([
        format!("--kubeconfig={}", layout.kubeconfig(Component::ControllerManager.name()).display()),
        format!("--root-ca-file={}", pki("ca.crt")),
        format!("--service-account-private-key-file={}", pki("service-account.key")),
        format!("--cluster-signing-cert-file={}", pki("ca.crt")),
        format!("--cluster-signing-key-file={}", pki("ca.key")),
        "--use-service-account-credentials=true".into(),
        // With the default of 20 requests a second, half of a cluster's start is waiting for them.
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
        "--leader-elect=false".into(),
        // A lost node is noticed after 20 s instead of 50, so that tests of it stay short.
        "--node-monitor-grace-period=20s".into(),
        "--node-monitor-period=2s".into(),
        "--profiling=false".into(),
    ])
}

fn scheduler(layout: &Layout) -> Vec<OsString> {
    arguments([
        format!("--kubeconfig={}", layout.kubeconfig(Component::Scheduler.name()).display()),
        "--leader-elect=false".into(),
        "--profiling=false".into(),
    ])
}
