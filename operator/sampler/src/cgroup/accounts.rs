//! What a container's cgroup says of its use, whichever the version.

use std::{io, path::Path};

use super::{Tree, version1, version2};
use crate::kernel_file::{Buffer, keyed};

/// Figures of one container (or process unit) at one moment; `None` where the kernel does not say.
/// Times in ns and sizes in bytes; times and counts are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// CPU time.
    pub cpu: Option<u64>,
    /// Its user part.
    pub cpu_user: Option<u64>,
    /// Its system part.
    pub cpu_system: Option<u64>,
    /// Time throttled.
    pub throttled: Option<u64>,
    /// Periods throttled.
    pub throttled_periods: Option<u64>,
    /// Anonymous + shared + swapped.
    pub anonymous: Option<u64>,
    /// Usage without inactive file pages.
    pub working_set: Option<u64>,
    /// Page cache without shared memory, so that it never overlaps `anonymous`.
    pub file: Option<u64>,
    /// Whole usage as the controller charges it.
    pub usage: Option<u64>,
    /// Highest usage that the kernel has kept.
    pub peak: Option<u64>,
    /// Processes.
    pub processes: Option<u64>,
    /// Time runnable but not running.
    pub run_wait: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
}

/// The open files of one container's cgroup.
#[derive(Debug)]
pub enum Accounts {
    /// Version 1.
    Version1(version1::Accounts),
    /// Version 2.
    Version2(version2::Accounts),
}

impl Accounts {
    /// Opens the files of the cgroup at `path` below each hierarchy.
    pub fn open(tree: &Tree, path: &Path) -> io::Result<Self> {
        match tree {
            Tree::Version1(hierarchies) => version1::Accounts::open(hierarchies, path).map(Self::Version1),
            Tree::Version2(root) => version2::Accounts::open(root, path).map(Self::Version2),
        }
    }

    /// Reads them; those that matter less, or only in the end (the split of CPU time, the peak), when
    /// `thorough`. `ENODEV` says that the cgroup is gone ([`super::is_gone`]).
    pub fn read(&mut self, thorough: bool, buffer: &mut Buffer) -> io::Result<Figures> {
        match self {
            Self::Version1(accounts) => accounts.read(thorough, buffer),
            Self::Version2(accounts) => accounts.read(thorough, buffer),
        }
    }

    /// OOM kills in the cgroup so far.
    pub fn oom_kills(&self, buffer: &mut Buffer) -> Option<u64> {
        let file = match self {
            Self::Version1(accounts) => accounts.oom_control.as_ref(),
            Self::Version2(accounts) => accounts.memory_events.as_ref(),
        };
        keyed(file?.read(buffer).ok()?, "oom_kill")
    }

    /// OOM kills that the ancestors counted since the files were opened, for when the container's own
    /// folder has vanished before it could be read: with the name of the folder that counted them.
    /// Version 1 does not count on ancestors (`memcg_memory_event` stops at the first level).
    pub fn ancestors_oom_kills(&self, buffer: &mut Buffer) -> Option<(u64, String)> {
        match self {
            Self::Version1(_) => None,
            Self::Version2(accounts) => accounts.ancestors_oom_kills(buffer),
        }
    }

    /// Memory limit in force (bytes), the container's or an ancestor's.
    pub fn memory_limit(&self, buffer: &mut Buffer) -> Option<u64> {
        match self {
            Self::Version1(accounts) => accounts.memory_limit(buffer),
            Self::Version2(accounts) => accounts.memory_limit(),
        }
    }
}
