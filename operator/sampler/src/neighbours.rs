//! The CPU sets of a node's containers, read for the proof of exclusivity.

use std::{collections::HashMap, path::Path};

use crate::{
    cgroup::{
        Tree,
        container::is_sandbox_command,
        folders,
        kubepods::{Kubepods, PodFolder, container_id},
        members::Members,
    },
    cpu_set::CpuSet,
    exclusivity::Other,
    kernel_file::{Buffer, read_once},
    pod::Node,
};

/// Reads them again and again; what a container is (a sandbox or not) is read once.
#[derive(Debug, Default)]
pub struct Neighbours {
    sandboxes: HashMap<String, bool>,
}

impl Neighbours {
    /// All containers of a kubelet but one, and without sandboxes: those may run anywhere, and never do.
    pub fn read(&mut self, node: &Node, kubelet: &Kubepods, except: &str, buffer: &mut Buffer) -> Vec<Other> {
        let hierarchy = node.tree.lookup();
        let mut others = Vec::new();
        for pod in kubelet.pods(hierarchy) {
            for folder in folders(&hierarchy.join(&pod.path)).unwrap_or_default() {
                let Some(id) = container_id(&folder).filter(|id| *id != except) else {
                    continue;
                };
                let path = pod.path.join(&folder);
                if self.runs_nothing(node, &pod, id, &path, buffer) {
                    continue;
                }
                if let Some(cpus) = cpu_set(&node.tree, &path) {
                    others.push(Other { pod_uid: pod.uid.clone(), container_id: id.to_owned(), cpus });
                }
            }
        }
        others
    }

    /// Whether it is a sandbox, or has no process (it is being made or removed).
    fn runs_nothing(&mut self, node: &Node, pod: &PodFolder, id: &str, path: &Path, buffer: &mut Buffer) -> bool {
        if let Some(sandbox) = self.sandboxes.get(id) {
            return *sandbox;
        }
        let processes =
            Members::processes(node.tree.lookup().join(path), node.tree.is_version1()).read(buffer).unwrap_or_default();
        let Some(first) = processes.first() else {
            return true;
        };
        let Ok(stat) = node.proc.stat(*first) else {
            return false;
        };
        let sandbox = is_sandbox_command(&stat.command) && node.proc.container_name(*first, &pod.uid).is_none();
        // What a runtime's child will become is not known yet: ask again next time.
        if !stat.is_runtime() {
            self.sandboxes.insert(id.to_owned(), sandbox);
        }
        sandbox
    }
}

/// CPU set of a container. In version 2 it is empty where nobody set it (no CPU manager): then what
/// it inherits counts.
pub fn cpu_set(tree: &Tree, path: &Path) -> Option<CpuSet> {
    let folder = tree.lookup().join(path);
    let set = |file: &str| read_once(&folder.join(file)).ok()?.parse::<CpuSet>().ok();
    match tree {
        Tree::Version1(_) => set("cpuset.cpus"),
        Tree::Version2(_) => {
            set("cpuset.cpus").filter(|cpus| !cpus.is_empty()).or_else(|| set("cpuset.cpus.effective"))
        }
    }
}

/// CFS quota of a container in CPUs; `None` when there is none.
pub fn quota(tree: &Tree, path: &Path) -> Option<f64> {
    let (quota, period): (f64, f64) = match tree {
        Tree::Version1(hierarchies) => {
            let value = |file: &str| read_once(&hierarchies.cpu.join(path).join(file)).ok()?.parse().ok();
            (value("cpu.cfs_quota_us")?, value("cpu.cfs_period_us")?)
        }
        Tree::Version2(root) => {
            let line = read_once(&root.join(path).join("cpu.max")).ok()?;
            let (quota, period) = line.split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}
