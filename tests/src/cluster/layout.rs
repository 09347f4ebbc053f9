//! Names, addresses and paths of the test cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Address of the API server, and of node-a.
pub const API_ADDRESS: &str = "198.18.0.1";
/// The machine's own address on the cluster's network: tests reach the API server and pods from it.
pub const HOST_ADDRESS: &str = "198.18.0.250";
/// Where the machine's own end of that network is plugged in.
pub const HOST_LINK: &str = "gb-host";
/// First address of the services, of `kubernetes.default` itself.
pub const SERVICE_ADDRESS: &str = "198.19.0.1";
/// Addresses of services.
pub const SERVICE_NETWORK: &str = "198.19.0.0/16";
/// Nodes, pods and services together: the range that RFC 2544 sets apart for benchmarks.
pub const WHOLE_NETWORK: &str = "198.18.0.0/15";
/// A next hop that does not exist: kubelet and kube-proxy ask for a default route, nothing may leave by it.
pub const NOWHERE: &str = "198.18.0.254";
/// The group of CPU sets in which everything but pods runs.
pub const SYSTEM_CPUSET: &str = "gb-sys";

/// The nodes of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// node-a: the system node, where operator and other services run, beside the control plane.
    A,
    /// node-b: the bench node, tainted, with exclusive CPUs.
    B,
    /// node-c: a virtual machine with cgroup v2 and the systemd driver; function only.
    C,
}

impl Node {
    /// The nodes that are namespaces of this machine.
    pub const LOCAL: [Self; 2] = [Self::A, Self::B];

    /// The name of the `Node` object.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "node-a",
            Self::B => "node-b",
            Self::C => "node-c",
        }
    }

    /// The node's network namespace, and the root of its cgroups. node-c is plugged into node-a's.
    pub fn namespace(self) -> &'static str {
        match self {
            Self::A | Self::C => "gb-a",
            Self::B => "gb-b",
        }
    }

    /// The node's address.
    pub fn address(self) -> &'static str {
        match self {
            Self::A => API_ADDRESS,
            Self::B => "198.18.0.2",
            Self::C => "198.18.0.3",
        }
    }

    /// The addresses of the node's pods.
    pub fn pod_network(self) -> &'static str {
        match self {
            Self::A => "198.18.1.0/24",
            Self::B => "198.18.2.0/24",
            Self::C => "198.18.3.0/24",
        }
    }

    /// Value of the label `gaugeblock.dev/pool`. The guest has a pool of its own: nothing that is
    /// measured may land there by chance.
    pub fn pool(self) -> &'static str {
        match self {
            Self::A => "system",
            Self::B => "bench",
            Self::C => "guest",
        }
    }
}

/// `$GAUGEBLOCK_CACHE`, or `~/.cache/gaugeblock`: what is kept between runs, outside the checkout.
///
/// # Errors
/// When neither that variable nor `HOME` is set.
pub fn cache() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("GAUGEBLOCK_CACHE").filter(|path| !path.is_empty()) {
        return std::path::absolute(&path).context("failed to make GAUGEBLOCK_CACHE absolute");
    }
    let home = std::env::var_os("HOME")
        .context("neither GAUGEBLOCK_CACHE nor HOME is set: set one, to have a place for binaries and images")?;
    Ok(Path::new(&home).join(".cache/gaugeblock"))
}

/// The paths inside one cluster's state folder.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the state folder `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The state folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keys and certificates.
    pub fn pki(&self, file: &str) -> PathBuf {
        self.root.join("pki").join(file)
    }

    /// The kubeconfig of a user, `admin` or a component.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.root.join("kubeconfig").join(user)
    }

    /// The log of a process.
    pub fn log(&self, process: &str) -> PathBuf {
        self.root.join("log").join(format!("{process}.log"))
    }

    /// Where a process's identity is kept while it runs.
    pub fn pid(&self, process: &str) -> PathBuf {
        self.root.join("pid").join(process)
    }

    /// Data of etcd.
    pub fn etcd(&self) -> PathBuf {
        self.root.join("etcd")
    }

    /// A file or folder of a node.
    pub fn node(&self, node: Node, file: &str) -> PathBuf {
        self.root.join(node.name()).join(file)
    }

    /// The socket of a node's containerd.
    pub fn containerd_socket(&self, node: Node) -> PathBuf {
        self.node(node, "containerd.sock")
    }
}
