//! A node: network, mount and process namespaces of its own, with containerd, kubelet and kube-proxy.

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::cgroups;
use super::configuration::{self, CgroupDriver, Places};
use super::layout::{Layout, Node};
use super::process::{Process, arguments};
use crate::binaries::Binaries;
use crate::{command, wait};

const INIT: &str = include_str!("../../cluster/node-init.sh");

/// Mount points that kubelet, containerd and CNI need, parents first.
pub const MOUNT_POINTS: [&str; 4] = ["/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/run/containerd"];

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
    fs::write(&path, configuration::containerd(&Places::local(layout, node)))
        .with_context(|| format!("failed to write {}", path.display()))?;
    let network = layout.node(node, "cni").join("10-bridge.conflist");
    fs::write(&network, configuration::network(node, &layout.node(node, "addresses")))
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
    let places = Places::local(layout, node);
    fs::write(&path, configuration::kubelet(node, &places, CgroupDriver::Cgroupfs)?)
        .with_context(|| format!("failed to write {}", path.display()))?;
    let mut line = arguments([
        binaries.path("kubelet").into_os_string(),
        format!("--config={}", path.display()).into(),
        format!("--kubeconfig={}", layout.kubeconfig(node.name()).display()).into(),
        format!("--root-dir={}", layout.node(node, "kubelet").display()).into(),
    ]);
    line.extend(arguments(configuration::kubelet_flags(node)));
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
