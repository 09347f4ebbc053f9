//! The start of a cluster, step by step.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::control_plane::Component;
use super::layout::{Layout, Node};
use super::process::Process;
use super::{Cluster, Hold, Kind, Options, certificates, cgroups, lock, network, node};
use crate::binaries::Binaries;
use crate::wait;

/// Settings of the whole machine that a kubelet changes, below `/proc/sys`.
const KUBELET_SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// Makes the state folder of a new cluster, with what is needed to end it again.
///
/// # Errors
/// When a file cannot be written.
pub fn prepare(layout: &Layout) -> Result<()> {
    // A cluster that was never noted, if at all, left only files.
    if layout.root().exists() {
        fs::remove_dir_all(layout.root()).with_context(|| format!("failed to remove {}", layout.root().display()))?;
    }
    for folder in ["log", "pid", "pki", "kubeconfig"] {
        let path = layout.root().join(folder);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&path)
            .with_context(|| format!("failed to make {}", path.display()))?;
    }
    lock::note(layout)
}

/// Starts everything that `options` ask for and waits until pods could be created.
///
/// # Errors
/// When a part does not start in time.
pub fn start(layout: &Layout, binaries: &Binaries, options: &Options) -> Result<()> {
    let clock = Clock(Instant::now());
    network::make(options.nodes)?;
    certificates::make(layout)?;
    clock.lap("network and certificates");
    for component in Component::API {
        component.start(layout, binaries)?;
    }
    let cluster =
        Cluster { kind: Kind::Ours { layout: layout.clone(), binaries: binaries.clone(), hold: Hold::Guest } };
    if !options.nodes {
        api_server_ready(&cluster)?;
        clock.lap("API server");
        return Ok(());
    }
    // Nodes are made while the API server starts, and given their images while they join.
    remember_settings(layout)?;
    make_mount_points(layout)?;
    cgroups::make()?;
    for node in Node::LOCAL {
        node::make(layout, node)?;
        node::start_containerd(layout, node)?;
    }
    clock.lap("containerd");
    thread::scope(|scope| {
        let images = scope.spawn(|| cluster.ensure_images(&options.images));
        join_nodes(&cluster, layout, binaries, &clock)?;
        images.join().unwrap_or_else(|_| bail!("an import of images panicked"))
    })?;
    clock.lap("images");
    Ok(())
}

fn join_nodes(cluster: &Cluster, layout: &Layout, binaries: &Binaries, clock: &Clock) -> Result<()> {
    api_server_ready(cluster)?;
    clock.lap("API server");
    Component::ControllerManager.start(layout, binaries)?;
    Component::Scheduler.start(layout, binaries)?;
    for node in Node::LOCAL {
        node::start_kubelet(layout, binaries, node)?;
        node::start_proxy(layout, binaries, node)?;
    }
    for node in Node::LOCAL {
        cluster.wait_ready(node, Duration::from_mins(1))?;
    }
    clock.lap("nodes");
    // Pods are refused until it exists.
    wait::until("the default service account", Duration::from_secs(30), || {
        cluster.kubectl_text(&["get", "serviceaccount", "default"]).map(Some)
    })?;
    clock.lap("service account");
    Ok(())
}

/// Waits until the API server serves.
///
/// # Errors
/// When it does not within a minute.
pub fn api_server_ready(cluster: &Cluster) -> Result<()> {
    wait::until("a ready API server", Duration::from_mins(1), || {
        cluster.kubectl_text(&["get", "--raw=/readyz", "--request-timeout=2s"]).map(Some)
    })?;
    Ok(())
}

/// Whether the cluster in `layout` serves, is made of `binaries`, and has nodes if they are asked for.
pub fn healthy(layout: &Layout, binaries: &Binaries, nodes: bool) -> bool {
    let components: &[Component] = if nodes { &Component::ALL } else { &Component::API };
    let runs = components.iter().all(|component| {
        let process = Process::remembered(layout, component.name());
        let program = binaries.path(component.name());
        process.is_ok_and(|process| process.runs() && executes(process, &program))
    });
    if !runs {
        return false;
    }
    let cluster =
        Cluster { kind: Kind::Ours { layout: layout.clone(), binaries: binaries.clone(), hold: Hold::Guest } };
    let serves = cluster.kubectl_text(&["get", "--raw=/readyz", "--request-timeout=5s"]).is_ok();
    serves && (!nodes || Node::LOCAL.iter().all(|node| cluster.is_ready(*node).unwrap_or(false)))
}

fn executes(process: Process, program: &Path) -> bool {
    fs::read_link(format!("/proc/{}/exe", process.id())).is_ok_and(|path| path == program)
}

fn remember_settings(layout: &Layout) -> Result<()> {
    let mut text = String::new();
    for setting in KUBELET_SETTINGS {
        if let Ok(value) = fs::read_to_string(Path::new("/proc/sys").join(setting)) {
            let _ = writeln!(text, "{setting} {}", value.trim());
        }
    }
    fs::write(layout.root().join("sysctl"), text).context("failed to note the machine's settings")
}

fn make_mount_points(layout: &Layout) -> Result<()> {
    let mut made = String::new();
    for point in node::MOUNT_POINTS {
        if !Path::new(point).exists() {
            let _ = writeln!(made, "{point}");
            fs::create_dir_all(point).with_context(|| format!("failed to make {point}"))?;
        }
    }
    fs::write(layout.root().join("folders"), made).context("failed to note the folders made")
}

struct Clock(Instant);

impl Clock {
    fn lap(&self, what: &str) {
        eprintln!("test cluster: {:5.1} s {what}", self.0.elapsed().as_secs_f64());
    }
}
