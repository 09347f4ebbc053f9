//! A pod under watch: found by its UID in the cgroup tree, then its containers.

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::PathBuf,
    rc::Rc,
};

use gaugeblock_measurement::sampler::ContainerSeries;

use crate::{
    cgroup::{
        Tree,
        container::{Container, Program},
        folders,
        kubepods::{Kubepods, PodFolder, container_id},
    },
    clock::{MILLISECOND, SECOND, monotonic},
    kernel_file::Buffer,
    notes::Notes,
    process::Proc,
};

/// Time after which the containers are listed anew, whatever the number of links: one that replaces
/// another leaves it as it was (ns).
const LIST: u64 = 500 * MILLISECOND;

/// Where to look: the tree and the processes of the node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its cgroup tree.
    pub tree: Rc<Tree>,
    /// Its processes.
    pub proc: Rc<Proc>,
}

/// A pod.
#[derive(Debug)]
pub struct Pod {
    /// Name for the results.
    name: String,
    /// UID.
    uid: String,
    node: Node,
    /// Kubelets' roots, and when they were last searched for (monotonic ns).
    roots: Vec<Kubepods>,
    searched: Option<u64>,
    found: Option<Found>,
    /// Its containers in the order in which they appeared, the sandbox too.
    pub containers: Vec<Container>,
    looked: bool,
    /// When they were last listed (monotonic ns).
    listed: u64,
}

/// A pod's folder that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The kubelet that it belongs to.
    pub kubelet: Kubepods,
    /// Its folder.
    pub folder: PodFolder,
    /// Number of links at the last listing: one more for each container.
    links: u64,
    gone: bool,
}

impl Pod {
    /// A pod to look for.
    pub fn new(name: &str, uid: &str, node: Node) -> Self {
        Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
            node,
            roots: Vec::new(),
            searched: None,
            found: None,
            containers: Vec::new(),
            looked: false,
            listed: 0,
        }
    }

    /// Its folder, once it has been found.
    pub fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// Other kubelets' roots on the same machine (test clusters in namespaces).
    pub fn other_kubelets(&self) -> impl Iterator<Item = &Kubepods> {
        self.roots.iter().filter(|root| self.found.as_ref().is_some_and(|found| found.kubelet != **root))
    }

    /// Whether its folder was found and has been removed.
    pub fn is_gone(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.gone)
    }

    /// A cheap look, fit for once a millisecond: three `stat` calls until the pod is there, one until
    /// its number of containers changes, one `stat` file for each container that is about to start.
    /// When it is not `urgent`, containers are looked for twice a second.
    pub fn look(&mut self, urgent: bool, buffer: &mut Buffer, notes: &mut Notes) {
        if self.found.is_none() {
            self.find();
        }
        let now = monotonic();
        if urgent || now.saturating_sub(self.listed) >= LIST {
            self.list(!urgent);
            self.listed = now;
        }
        for container in &mut self.containers {
            container.look(&self.node.tree, &self.node.proc, &self.uid, buffer, notes);
        }
        self.looked = true;
    }

    /// Adds a sample of every container that runs.
    pub fn sample(&mut self, buffer: &mut Buffer, notes: &mut Notes) {
        for container in &mut self.containers {
            container.sample(false, &self.node.proc, buffer, notes);
        }
    }

    /// Samples the containers whose program has just ended: the last reading before the runtime removes the folder.
    pub fn sample_ended(&mut self, buffer: &mut Buffer, notes: &mut Notes) {
        for container in &mut self.containers {
            if !container.has_ended() && container.program().is_some_and(Program::has_ended) {
                container.sample(true, &self.node.proc, buffer, notes);
            }
        }
    }

    /// Descriptors that become readable when a program ends.
    pub fn end_descriptors(&self) -> impl Iterator<Item = &OwnedFd> {
        self.containers.iter().filter_map(Container::end_descriptor)
    }

    /// The container with this name; where no name can be read, the first that is not the sandbox.
    pub fn container(&self, name: &str) -> Option<&Container> {
        let running = || self.containers.iter().rev().filter(|container| container.program().is_some());
        let named = |container: &&Container| container.program().is_some_and(|program| program.name.is_some());
        if running().any(|container| named(&container)) {
            return running()
                .find(|container| container.program().and_then(|program| program.name.as_deref()) == Some(name));
        }
        self.containers.iter().find(|container| container.program().is_some() && !container.is_sandbox())
    }

    /// Whether it cannot be told which container is which: several run, and none has a name.
    pub fn is_nameless(&self) -> bool {
        let mut running = self.containers.iter().filter(|one| one.program().is_some() && !one.is_sandbox());
        running.clone().count() > 1
            && running.all(|container| container.program().is_none_or(|program| program.name.is_none()))
    }

    /// Reads private memory of every container once, where that is permitted.
    pub fn read_private(&mut self, buffer: &mut Buffer, notes: &mut Notes) {
        for container in &mut self.containers {
            container.read_private(&self.node.proc, buffer, notes);
        }
    }

    /// The series of its containers without the sandbox; `measured` is the measured one's ID and name.
    pub fn finish(
        self,
        measured: Option<(&str, &str)>,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) -> Vec<ContainerSeries> {
        for container in self.containers.iter().filter(|container| container.never_ran()) {
            notes.add(format!("container {} of {} ended before its program was seen", container.id, self.name));
        }
        let containers: Vec<Container> =
            self.containers.into_iter().filter(|container| !container.is_sandbox()).collect();
        let alone = containers.iter().filter(|container| container.program().is_some()).count() == 1;
        let mut all = Vec::new();
        for container in containers {
            let name = container.program().and_then(|program| program.name.clone());
            let Some(mut series) = container.finish(buffer, notes) else {
                continue;
            };
            let own = name.clone().unwrap_or_else(|| series.container_id.chars().take(12).collect());
            series.target = measured.is_some_and(|(id, _)| id == series.container_id);
            series.name = match (measured, name) {
                (Some((_, name)), None) if series.target => name.to_owned(),
                (Some(_), _) => own,
                (None, _) if alone => self.name.clone(),
                (None, _) => format!("{}/{own}", self.name),
            };
            all.push(series);
        }
        all
    }

    fn find(&mut self) {
        let hierarchy = self.node.tree.lookup();
        let now = monotonic();
        if self.searched.is_none_or(|last| now.saturating_sub(last) > SECOND) {
            self.roots = Kubepods::search(hierarchy);
            self.searched = Some(now);
        }
        self.found = self.roots.iter().find_map(|kubelet| {
            let folder =
                kubelet.candidates(&self.uid).into_iter().find(|folder| hierarchy.join(&folder.path).is_dir())?;
            Some(Found { kubelet: kubelet.clone(), folder, links: 0, gone: false })
        });
    }

    fn list(&mut self, always: bool) {
        let Some(found) = &mut self.found else { return };
        let folder = self.node.tree.lookup().join(&found.folder.path);
        let Ok(metadata) = fs::metadata(&folder) else {
            found.gone = true;
            return;
        };
        if metadata.nlink() == found.links && !always {
            return;
        }
        found.links = metadata.nlink();
        let mut names = folders(&folder).unwrap_or_default();
        // Together at the first look: which came first is not known, but the order should not vary.
        names.sort();
        for name in names {
            let Some(id) = container_id(&name) else {
                continue;
            };
            if self.containers.iter().all(|container| container.id != id) {
                let path: PathBuf = found.folder.path.join(&name);
                self.containers.push(Container::new(id, path, self.looked, &self.node.tree));
            }
        }
    }
}
