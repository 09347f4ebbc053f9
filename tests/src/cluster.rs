//! A real Kubernetes of two nodes, inside namespaces of this machine: up in seconds, gone without a trace.
//!
//! - node-a is the system node: control plane, operator. It uses the first CPU only.
//! - node-b is the bench node: tainted `gaugeblock.dev/dedicated=bench:NoSchedule`, static CPU manager,
//!   one CPU that is never exclusive, the others for pods that ask for whole CPUs.
//! - Both carry the label `gaugeblock.dev/pool`, `system` and `bench`.
//!
//! The machine has an address on the cluster's network, so tests reach the API server, services and pods
//! directly. Nothing inside can reach out.
//!
//! There is one cluster per machine, and one for all tests:
//! - [`Cluster::up`] starts one that ends with this process, whatever ends it: a [`lock::Watchdog`] sees to that.
//!   With [`Options::keep`] it stays until [`down`].
//! - A parent process that has one passes [`STATE_VARIABLE`] to test processes: see [`Cluster::environment`].
//! - [`Cluster::shared`] is what tests call: it attaches to such a cluster, or to one that was kept, or starts one.
//! - With [`KUBECONFIG_VARIABLE`] a developer's own cluster is used (kind, say); its images are their business.

pub mod access;
pub mod certificates;
pub mod cgroups;
pub mod configuration;
pub mod control_plane;
pub mod guest;
pub mod layout;
pub mod leftovers;
pub mod lock;
pub mod network;
pub mod node;
pub mod process;
pub mod start;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::binaries::Binaries;
use crate::images::Image;
use crate::packages;
use control_plane::Component;
use layout::{Layout, Node};
use lock::{Lock, Watchdog};
use process::Process;

/// Set for test processes whose parent has a cluster: its state folder.
pub const STATE_VARIABLE: &str = "GAUGEBLOCK_TEST_CLUSTER";
/// The kubeconfig of a developer's own cluster, used instead of ours.
pub const KUBECONFIG_VARIABLE: &str = "GAUGEBLOCK_KUBECONFIG";

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// With nodes, or only etcd and API server, which suffices for tests of objects.
    pub nodes: bool,
    /// Images that the nodes are given.
    pub images: Vec<Image>,
    /// Whether it outlives this process, until [`down`].
    pub keep: bool,
}

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Ours { layout: Layout, binaries: Binaries, hold: Hold },
    Foreign { kubeconfig: PathBuf },
}

/// What this process has to do with the cluster's end.
#[derive(Debug)]
enum Hold {
    /// It ends with us.
    Owner(Watchdog),
    /// It was kept by somebody; while we use it, nobody ends it.
    User { _lock: Lock },
    /// Our parent is the owner.
    Guest,
}

impl Cluster {
    /// Starts a cluster, or uses the one that was kept when that is healthy and has what is asked for.
    /// What a crashed one left behind is removed first.
    ///
    /// # Errors
    /// When a package or binary cannot be had, without root, or when a part does not start: then everything
    /// is ended again and the error names the folder of the logs.
    pub fn up(options: &Options) -> Result<Self> {
        if let Some(kubeconfig) = foreign() {
            return Ok(Self { kind: Kind::Foreign { kubeconfig } });
        }
        packages::ensure(packages::CLUSTER)?;
        let binaries = Binaries::ensure()?;
        let lock = Lock::take()?;
        if let Some(root) = lock::noted() {
            let layout = Layout::new(&root);
            if start::healthy(&layout, &binaries, options.nodes) {
                let hold = if options.keep { Hold::Guest } else { Hold::User { _lock: lock } };
                let cluster = Self { kind: Kind::Ours { layout, binaries, hold } };
                cluster.ensure_images(&options.images)?;
                return Ok(cluster);
            }
            lock::end(&lock, &root)?;
        }
        let layout = Layout::new(layout::cache()?.join("cluster"));
        start::prepare(&layout)?;
        if options.keep {
            if let Err(error) = start::start(&layout, &binaries, options) {
                lock::end(&lock, layout.root())?;
                return Err(error.context(logs(&layout)));
            }
            return Ok(Self { kind: Kind::Ours { layout, binaries, hold: Hold::Guest } });
        }
        let watchdog = Watchdog::set(&layout, lock)?;
        // On an error the watchdog is dropped here, and ends what has been started.
        start::start(&layout, &binaries, options).with_context(|| logs(&layout))?;
        Ok(Self { kind: Kind::Ours { layout, binaries, hold: Hold::Owner(watchdog) } })
    }

    /// The cluster that a parent process or the developer has, by [`STATE_VARIABLE`] or [`KUBECONFIG_VARIABLE`].
    ///
    /// # Errors
    /// When the variable is set and there is no such cluster.
    pub fn attach() -> Result<Option<Self>> {
        if let Some(kubeconfig) = foreign() {
            return Ok(Some(Self { kind: Kind::Foreign { kubeconfig } }));
        }
        let Some(root) = std::env::var_os(STATE_VARIABLE).filter(|root| !root.is_empty()) else {
            return Ok(None);
        };
        let layout = Layout::new(root);
        if !layout.kubeconfig("admin").exists() {
            bail!("{STATE_VARIABLE} is {}, but no cluster is there", layout.root().display());
        }
        let binaries = Binaries::locate()?;
        Ok(Some(Self { kind: Kind::Ours { layout, binaries, hold: Hold::Guest } }))
    }

