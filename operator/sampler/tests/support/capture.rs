//! A captured node: its cgroup tree and its pods as the API showed them, and a `/proc` made of both.
//!
//! `golden/ABOUT.md` says what the captures hold.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use gaugeblock_sampler::{cgroup::Tree, pod::Node, process::Proc};
use serde_json::Value;
use tempfile::TempDir;

/// Names of all captures.
pub const ALL: [&str; 4] = ["v1-cgroupfs", "v2-cgroupfs", "v2-systemd", "v2-systemd-6.1"];

/// One of them, unpacked.
pub struct Capture {
    folder: PathBuf,
    /// Removes a folder of a test's own.
    _own: Option<TempDir>,
    pods: Value,
}

/// A running container as the API names it.
#[derive(Debug)]
pub struct ApiContainer {
    pub pod: String,
    pub uid: String,
    pub qos: String,
    pub name: String,
    pub id: String,
}

impl Capture {
    /// A capture that the tests of a program share: none may write to it.
    pub fn of(name: &str) -> Arc<Self> {
        static UNPACKED: Mutex<BTreeMap<String, Arc<Capture>>> = Mutex::new(BTreeMap::new());
        let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
        let capture = unpacked.entry(name.to_owned()).or_insert_with(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("captures").join(name);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Arc::new(Self::unpack(name, folder, None))
        });
        Arc::clone(capture)
    }

    /// A capture of a test's own, to write to.
    pub fn own(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::unpack(name, folder.path().to_owned(), Some(folder))
    }

    fn unpack(name: &str, folder: PathBuf, own: Option<TempDir>) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.tar.gz"));
        let packed = flate2::read::GzDecoder::new(fs::File::open(path).unwrap());
        for entry in tar::Archive::new(packed).entries().unwrap() {
            let mut entry = entry.unwrap();
            if is_used(&entry.path().unwrap()) {
                entry.unpack_in(&folder).unwrap();
            }
        }
        if !name.starts_with("v1") {
            // The captures hold what is below the root, not the root's own files.
            for root in ["cgroup", "oom-single-cgroup"] {
                let _ = fs::write(folder.join(root).join("cgroup.controllers"), "cpuset cpu io memory pids\n");
            }
        }
        let pods = serde_json::from_slice(&fs::read(folder.join("pods.json")).unwrap()).unwrap();
        let capture = Self { folder, _own: own, pods };
        capture.make_proc();
        capture
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn node(&self) -> Node {
        Node { tree: Rc::new(Tree::detect(&self.path("cgroup")).unwrap()), proc: Rc::new(Proc::new(self.path("proc"))) }
    }

    /// All containers that ran.
    pub fn containers(&self) -> Vec<ApiContainer> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut all = Vec::new();
        for pod in self.pods["items"].as_array().unwrap() {
            for statuses in ["containerStatuses", "initContainerStatuses"] {
                for status in pod["status"][statuses].as_array().into_iter().flatten() {
                    if status["state"].get("running").is_none() {
                        continue;
                    }
                    // The kubelet names a static pod's folder by the hash of its manifest.
                    let hash = &pod["metadata"]["annotations"]["kubernetes.io/config.hash"];
                    all.push(ApiContainer {
                        pod: text(&pod["metadata"]["name"]),
                        uid: text(if hash.is_string() { hash } else { &pod["metadata"]["uid"] }),
                        qos: text(&pod["status"]["qosClass"]),
                        name: text(&status["name"]),
                        id: text(&status["containerID"]).rsplit('/').next().unwrap().to_owned(),
                    });
                }
            }
        }
        all
    }

    pub fn container(&self, pod: &str, name: &str) -> ApiContainer {
        self.containers().into_iter().find(|container| container.pod == pod && container.name == name).unwrap()
    }

    /// CPUs that the kubelet says it gave away, by pod UID and container.
    pub fn given_cpus(&self) -> BTreeMap<(String, String), String> {
        let state: Value = serde_json::from_slice(&fs::read(self.path("cpu_manager_state")).unwrap()).unwrap();
        let mut given = BTreeMap::new();
        for (uid, containers) in state["entries"].as_object().unwrap() {
            for (name, cpus) in containers.as_object().unwrap() {
                given.insert((uid.clone(), name.clone()), cpus.as_str().unwrap().to_owned());
            }
        }
        given
    }

    /// CPUs that the kubelet leaves to all others.
    pub fn shared_pool(&self) -> String {
        let state: Value = serde_json::from_slice(&fs::read(self.path("cpu_manager_state")).unwrap()).unwrap();
        state["defaultCpuSet"].as_str().unwrap().to_owned()
    }

    /// Every process of the cgroup tree gets a `stat`: the captured one, or one with the name `pause`
    /// for containers that the API does not know, which are the sandboxes (`cgls.txt` says the same).
    fn make_proc(&self) {
        let containers = self.containers();
        let root = Tree::detect(&self.path("cgroup")).unwrap().lookup().to_owned();
        let captured = self.path("node");
        for folder in below(&root) {
            let Ok(processes) = fs::read_to_string(folder.join("cgroup.procs")) else { continue };
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let container = containers.iter().find(|container| name.contains(&container.id));
            for process in processes.lines() {
                let made = self.path("proc").join(process);
                fs::create_dir_all(&made).unwrap();
                let command = if container.is_some() { "program" } else { "pause" };
                fs::write(
                    made.join("stat"),
                    format!("{process} ({command}) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 7217 1 1\n"),
                )
                .unwrap();
                let Some(container) = container else { continue };
                for file in ["stat", "status", "schedstat"] {
                    let from = captured.join(format!("{}.{}", container.pod, container.name)).join(file);
                    if let Ok(text) = fs::read_to_string(from)
                        && (file != "stat" || text.starts_with(&format!("{process} ")))
                    {
                        fs::write(made.join(file), text).unwrap();
                    }
                }
            }
        }
    }
}

/// Whether a test needs a file: most of the captures is other controllers' (thousands of files).
fn is_used(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = path.to_string_lossy();
    let other = ["/hugetlb/", "/pids/", "/blkio/", "/devices/", "/freezer/", "/systemd/", "/unified/", "sampler/"];
    if other.iter().any(|part| text.contains(part)) {
        return false;
    }
    ["cpu", "memory.", "cgroup.procs", "cgroup.threads", "tasks", "stat", "schedstat", "pods.json"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.push(entry.path());
            found.extend(below(&entry.path()));
        }
    }
    found
}
