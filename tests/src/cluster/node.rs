//! A node: network, mount and process namespaces of its own, with containerd, kubelet and kube-proxy.

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::cgroups;
use super::layout::{Layout, Node};
use super::process::{Process, arguments};
use crate::binaries::Binaries;
use crate::{command, wait};

const INIT: &str = include_str!("../../cluster/node-init.sh");

/// Mount points that kubelet, containerd and CNI need, parents first.
pub const MOUNT_POINTS: [&str; 4] =
    ["/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/run/containerd"];

/// Makes the node's namespaces. Whoever kills their first process ends everything in the node.
///
/// # Errors
/// When the kernel refuses, or the mounts fail: `log/init-NODE.log` says which.
pub fn make(layout: &Layout, node: Node) -> Result<()> {
    for folder in ["kubelet", "cni", "pod-logs", "plugins"] {
        let path = layout.node(node, folder);
        fs::create_dir_all(&path).with_context(|| format!("failed to make {}", path.display()))?;
    }
    let mut line = arguments(["nsenter", &format!("--net=/run/netns/{}", node.namespace())]);
    line.extend(arguments(["unshare", "--mount", "--pid", "--fork", "--kill-child"]));
    line.extend(arguments(["--propagation", "private", "bash", "-c", INIT]));
    line.push(layout.node(node, "").into());
    let parent = Process::start(layout, &format!("unshare-{}", node.name()), &line)?;
    parent.child()?.remember(layout, &init(node))?;
    wait::until("the namespaces of a node", Duration::from_secs(5), || {
        Ok(layout.node(node, "up").exists().then_some(()))
    })
    .with_context(|| format!("see {}", layout.log(&format!("unshare-{}", node.name())).display()))
}

/// A command that runs inside the node.
///
/// # Errors
/// When the node is not up.
pub fn inside(layout: &Layout, node: Node) -> Result<Command> {
    let mut command = Command::new("nsenter");
    command.args(enter(layout, node)?);
    Ok(command)
}

/// Starts the node's container runtime and waits until it answers.
///
/// # Errors
/// When it does not within ten seconds: `log/containerd-NODE.log` says why.
pub fn start_containerd(layout: &Layout, node: Node) -> Result<()> {
    let path = layout.node(node, "containerd.toml");
    fs::write(&path, containerd_configuration(layout, node))
        .with_context(|| format!("failed to write {}", path.display()))?;
    let network = layout.node(node, "cni").join("10-bridge.conflist");
    fs::write(&network, network_configuration(layout, node))
        .with_context(|| format!("failed to write {}", network.display()))?;
    let line = arguments(["containerd".into(), "--config".into(), path.into_os_string()]);
    start(layout, node, "containerd", line)?;
    wait::until("containerd", Duration::from_secs(10), || {
        let mut version = inside(layout, node)?;
        version.arg("ctr").arg("--address").arg(layout.containerd_socket(node)).arg("version");
        command::run(&mut version).map(Some)
    })?;
    Ok(())
}

/// Starts the node's kubelet.
///
/// # Errors
/// When it cannot be started.
pub fn start_kubelet(layout: &Layout, binaries: &Binaries, node: Node) -> Result<()> {
    let path = layout.node(node, "kubelet.yaml");
    fs::write(&path, kubelet_configuration(layout, node)?)
        .with_context(|| format!("failed to write {}", path.display()))?;
    let line = arguments([
        binaries.path("kubelet").into_os_string(),
        format!("--config={}", path.display()).into(),
        format!("--kubeconfig={}", layout.kubeconfig(node.name()).display()).into(),
        format!("--root-dir={}", layout.node(node, "kubelet").display()).into(),
        format!("--hostname-override={}", node.name()).into(),
        format!("--node-ip={}", node.address()).into(),
        format!("--node-labels=gaugeblock.dev/pool={}", node.pool()).into(),
        "--v=2".into(),
    ]);
    start(layout, node, "kubelet", line)
}

/// Starts the node's service proxy.
///
/// # Errors
/// When it cannot be started.
pub fn start_proxy(layout: &Layout, binaries: &Binaries, node: Node) -> Result<()> {
    let path = layout.node(node, "kube-proxy.yaml");
    let text = format!(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\n\
         kind: KubeProxyConfiguration\n\
         clientConnection: {{kubeconfig: {}}}\n\
         mode: iptables\n\
         clusterCIDR: 198.18.0.0/16\n\
         hostnameOverride: {}\n\
         # The limit on tracked connections is the machine's: leave it alone.\n\
         conntrack: {{maxPerCore: 0}}\n",
        layout.kubeconfig("kube-proxy").display(),
        node.name(),
    );
    fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    let configuration = format!("--config={}", path.display());
    let line = arguments([binaries.path("kube-proxy").into_os_string(), configuration.into()]);
    start(layout, node, "kube-proxy", line)
}

