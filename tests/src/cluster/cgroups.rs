//! The control groups under which the nodes live: one root per node in every hierarchy of cgroup v1.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::layout::{Node, SYSTEM_CPUSET};

/// Mount points of the machine's cgroup v1 hierarchies.
///
/// # Errors
/// When there are none: the two nodes in namespaces need them.
pub fn hierarchies() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("failed to read /proc/self/mounts")?;
    let found: Vec<PathBuf> = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (path, kind) = (fields.next()?, fields.next()?);
            (kind == "cgroup").then(|| PathBuf::from(path))
        })
        .collect();
    if !found.iter().any(|path| path.ends_with("cpuset")) {
        bail!(
            "this machine has no cgroup v1 cpuset hierarchy, which the test cluster's nodes use; \
             start a kind cluster and set GAUGEBLOCK_KUBECONFIG to its kubeconfig instead"
        );
    }
    Ok(found)
}

/// Makes the nodes' roots and the CPU set of the system processes.
///
/// The kubelet writes *all* CPUs to the CPU set of its pods and exits when the parent has fewer, so a
/// node's root has all of them; the pods of node-a are kept off the bench CPUs by its kubelet.
///
/// # Errors
/// When the kernel refuses, or has no cgroup v1.
pub fn make() -> Result<()> {
    let hierarchies = hierarchies()?;
    for hierarchy in &hierarchies {
        for node in Node::LOCAL {
            let path = hierarchy.join(node.namespace());
            fs::create_dir_all(&path).with_context(|| format!("failed to make {}", path.display()))?;
        }
    }
    let Some(cpuset) = hierarchies.iter().find(|path| path.ends_with("cpuset")) else {
        bail!("no cpuset hierarchy");
    };
    let all = read(&cpuset.join("cpuset.cpus"))?;
    let memory = read(&cpuset.join("cpuset.mems"))?;
    fs::create_dir_all(cpuset.join(SYSTEM_CPUSET)).context("failed to make a CPU set")?;
    let nodes = Node::LOCAL.map(|node| (node.namespace(), all.as_str()));
    for (group, cpus) in nodes.into_iter().chain([(SYSTEM_CPUSET, "0")]) {
        write(&cpuset.join(group).join("cpuset.mems"), &memory)?;
        write(&cpuset.join(group).join("cpuset.cpus"), cpus)?;
    }
    Ok(())
}

/// Where a process is put to stay off the bench CPUs; `taskset` would be inherited by the pods.
///
/// # Errors
/// When the machine has no cgroup v1.
pub fn system_tasks() -> Result<PathBuf> {
    let cpuset = hierarchies()?.into_iter().find(|path| path.ends_with("cpuset"));
    Ok(cpuset.context("no cpuset hierarchy")?.join(SYSTEM_CPUSET).join("cgroup.procs"))
}

/// CPUs of the machine besides the first, as a list for the kubelet (`1-3`).
///
/// # Errors
/// When there are none: a bench node needs a CPU of its own.
pub fn bench_cpus() -> Result<String> {
    let count = std::thread::available_parallelism().context("failed to count CPUs")?.get();
    match count {
        0 | 1 => bail!("the test cluster needs at least two CPUs; this process may use {count}"),
        2 => Ok("1".into()),
        more => Ok(format!("1-{}", more - 1)),
    }
}

/// Expands a kernel CPU list (`0-2,5`) into its members.
///
/// # Errors
/// When the text is no such list.
pub fn parse_cpus(list: &str) -> Result<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let malformed = || format!("malformed CPU list {list:?}");
        let first: usize = first.parse().with_context(malformed)?;
        let last: usize = last.parse().with_context(malformed)?;
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// The group of a container below a node's root: its folder is named by the container's id.
///
/// # Errors
/// When no folder has that name.
pub fn container(root: &Path, id: &str) -> Result<PathBuf> {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                continue;
            }
            if entry.file_name().to_string_lossy().contains(id) {
                return Ok(path);
            }
            folders.push(path);
        }
    }
    bail!("no control group of container {id} below {}", root.display())
}

fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(text.trim().to_owned())
}

fn write(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("failed to write {value} to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_list_is_expanded() {
        assert_eq!(parse_cpus("0-2,5\n").unwrap(), [0, 1, 2, 5]);
        assert_eq!(parse_cpus("\n").unwrap(), [0_usize; 0]);
        assert!(parse_cpus("a-b").is_err());
    }
}
