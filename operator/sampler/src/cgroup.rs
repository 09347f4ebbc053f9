//! The mounted cgroup tree: which version, and where each controller's files are.

use std::{
    io,
    path::{Path, PathBuf},
};

pub mod accounts;
pub mod container;
pub mod kubepods;
pub mod members;
pub mod version1;
pub mod version2;

/// The tree below `/sys/fs/cgroup` or wherever it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// One hierarchy a controller (also the hybrid form, whose controllers are all in version 1).
    Version1(Hierarchies),
    /// One unified hierarchy, mounted here.
    Version2(PathBuf),
}

/// Where the controllers of version 1 are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    /// CPU time.
    pub cpuacct: PathBuf,
    /// Quota and throttling.
    pub cpu: PathBuf,
    /// CPU sets.
    pub cpuset: PathBuf,
    /// Memory.
    pub memory: PathBuf,
}

/// Nothing that looks like a cgroup tree.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} holds no cgroup tree (neither cgroup.controllers nor the controllers cpuset, cpu, cpuacct and memory); \
     mount the node's /sys/fs/cgroup there, or name another place with --cgroup-root"
)]
pub struct NoTree(PathBuf);

impl NoTree {
    /// No tree at this place.
    pub fn at(root: &Path) -> Self {
        Self(root.to_owned())
    }
}

impl Tree {
    /// Looks at what is mounted. On a hybrid machine the controllers are in version 1 and a unified
    /// hierarchy without any stands beside them: version 1 is the one to read.
    pub fn detect(root: &Path) -> Result<Self, NoTree> {
        if let Some(hierarchies) = Hierarchies::detect(root) {
            return Ok(Self::Version1(hierarchies));
        }
        [root.to_owned(), root.join("unified")]
            .into_iter()
            .find(|path| path.join("cgroup.controllers").exists())
            .map(Self::Version2)
            .ok_or_else(|| NoTree::at(root))
    }

    /// Whether it is of version 1.
    pub fn is_version1(&self) -> bool {
        matches!(self, Self::Version1(_))
    }

    /// The hierarchy in which pods are looked for. In version 1 that of `cpuset`: the kubelet makes a
    /// pod's folder there whatever the pod asks for, and it is what the proof of exclusivity reads.
    pub fn lookup(&self) -> &Path {
        match self {
            Self::Version1(hierarchies) => &hierarchies.cpuset,
            Self::Version2(root) => root,
        }
    }
}

impl Hierarchies {
    fn detect(root: &Path) -> Option<Self> {
        let mounted = |names: &[&str]| names.iter().map(|name| root.join(name)).find(|path| path.is_dir());
        Some(Self {
            cpuacct: mounted(&["cpuacct", "cpu,cpuacct", "cpuacct,cpu"])?,
            cpu: mounted(&["cpu", "cpu,cpuacct", "cpuacct,cpu"])?,
            cpuset: mounted(&["cpuset"])?,
            memory: mounted(&["memory"])?,
        })
    }
}

/// Whether an error says that the cgroup has been removed: its path is gone, or its open files answer
/// `ENODEV` (`kernfs_fop_read_iter`).
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

/// Names of the folders in a folder.
pub fn folders(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
