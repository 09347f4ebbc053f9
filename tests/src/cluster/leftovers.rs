//! Looks for what a cluster could have left behind on the machine.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::layout::{HOST_LINK, Node, SYSTEM_CPUSET};
use super::{cgroups, node};

/// Fails when anything of the cluster that lived in `root` is still there.
///
/// # Errors
/// Lists what is.
pub fn none(root: &Path) -> Result<()> {
    let found = find(root);
    if !found.is_empty() {
        bail!("the test cluster left behind: {}", found.join(", "));
    }
    Ok(())
}

/// Namespaces, links, control groups, mounts, processes and folders of the cluster that lived in `root`.
pub fn find(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut path = |path: &Path| {
        if path.exists() {
            found.push(path.display().to_string());
        }
    };
    path(root);
    path(&Path::new("/sys/class/net").join(HOST_LINK));
    for node in Node::LOCAL {
        path(&Path::new("/run/netns").join(node.namespace()));
        for hierarchy in cgroups::hierarchies().unwrap_or_default() {
            path(&hierarchy.join(node.namespace()));
            path(&hierarchy.join(SYSTEM_CPUSET));
        }
    }
    found.extend(mounts(root));
    found.extend(processes(root));
    found
}

fn mounts(root: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let ours = |line: &&str| {
        let mount_point = line.split(' ').nth(1).map_or(Path::new(""), Path::new);
        mount_point.starts_with(root) || node::MOUNT_POINTS.iter().any(|point| mount_point.starts_with(point))
    };
    mounts.lines().filter(ours).map(|line| format!("mount {line}")).collect()
}

/// Every process of the cluster has a path of its state folder among its arguments, except those in pods,
/// which cannot live on without the first process of their node.
fn processes(root: &Path) -> Vec<String> {
    // With the separator: other folders may begin with the same name.
    let needle = format!("{}/", root.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&needle) && is_program_of_cluster(&line) {
            found.push(format!("process {} ({})", entry.file_name().display(), line.trim()));
        }
    }
    found
}

/// Not an editor or a `tail` that somebody has open on a log.
fn is_program_of_cluster(line: &str) -> bool {
    let programs = ["nsenter", "unshare", "etcd", "kube", "containerd", "qemu", "bash"];
    let program = line.split(' ').next().unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    programs.iter().any(|known| name.starts_with(known))
}
