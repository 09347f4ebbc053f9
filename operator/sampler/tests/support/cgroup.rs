//! Folders in this machine's own cgroup tree (version 1), shaped like a kubelet's, and removed after.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

const HIERARCHIES: [&str; 4] = ["cpuset", "cpuacct", "cpu", "memory"];

/// A kubelet's root of our own.
pub struct Kubelet {
    name: String,
    /// UID of its pod under test, unlike any other test's.
    pub uid: String,
}

impl Kubelet {
    /// `None`, and a loud word, where no such folders can be made.
    pub fn make(test: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let kubelet = Self {
            name: format!("gaugeblock-{test}-{process}-{number}"),
            uid: format!("{process:08x}-0000-4000-8000-{number:012x}"),
        };
        let made = HIERARCHIES.iter().all(|hierarchy| kubelet.folder(hierarchy, "kubepods").is_ok());
        if !made {
            eprintln!(
                "SKIPPED: {test} needs root and the cgroup version 1 controllers {HIERARCHIES:?} in /sys/fs/cgroup"
            );
            return None;
        }
        for qos in ["burstable", "besteffort"] {
            for hierarchy in HIERARCHIES {
                kubelet.folder(hierarchy, &format!("kubepods/{qos}")).unwrap();
            }
        }
        Some(kubelet)
    }

    fn path(&self, hierarchy: &str, below: &str) -> PathBuf {
        Path::new("/sys/fs/cgroup").join(hierarchy).join(&self.name).join(below)
    }

    fn folder(&self, hierarchy: &str, below: &str) -> std::io::Result<()> {
        let mut path = self.path(hierarchy, "");
        for part in std::iter::once("").chain(below.split('/')) {
            path.push(part);
            if !path.exists() {
                fs::create_dir(&path)?;
            }
            if hierarchy == "cpuset" {
                // A new set is empty in version 1; the kubelet and runc fill it like this.
                for file in ["cpuset.cpus", "cpuset.mems"] {
                    let above = fs::read_to_string(path.parent().unwrap().join(file))?;
                    fs::write(path.join(file), above)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a pod's folder, such as `pod<UID>` or `burstable/pod<UID>`.
    pub fn pod(&self, pod: &str) {
        for hierarchy in HIERARCHIES {
            self.folder(hierarchy, &format!("kubepods/{pod}")).unwrap();
        }
    }

    /// Makes a container's folder with a CPU set and a memory limit (MiB), and answers the lists that a process has
    /// to join.
    pub fn container(&self, pod: &str, id: &str, cpus: &str, limit: Option<u64>) -> Vec<PathBuf> {
        let below = format!("kubepods/{pod}/{id}");
        for hierarchy in HIERARCHIES {
            self.folder(hierarchy, &below).unwrap();
        }
        fs::write(self.path("cpuset", &below).join("cpuset.cpus"), cpus).unwrap();
        if let Some(limit) = limit {
            fs::write(self.path("memory", &below).join("memory.limit_in_bytes"), (limit << 20).to_string()).unwrap();
        }
        HIERARCHIES.iter().map(|hierarchy| self.path(hierarchy, &below).join("cgroup.procs")).collect()
    }

    /// Removes a container's folder as soon as it is empty, as runc does.
    pub fn remove(&self, pod: &str, id: &str) {
        for hierarchy in HIERARCHIES {
            remove(&self.path(hierarchy, &format!("kubepods/{pod}/{id}")));
        }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        for hierarchy in HIERARCHIES {
            remove_all(&self.path(hierarchy, ""));
        }
    }
}

fn remove_all(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_all(&entry.path());
        }
    }
    remove(folder);
}

fn remove(folder: &Path) {
    // A process that has just been waited for may still be charged for a moment.
    for _ in 0..200 {
        if fs::remove_dir(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    eprintln!("{} could not be removed", folder.display());
}