    /// The one cluster of a test process: attached to, or started at the first call.
    ///
    /// `None`, loudly, when there can be none because we are not root: the test then returns.
    ///
    /// # Panics
    /// When it cannot be started; every test of the process then says so.
    pub fn shared(options: &Options) -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let cluster = SHARED.get_or_init(|| {
            let attached = Self::attach().unwrap_or_else(|error| panic!("{error:#}"));
            if let Some(cluster) = attached {
                cluster.ensure_images(&options.images).unwrap_or_else(|error| panic!("{error:#}"));
                return Some(cluster);
            }
            if !rustix::process::geteuid().is_root() {
                return None;
            }
            Some(Self::up(options).unwrap_or_else(|error| panic!("{error:#}")))
        });
        if cluster.is_none() {
            eprintln!("SKIPPED: the test cluster needs root, or {KUBECONFIG_VARIABLE} for your own cluster");
        }
        cluster.as_ref()
    }

    /// What a child process must have in its environment to [`attach`](Self::attach) to this cluster.
    pub fn environment(&self) -> (&'static str, PathBuf) {
        match &self.kind {
            Kind::Ours { layout, .. } => (STATE_VARIABLE, layout.root().to_path_buf()),
            Kind::Foreign { kubeconfig } => (KUBECONFIG_VARIABLE, kubeconfig.clone()),
        }
    }

    /// Ends it if it is ours to end; a kept cluster, our parent's and a developer's own are left alone.
    ///
    /// # Errors
    /// When something stays behind.
    pub fn down(self) -> Result<()> {
        match self.kind {
            Kind::Ours { layout, hold: Hold::Owner(watchdog), .. } => {
                watchdog.release()?;
                leftovers::none(layout.root())
            }
            Kind::Ours { hold: Hold::User { .. } | Hold::Guest, .. } | Kind::Foreign { .. } => Ok(()),
        }
    }

    /// Whether it is a developer's own cluster: its nodes are not namespaces of this machine.
    pub fn is_foreign(&self) -> bool {
        matches!(self.kind, Kind::Foreign { .. })
    }

    fn ours(&self) -> Result<(&Layout, &Binaries)> {
        match &self.kind {
            Kind::Ours { layout, binaries, .. } => Ok((layout, binaries)),
            Kind::Foreign { .. } => {
                bail!("this needs the test cluster's own nodes: unset {KUBECONFIG_VARIABLE}")
            }
        }
    }
}

/// Ends the cluster that was kept, or what a crashed one left behind. Says whether there was one.
///
/// # Errors
/// When something stays behind.
pub fn down() -> Result<bool> {
    if lock::noted().is_none() {
        return Ok(false);
    }
    let lock = Lock::take()?;
    // While we waited for the lock, its owner may have ended it.
    let Some(root) = lock::noted() else { return Ok(false) };
    lock::end(&lock, &root)?;
    leftovers::none(&root)?;
    Ok(true)
}

/// The cluster of this machine, if one is up: for looking, without the lock.
///
/// # Errors
/// When the modules of its binaries cannot be read.
pub fn current() -> Result<Option<Cluster>> {
    if let Some(cluster) = Cluster::attach()? {
        return Ok(Some(cluster));
    }
    let Some(layout) = lock::noted().map(Layout::new) else { return Ok(None) };
    let binaries = Binaries::locate()?;
    Ok(Some(Cluster { kind: Kind::Ours { layout, binaries, hold: Hold::Guest } }))
}

/// The state of this machine's cluster, in some lines for people.
///
/// # Errors
/// When it cannot be asked.
pub fn status() -> Result<String> {
    let Some(cluster) = current()? else { return Ok("no cluster is up\n".into()) };
    let mut text = String::new();
    if let Ok((layout, _)) = cluster.ours() {
        text = format!("state: {}\n", layout.root().display());
        let nodes = Node::LOCAL
            .into_iter()
            .flat_map(|node| ["containerd", "kubelet", "kube-proxy"].map(|program| node::process_name(program, node)));
        for name in Component::ALL.map(|component| component.name().to_owned()).into_iter().chain(nodes) {
            let state = match Process::remembered(layout, &name) {
                Ok(process) if process.runs() => format!("runs as {}", process.id()),
                Ok(process) => format!("ENDED, was {}: see {}", process.id(), layout.log(&name).display()),
                Err(_) => "not started".into(),
            };
            let _ = writeln!(text, "{name}: {state}");
        }
    }
    let _ = writeln!(text, "KUBECONFIG={}", cluster.kubeconfig().display());
    text.push_str(&cluster.kubectl_text(&["get", "nodes", "--output=wide"])?);
    Ok(text)
}

fn foreign() -> Option<PathBuf> {
    std::env::var_os(KUBECONFIG_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn logs(layout: &Layout) -> String {
    format!("failed to start the test cluster; its logs are in {}.log", layout.root().display())
}
