//! Figures of a container under cgroup version 2 (`Documentation/admin-guide/cgroup-v2.rst`).

use std::{
    io,
    path::{Path, PathBuf},
};

use super::accounts::Figures;
use crate::kernel_file::{Buffer, KernelFile, keyed, number, read_once};

/// The open files of one container.
#[derive(Debug)]
pub struct Accounts {
    folder: PathBuf,
    root: PathBuf,
    cpu_stat: KernelFile,
    memory_stat: KernelFile,
    memory_current: KernelFile,
    memory_peak: Option<KernelFile>,
    /// Counts the kills in this cgroup and in those below it.
    pub(super) memory_events: Option<KernelFile>,
    swap: Option<KernelFile>,
    /// Swapped memory at the last reading; where there is none, it is read less often.
    swapped: u64,
    ancestors: Vec<Ancestor>,
}

/// `memory.events` of a folder above, which counts the kills of all below it.
#[derive(Debug)]
struct Ancestor {
    name: String,
    events: KernelFile,
    before: u64,
}

impl Accounts {
    /// Opens the files. `memory.peak` is there from Linux 5.19, swap only where it is configured.
    pub fn open(root: &Path, path: &Path) -> io::Result<Self> {
        let folder = root.join(path);
        let optional = |name: &str| KernelFile::open(&folder.join(name)).ok();
        Ok(Self {
            cpu_stat: KernelFile::open(&folder.join("cpu.stat"))?,
            memory_stat: KernelFile::open(&folder.join("memory.stat"))?,
            memory_current: KernelFile::open(&folder.join("memory.current"))?,
            memory_peak: optional("memory.peak"),
            memory_events: optional("memory.events"),
            swap: optional("memory.swap.current"),
            swapped: 0,
            ancestors: ancestors(&folder, root).filter_map(|folder| Ancestor::open(&folder)).collect(),
            root: root.to_owned(),
            folder,
        })
    }

    /// Reads them.
    pub fn read(&mut self, thorough: bool, buffer: &mut Buffer) -> io::Result<Figures> {
        let micros = |table: &str, key: &str| keyed(table, key).map(|micros| micros * 1_000);
        let table = self.cpu_stat.read(buffer)?;
        let mut figures = Figures {
            cpu: micros(table, "usage_usec"),
            cpu_user: micros(table, "user_usec"),
            cpu_system: micros(table, "system_usec"),
            throttled: micros(table, "throttled_usec"),
            throttled_periods: keyed(table, "nr_throttled"),
            ..Figures::default()
        };
        figures.usage = number(self.memory_current.read(buffer)?);
        if let Some(file) = self.memory_peak.as_ref().filter(|_| thorough) {
            figures.peak = number(file.read(buffer)?);
        }
        if let Some(file) = self.swap.as_ref().filter(|_| thorough || self.swapped > 0) {
            self.swapped = number(file.read(buffer)?).unwrap_or(0);
        }
        let stat = Stat::parse(self.memory_stat.read(buffer)?);
        figures.anonymous = Some(stat.anon + stat.shmem + self.swapped);
        figures.file = Some(stat.file.saturating_sub(stat.shmem));
        figures.working_set = figures.usage.map(|usage| usage.saturating_sub(stat.inactive_file));
        Ok(figures)
    }

    /// Kills counted since [`Self::open`] by the nearest folder above that is still there.
    pub fn ancestors_oom_kills(&self, buffer: &mut Buffer) -> Option<(u64, String)> {
        self.ancestors.iter().find_map(|ancestor| {
            let count = keyed(ancestor.events.read(buffer).ok()?, "oom_kill")?;
            Some((count.saturating_sub(ancestor.before), ancestor.name.clone()))
        })
    }

    /// The lowest limit from here to the root.
    pub fn memory_limit(&self) -> Option<u64> {
        std::iter::once(self.folder.clone())
            .chain(ancestors(&self.folder, &self.root))
            .filter_map(|folder| number(&read_once(&folder.join("memory.max")).ok()?))
            .min()
    }
}

impl Ancestor {
    fn open(folder: &Path) -> Option<Self> {
        let events = KernelFile::open(&folder.join("memory.events")).ok()?;
        let before = keyed(events.read(&mut Buffer::default()).ok()?, "oom_kill")?;
        Some(Self { name: folder.file_name()?.to_string_lossy().into_owned(), events, before })
    }
}

/// The folders above one, nearest first, without the root.
fn ancestors(folder: &Path, root: &Path) -> impl Iterator<Item = PathBuf> {
    folder
        .ancestors()
        .skip(1)
        .take_while(|ancestor| *ancestor != root)
        .map(Path::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// The used part of `memory.stat`; `file` includes shared memory.
#[derive(Default)]
struct Stat {
    anon: u64,
    file: u64,
    shmem: u64,
    inactive_file: u64,
}

impl Stat {
    fn parse(table: &str) -> Self {
        let mut stat = Self::default();
        for line in table.lines() {
            let Some((key, value)) = line.split_once(' ') else {
                continue;
            };
            let place = match key {
                "anon" => &mut stat.anon,
                "file" => &mut stat.file,
                "shmem" => &mut stat.shmem,
                "inactive_file" => &mut stat.inactive_file,
                _ => continue,
            };
            *place = number(value).unwrap_or(0);
        }
        stat
    }
}