/// The name under which a process of a node is remembered.
pub fn process_name(program: &str, node: Node) -> String {
    format!("{program}-{}", node.name())
}

/// Starts a program inside the node, on the system CPUs, and remembers it by its id on the machine.
fn start(layout: &Layout, node: Node, program: &str, line: Vec<OsString>) -> Result<()> {
    let name = process_name(program, node);
    let mut whole = arguments(["nsenter"]);
    whole.extend(arguments(enter(layout, node)?));
    // A CPU set and not `taskset`, whose mask the pods would inherit.
    whole.extend(arguments(["bash", "-c", "echo 0 > \"$0\" && exec \"$@\""]));
    whole.push(cgroups::system_tasks()?.into());
    whole.extend(line);
    Process::start(layout, &name, &whole)?.child()?.remember(layout, &name)
}

fn init(node: Node) -> String {
    process_name("init", node)
}

fn enter(layout: &Layout, node: Node) -> Result<Vec<String>> {
    let init = Process::remembered(layout, &init(node))?;
    let target = format!("--target={}", init.id());
    Ok(vec![target, "--net".into(), "--mount".into(), "--pid".into(), "--".into()])
}

fn containerd_configuration(layout: &Layout, node: Node) -> String {
    let at = |file: &str| layout.node(node, file).display().to_string();
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
        layout.containerd_socket(node).display(),
        crate::images::PAUSE,
        at("cni"),
        at("opt"),
    )
}

fn network_configuration(layout: &Layout, node: Node) -> String {
    format!(
        r#"{{"cniVersion":"0.4.0","name":"pods","plugins":[{{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,"hairpinMode":true,
 "ipam":{{"type":"host-local","dataDir":"{}","ranges":[[{{"subnet":"{}"}}]],"routes":[{{"dst":"0.0.0.0/0"}}]}}}}]}}
"#,
        layout.node(node, "addresses").display(),
        node.pod_network(),
    )
}

fn kubelet_configuration(layout: &Layout, node: Node) -> Result<String> {
    let pki = |file: &str| layout.pki(file).display().to_string();
    let at = |file: &str| layout.node(node, file).display().to_string();
    let particular = match node {
        // Its pods get the first CPU only: the others belong to the bench node.
        Node::A => format!(
            "reservedSystemCPUs: \"{}\"\ncpuManagerPolicyOptions: {{strict-cpu-reservation: \"true\"}}\n",
            cgroups::bench_cpus()?,
        ),
        // 100m round up to one CPU that is never exclusive, the first, and yet 900m of it can be allocated.
        Node::B | Node::C => "systemReserved: {cpu: 100m}\n\
             registerWithTaints: [{key: gaugeblock.dev/dedicated, value: bench, effect: NoSchedule}]\n"
            .into(),
    };
    Ok(format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\n\
         kind: KubeletConfiguration\n\
         address: {address}\n\
         authentication: {{x509: {{clientCAFile: {ca}}}, anonymous: {{enabled: false}}, webhook: {{enabled: true}}}}\n\
         authorization: {{mode: Webhook}}\n\
         tlsCertFile: {certificate}\n\
         tlsPrivateKeyFile: {key}\n\
         cgroupDriver: cgroupfs\n\
         cgroupRoot: /{root}\n\
         failCgroupV1: false\n\
         containerRuntimeEndpoint: unix://{socket}\n\
         podLogsDir: {logs}\n\
         volumePluginDir: {plugins}\n\
         resolvConf: \"\"\n\
         failSwapOn: false\n\
         cpuManagerPolicy: static\n\
         # Disks of developers are fuller than those of servers; nothing here is to be evicted for it.\n\
         evictionHard: {{imagefs.available: 1%, memory.available: 100Mi, nodefs.available: 1%, nodefs.inodesFree: 1%}}\n\
         imageGCHighThresholdPercent: 100\n\
         imageGCLowThresholdPercent: 99\n\
         nodeStatusUpdateFrequency: 4s\n\
         nodeStatusReportFrequency: 10s\n\
         serializeImagePulls: false\n\
         enableControllerAttachDetach: false\n\
         {particular}",
        address = node.address(),
        ca = pki("ca.crt"),
        certificate = pki(&format!("{}.crt", node.name())),
        key = pki(&format!("{}.key", node.name())),
        root = node.namespace(),
        socket = layout.containerd_socket(node).display(),
        logs = at("pod-logs"),
        plugins = at("plugins"),
    ))
}
