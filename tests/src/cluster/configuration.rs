//! Settings of containerd, CNI and kubelet, as files.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cgroups;
use super::layout::{Layout, Node};

/// Who makes the control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupDriver {
    /// runc itself.
    Cgroupfs,
    /// runc, by asking systemd.
    Systemd,
}

/// Where a node has its files, as the node sees them.
#[derive(Debug, Clone)]
pub struct Places {
    /// `ca.crt`, `NODE.crt` and `NODE.key`.
    pub pki: PathBuf,
    /// containerd's socket.
    pub socket: PathBuf,
    /// What the node writes, below this folder.
    pub state: PathBuf,
}

impl Places {
    /// Those of a node that is a namespace of this machine.
    pub fn local(layout: &Layout, node: Node) -> Self {
        Self { pki: layout.pki(""), socket: layout.containerd_socket(node), state: layout.node(node, "") }
    }
}

/// containerd's settings on a node that is a namespace of this machine.
pub fn containerd(places: &Places) -> String {
    let at = |file: &str| places.state.join(file).display().to_string();
    // `restrict_oom_score_adj`: without CAP_SYS_RESOURCE, runc could not lower the score and would die.
    format!(
        r#"version = 2
root = "{}"
state = "{}"
[grpc]
  address = "{}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
[plugins."io.containerd.internal.v1.opt"]
  path = "{}"
"#,
        at("containerd"),
        at("containerd-state"),
        places.socket.display(),
        crate::images::PAUSE,
        at("cni"),
        at("opt"),
    )
}

/// containerd's settings in the guest, which has the usual folders for itself.
pub fn containerd_of_guest(driver: CgroupDriver) -> String {
    format!(
        r#"version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = {}
"#,
        crate::images::PAUSE,
        driver == CgroupDriver::Systemd,
    )
}

/// The network of a node's pods: a bridge, without a way out.
pub fn network(node: Node, addresses: &Path) -> String {
    format!(
        r#"{{"cniVersion":"0.4.0","name":"pods","plugins":[{{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,"hairpinMode":true,
 "ipam":{{"type":"host-local","dataDir":"{}","ranges":[[{{"subnet":"{}"}}]],"routes":[{{"dst":"0.0.0.0/0"}}]}}}}]}}
"#,
        addresses.display(),
        node.pod_network(),
    )
}

/// The kubelet's settings.
///
/// # Errors
/// When the machine has only one CPU.
pub fn kubelet(node: Node, places: &Places, driver: CgroupDriver) -> Result<String> {
    let pki = |file: &str| places.pki.join(file).display().to_string();
    let at = |file: &str| places.state.join(file).display().to_string();
    let root = match node {
        Node::A | Node::B => format!("cgroupRoot: /{}\n", node.namespace()),
        Node::C => String::new(),
    };
    let reserved = match node {
        // Its pods get the first CPU only: the others belong to the bench node.
        Node::A => format!(
            "reservedSystemCPUs: \"{}\"\ncpuManagerPolicyOptions: {{strict-cpu-reservation: \"true\"}}\n",
            cgroups::bench_cpus()?,
        ),
        // 100m round up to one CPU that is never exclusive, the first; yet 900m of it can be allocated.
        Node::B | Node::C => "systemReserved: {cpu: 100m}\n\
             registerWithTaints: [{key: gaugeblock.dev/dedicated, value: bench, effect: NoSchedule}]\n"
            .into(),
    };
    let driver = match driver {
        CgroupDriver::Cgroupfs => "cgroupfs",
        CgroupDriver::Systemd => "systemd",
    };
    Ok(format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\n\
         kind: KubeletConfiguration\n\
         address: {address}\n\
         authentication: {{x509: {{clientCAFile: {ca}}}, anonymous: {{enabled: false}}, webhook: {{enabled: true}}}}\n\
         authorization: {{mode: Webhook}}\n\
         tlsCertFile: {certificate}\n\
         tlsPrivateKeyFile: {key}\n\
         cgroupDriver: {driver}\n\
         {root}\
         {reserved}\
         failCgroupV1: false\n\
         containerRuntimeEndpoint: unix://{socket}\n\
         podLogsDir: {logs}\n\
         volumePluginDir: {plugins}\n\
         resolvConf: \"\"\n\
         failSwapOn: false\n\
         cpuManagerPolicy: static\n\
         # Until then, containers that run already share a CPU that was just given away exclusively.\n\
         cpuManagerReconcilePeriod: 1s\n\
         # The disks of developers are fuller than those of servers; nothing is to be evicted for it.\n\
         evictionHard: {{imagefs.available: 1%, memory.available: 100Mi, nodefs.available: 1%, nodefs.inodesFree: 1%}}\n\
         imageGCHighThresholdPercent: 100\n\
         imageGCLowThresholdPercent: 99\n\
         nodeStatusUpdateFrequency: 4s\n\
         nodeStatusReportFrequency: 10s\n\
         # An emulated machine is slow.\n\
         runtimeRequestTimeout: 5m\n\
         serializeImagePulls: false\n\
         enableControllerAttachDetach: false\n",
        address = node.address(),
        ca = pki("ca.crt"),
        certificate = pki(&format!("{}.crt", node.name())),
        key = pki(&format!("{}.key", node.name())),
        socket = places.socket.display(),
        logs = at("pod-logs"),
        plugins = at("plugins"),
    ))
}

/// The kubelet's flags for what its settings cannot say.
pub fn kubelet_flags(node: Node) -> [String; 4] {
    [
        format!("--hostname-override={}", node.name()),
        format!("--node-ip={}", node.address()),
        format!("--node-labels=gaugeblock.dev/pool={}", node.pool()),
        "--v=2".into(),
    ]
}
