//! Where a kubelet keeps its pods in the cgroup tree, and how it names them.
//!
//! cgroupfs driver: `[ROOT/]kubepods[/burstable|/besteffort]/pod<UID>/<CONTAINER>`; systemd driver:
//! `[ROOT.slice/][ROOT-]kubepods.slice/[…kubepods-<QOS>.slice/]…kubepods[-<QOS>]-pod<UID with _>.slice/
//! <RUNTIME>-<CONTAINER>.scope` (kubelet `pkg/kubelet/cm/pod_container_manager_linux.go`,
//! `cgroup_manager_linux.go`). A guaranteed pod has no QoS level. A machine may have several kubelets
//! (test clusters in namespaces, kind): each has its root.

use std::path::{Path, PathBuf};

use gaugeblock_measurement::sampler::Driver;

use super::folders;

/// How deep a kubelet's root may lie: `docker/<ID>/kubelet/kubepods` of kind is the deepest known.
const DEEPEST: usize = 5;

/// One kubelet's root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kubepods {
    /// Path below the hierarchy, such as `gb-b/kubepods`.
    pub path: PathBuf,
}

/// Quality of service, as the folders tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qos {
    /// Requests equal limits in every container: the only class that can own CPUs.
    Guaranteed,
    /// Some requests or limits.
    Burstable,
    /// None.
    BestEffort,
}

/// A pod's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFolder {
    /// UID, with hyphens.
    pub uid: String,
    /// Path below the hierarchy.
    pub path: PathBuf,
    /// Quality of service.
    pub qos: Qos,
}

impl Qos {
    const ALL: [Self; 3] = [Self::Guaranteed, Self::Burstable, Self::BestEffort];

    fn word(self) -> Option<&'static str> {
        match self {
            Self::Guaranteed => None,
            Self::Burstable => Some("burstable"),
            Self::BestEffort => Some("besteffort"),
        }
    }

    /// Name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }
}

impl Kubepods {
    /// All kubelets' roots of a hierarchy. Reads the upper folders only, and nothing below a root.
    pub fn search(hierarchy: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        let mut level = vec![PathBuf::new()];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for folder in level {
                // A folder may go away between listing and reading: then there is nothing in it.
                for name in folders(&hierarchy.join(&folder)).unwrap_or_default() {
                    let path = folder.join(&name);
                    if name == "kubepods" || name == "kubepods.slice" || name.ends_with("-kubepods.slice") {
                        found.push(Self { path });
                    } else {
                        next.push(path);
                    }
                }
            }
            level = next;
        }
        found.sort();
        found
    }

    /// The driver that named it.
    pub fn driver(&self) -> Driver {
        if self.path.extension().is_some_and(|extension| extension == "slice") {
            Driver::Systemd
        } else {
            Driver::Cgroupfs
        }
    }

    /// Where a pod's folder is, for each quality of service.
    pub fn candidates(&self, uid: &str) -> [PodFolder; 3] {
        Qos::ALL.map(|qos| {
            let folder = match self.driver() {
                Driver::Cgroupfs => format!("pod{uid}"),
                Driver::Systemd => {
                    format!("{}-pod{}.slice", self.slice(qos), uid.replace('-', "_"))
                }
            };
            PodFolder { uid: uid.to_owned(), path: self.level(qos).join(folder), qos }
        })
    }

    /// All pods there are.
    pub fn pods(&self, hierarchy: &Path) -> Vec<PodFolder> {
        let mut pods = Vec::new();
        for qos in Qos::ALL {
            let level = self.level(qos);
            for name in folders(&hierarchy.join(&level)).unwrap_or_default() {
                if let Some(uid) = self.uid(&name, qos) {
                    pods.push(PodFolder { uid, path: level.join(&name), qos });
                }
            }
        }
        pods
    }

    fn uid(&self, folder: &str, qos: Qos) -> Option<String> {
        match self.driver() {
            Driver::Cgroupfs => folder.strip_prefix("pod").map(str::to_owned),
            Driver::Systemd => folder
                .strip_prefix(&self.slice(qos))?
                .strip_prefix("-pod")?
                .strip_suffix(".slice")
                .map(|uid| uid.replace('_', "-")),
        }
    }

    /// Name of a level's slice without its suffix, such as `kubepods-burstable`.
    fn slice(&self, qos: Qos) -> String {
        let root = self.path.file_stem().unwrap_or_default().to_string_lossy();
        match qos.word() {
            None => root.into_owned(),
            Some(word) => format!("{root}-{word}"),
        }
    }

    fn level(&self, qos: Qos) -> PathBuf {
        match (qos.word(), self.driver()) {
            (None, _) => self.path.clone(),
            (Some(word), Driver::Cgroupfs) => self.path.join(word),
            (Some(_), Driver::Systemd) => self.path.join(format!("{}.slice", self.slice(qos))),
        }
    }
}

/// ID of the container that a folder inside a pod's belongs to; `None` for folders that are no
/// container, such as CRI-O's monitor (`crio-conmon-<ID>.scope`).
pub fn container_id(folder: &str) -> Option<&str> {
    let name = folder.strip_suffix(".scope").unwrap_or(folder);
    if name.contains("conmon") {
        return None;
    }
    let id = name.rsplit('-').next()?;
    // All runtimes of the CRI make 64 hexadecimal digits; shorter ones are left to tests.
    (id.len() >= 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_drivers_name_pods_as_the_kubelet_does() {
        let paths = |root: &str| {
            let root = Kubepods { path: root.into() };
            root.candidates("a-b").map(|pod| pod.path.display().to_string())
        };
        assert_eq!(
            paths("gb-b/kubepods"),
            ["gb-b/kubepods/poda-b", "gb-b/kubepods/burstable/poda-b", "gb-b/kubepods/besteffort/poda-b"]
        );
        assert_eq!(
            paths("kubelet.slice/kubelet-kubepods.slice")[1],
            "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-poda_b.slice"
        );
    }

    #[test]
    fn containers_are_told_from_other_folders() {
        let id = "5a30ddc333cca89230852ceeb4fd7b6d1ae890c8518ececf98d4c421b894cbb5";
        for folder in [id.to_owned(), format!("cri-containerd-{id}.scope"), format!("crio-{id}.scope")] {
            assert_eq!(container_id(&folder), Some(id));
        }
        assert_eq!(container_id(&format!("crio-conmon-{id}.scope")), None);
        assert_eq!(container_id("init.scope"), None);
    }
}
