//! Figures of a container under cgroup version 1
//! (`Documentation/admin-guide/cgroup-v1/{cpuacct,memory}.rst`).

use std::{io, path::Path};

use super::{Hierarchies, accounts::Figures};
use crate::kernel_file::{Buffer, KernelFile, keyed, number};

/// A limit at or above this is none: the kernel writes `PAGE_COUNTER_MAX` in bytes.
const NO_LIMIT: u64 = 1 << 62;

/// The open files of one container.
#[derive(Debug)]
pub struct Accounts {
    usage: KernelFile,
    usage_user: Option<KernelFile>,
    usage_system: Option<KernelFile>,
    cpu_stat: Option<KernelFile>,
    memory_stat: KernelFile,
    memory_usage: KernelFile,
    memory_peak: Option<KernelFile>,
    /// Counts the kills in this cgroup, not in those below it.
    pub(super) oom_control: Option<KernelFile>,
    /// Whether there have been periods of a quota: without one, nothing is throttled.
    has_quota: bool,
}

impl Accounts {
    /// Opens the files; those of kernels before 4.x or of disabled accounting may be missing.
    pub fn open(hierarchies: &Hierarchies, path: &Path) -> io::Result<Self> {
        let cpuacct = hierarchies.cpuacct.join(path);
        let memory = hierarchies.memory.join(path);
        Ok(Self {
            usage: KernelFile::open(&cpuacct.join("cpuacct.usage"))?,
            usage_user: KernelFile::open(&cpuacct.join("cpuacct.usage_user")).ok(),
            usage_system: KernelFile::open(&cpuacct.join("cpuacct.usage_sys")).ok(),
            cpu_stat: KernelFile::open(&hierarchies.cpu.join(path).join("cpu.stat")).ok(),
            memory_stat: KernelFile::open(&memory.join("memory.stat"))?,
            memory_usage: KernelFile::open(&memory.join("memory.usage_in_bytes"))?,
            memory_peak: KernelFile::open(&memory.join("memory.max_usage_in_bytes")).ok(),
            oom_control: KernelFile::open(&memory.join("memory.oom_control")).ok(),
            has_quota: false,
        })
    }

    /// Reads them.
    pub fn read(&mut self, thorough: bool, buffer: &mut Buffer) -> io::Result<Figures> {
        let mut figures = Figures { cpu: number(self.usage.read(buffer)?), ..Figures::default() };
        let optional = |file: &Option<KernelFile>, buffer: &mut Buffer| -> io::Result<Option<u64>> {
            file.as_ref().map_or(Ok(None), |file| Ok(number(file.read(buffer)?)))
        };
        if thorough {
            figures.cpu_user = optional(&self.usage_user, buffer)?;
            figures.cpu_system = optional(&self.usage_system, buffer)?;
            figures.peak = optional(&self.memory_peak, buffer)?;
        }
        figures.usage = number(self.memory_usage.read(buffer)?);
        if let Some(file) = self.cpu_stat.as_ref().filter(|_| thorough || self.has_quota) {
            let table = file.read(buffer)?;
            self.has_quota = keyed(table, "nr_periods").is_some_and(|periods| periods > 0);
            figures.throttled = keyed(table, "throttled_time");
            figures.throttled_periods = keyed(table, "nr_throttled");
        }
        let stat = Stat::parse(self.memory_stat.read(buffer)?);
        figures.anonymous = Some(stat.rss + stat.shmem + stat.swap);
        figures.file = Some(stat.cache.saturating_sub(stat.shmem));
        // As the kubelet computes it (cAdvisor `setMemoryStats`).
        figures.working_set = figures.usage.map(|usage| usage.saturating_sub(stat.inactive_file));
        Ok(figures)
    }

    /// The lowest limit from here to the root.
    pub fn memory_limit(&self, buffer: &mut Buffer) -> Option<u64> {
        keyed(self.memory_stat.read(buffer).ok()?, "hierarchical_memory_limit").filter(|limit| *limit < NO_LIMIT)
    }
}

/// The used part of `memory.stat`, children included (`total_*`): `rss` is anonymous memory only,
/// `cache` includes shared memory.
#[derive(Default)]
struct Stat {
    rss: u64,
    shmem: u64,
    swap: u64,
    cache: u64,
    inactive_file: u64,
}

impl Stat {
    fn parse(table: &str) -> Self {
        let mut stat = Self::default();
        for line in table.lines() {
            let Some((key, value)) = line.strip_prefix("total_").and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let place = match key {
                "rss" => &mut stat.rss,
                "shmem" => &mut stat.shmem,
                "swap" => &mut stat.swap,
                "cache" => &mut stat.cache,
                "inactive_file" => &mut stat.inactive_file,
                _ => continue,
            };
            *place = number(value).unwrap_or(0);
        }
        stat
    }
}
