//! What is watched, a pod or a tree of processes, under one interface.

use std::os::fd::OwnedFd;

use gaugeblock_measurement::{plan::Watch, sampler::ContainerSeries};

use crate::{
    cgroup::{container::Container, kubepods::Kubepods},
    kernel_file::Buffer,
    notes::Notes,
    pod::{Node, Pod},
    process::Proc,
    process_tree::ProcessTree,
    start::Began,
};

/// One unit.
#[derive(Debug)]
pub enum Unit {
    /// A pod.
    Pod(Box<Pod>),
    /// Processes.
    Tree(Box<ProcessTree>),
}

/// How far the measured container or process of a unit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Not yet there.
    Absent,
    /// Running.
    Running(Began),
    /// It was there and has ended.
    Gone,
}

impl Unit {
    /// A unit to look for; `None` for a pod where there is no cgroup tree.
    pub fn new(watch: &Watch, node: Option<&Node>, proc: &Proc) -> Option<Self> {
        match watch {
            Watch::Pod { name, uid } => Some(Self::Pod(Box::new(Pod::new(name, uid, node?.clone())))),
            Watch::ProcessFile { name, uid: _, path } => {
                Some(Self::Tree(Box::new(ProcessTree::new(name, path.into(), proc))))
            }
        }
    }

    /// A cheap look; all the cheaper when it is not `urgent`.
    pub fn look(&mut self, urgent: bool, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        match self {
            Self::Pod(pod) => pod.look(urgent, buffer, notes),
            Self::Tree(tree) => tree.look(proc, buffer),
        }
    }

    /// Adds a sample.
    pub fn sample(&mut self, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        match self {
            Self::Pod(pod) => pod.sample(buffer, notes),
            Self::Tree(tree) => tree.sample(proc, buffer),
        }
    }

    /// Samples what has just ended.
    pub fn sample_ended(&mut self, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        match self {
            Self::Pod(pod) => pod.sample_ended(buffer, notes),
            Self::Tree(tree) => tree.look_at_root(proc, buffer),
        }
    }

    /// How far the container with this name, or the process, has come.
    pub fn presence(&self, container: &str) -> Presence {
        match self {
            Self::Pod(pod) => match pod.container(container) {
                Some(found) if found.has_ended() => Presence::Gone,
                Some(found) => found.program().map_or(Presence::Absent, |program| {
                    Presence::Running(Began {
                        process: program.process,
                        at: program.seen,
                        watched: program.watched,
                        local: false,
                    })
                }),
                None if pod.is_gone() => Presence::Gone,
                None => Presence::Absent,
            },
            Self::Tree(tree) if tree.is_gone() => Presence::Gone,
            Self::Tree(tree) => tree.began().map_or(Presence::Absent, Presence::Running),
        }
    }

    /// Whether to look often, as a program is about to start.
    pub fn is_starting(&self, container: &str) -> bool {
        match self {
            Self::Pod(pod) => {
                self.presence(container) == Presence::Absent || pod.containers.iter().any(Container::is_starting)
            }
            Self::Tree(tree) => tree.is_starting(),
        }
    }

    /// Whether a socket belongs to the unit; `None` where its open files may not be looked at.
    pub fn owns_socket(&mut self, proc: &Proc, inode: u64) -> Option<bool> {
        match self {
            // In its own network, nobody else listens.
            Self::Pod(_) => None,
            Self::Tree(tree) => tree.owns_socket(proc, inode),
        }
    }

    /// The kubelet that a pod belongs to, once it has been found.
    pub fn kubelet(&self) -> Option<&Kubepods> {
        match self {
            Self::Pod(pod) => pod.found().map(|found| &found.kubelet),
            Self::Tree(_) => None,
        }
    }

    /// Descriptors that become readable when a program ends.
    pub fn end_descriptors(&self) -> Vec<&OwnedFd> {
        match self {
            Self::Pod(pod) => pod.end_descriptors().collect(),
            Self::Tree(tree) => tree.end_descriptor().into_iter().collect(),
        }
    }

    /// Reads the memory maps of a unit that has just become ready: what its processes share.
    pub fn settle(&mut self, proc: &Proc, notes: &mut Notes) {
        match self {
            Self::Pod(_) => {}
            Self::Tree(tree) => tree.read_maps(proc, false, notes),
        }
    }

    /// Reads private memory once, as the windows are over.
    pub fn read_private(&mut self, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        match self {
            Self::Pod(pod) => pod.read_private(buffer, notes),
            Self::Tree(tree) => tree.read_maps(proc, true, notes),
        }
    }

    /// The finished series; `container` is the measured one's name, for the target.
    pub fn finish(
        self,
        container: Option<&str>,
        proc: &Proc,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) -> Vec<ContainerSeries> {
        if let (Self::Pod(pod), Some(name)) = (&self, container)
            && pod.is_nameless()
        {
            notes.add(format!("which of the pod's containers is {name} cannot be told: the first was taken for it"));
        }
        match self {
            Self::Pod(pod) => {
                let measured = container.and_then(|name| Some((pod.container(name)?.id.clone(), name)));
                pod.finish(measured.as_ref().map(|(id, name)| (id.as_str(), *name)), buffer, notes)
            }
            Self::Tree(tree) => tree.finish(container.is_some(), proc, notes).into_iter().collect(),
        }
    }
}
