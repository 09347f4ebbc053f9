//! Memory of a tree of processes without a cgroup of its own.
//!
//! `/proc/PID/status` costs 6 to 40 µs and disturbs nobody, but a page that forked workers share counts
//! once for each of them. `smaps_rollup` counts it once, but holds the target's memory map while it
//! walks it (21 ms per GB), so it is read twice only: when the target first answers, and when the windows are
//! over. What the sum counts too much at these moments is taken off the samples between them.

use gaugeblock_measurement::UnixNanos;

use crate::{
    kernel_file::keyed,
    process::{Proc, ProcessId},
};

/// Memory of one or more processes (bytes), from proc_pid_status(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// RssAnon + RssShmem + VmSwap.
    pub anonymous: u64,
    /// VmRSS.
    pub resident: u64,
    /// VmHWM; of several processes, the largest.
    pub highest: u64,
}

impl Memory {
    /// `None` for a process that has let go of its memory (it has ended).
    pub fn parse(status: &str) -> Option<Self> {
        let bytes = |key| keyed(status, key).map(|kib| kib * 1024);
        Some(Self {
            anonymous: bytes("RssAnon")? + bytes("RssShmem")? + bytes("VmSwap").unwrap_or(0),
            resident: bytes("VmRSS")?,
            highest: bytes("VmHWM")?,
        })
    }

    /// Of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            anonymous: self.anonymous + other.anonymous,
            resident: self.resident + other.resident,
            highest: self.highest.max(other.highest),
        }
    }
}

/// How much the sum over processes counts too much, at some moments.
#[derive(Debug, Default)]
pub struct Shared(Vec<(UnixNanos, u64)>);

impl Shared {
    /// Whether it is known.
    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Reads it now; an error where the processes may not be looked at.
    pub fn read(&mut self, proc: &Proc, members: &[ProcessId], at: UnixNanos) -> std::io::Result<()> {
        let mut excess = 0;
        for member in members {
            let rollup = proc.memory_map(*member)?;
            let bytes = |key| keyed(&rollup, key).unwrap_or(0) * 1024;
            let counted = bytes("Anonymous") + bytes("Swap");
            let own = bytes("Pss_Anon") + bytes("SwapPss");
            excess += counted.saturating_sub(own);
            // Shared memory shows in the sum as RssShmem; the map only has its share.
            excess += shared_memory(proc, *member).saturating_sub(bytes("Pss_Shmem"));
        }
        self.0.push((at, excess));
        Ok(())
    }

    /// Takes it off a column of anonymous memory: between two readings in proportion to the time,
    /// outside them as at the nearest.
    pub fn correct(&self, at: &[UnixNanos], anonymous: &mut [u64]) {
        for (at, bytes) in at.iter().zip(anonymous) {
            *bytes = bytes.saturating_sub(self.at(*at));
        }
    }

    fn at(&self, at: UnixNanos) -> u64 {
        let after = self.0.partition_point(|(time, _)| *time <= at);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (Some((start, from)), Some((end, to))) => {
                let share = at.since(start) as f64 / end.since(start).max(1) as f64;
                (from as f64 + (*to as f64 - from as f64) * share) as u64
            }
            (Some((_, only)), None) => only,
            (None, Some((_, only))) => *only,
            (None, None) => 0,
        }
    }
}

fn shared_memory(proc: &Proc, process: ProcessId) -> u64 {
    let status = crate::kernel_file::read_once(&proc.path(process, "status")).unwrap_or_default();
    keyed(&status, "RssShmem").unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_taken_off_in_proportion_to_time() {
        let shared = Shared(vec![(UnixNanos(10), 100), (UnixNanos(20), 200)]);
        let mut bytes = [1000; 4];
        shared.correct(&[UnixNanos(0), UnixNanos(10), UnixNanos(15), UnixNanos(99)], &mut bytes);
        assert_eq!(bytes, [900, 900, 850, 800]);
        let mut bytes = [1000];
        Shared::default().correct(&[UnixNanos(0)], &mut bytes);
        assert_eq!(bytes, [1000]);
    }

    #[test]
    fn a_process_without_memory_has_ended() {
        let status =
            "VmHWM:\t 9 kB\nVmRSS:\t 5 kB\nRssAnon:\t 2 kB\nRssFile:\t 2 kB\nRssShmem:\t 1 kB\nVmSwap:\t 4 kB\n";
        let kib = 1024;
        let expected = Memory { anonymous: 7 * kib, resident: 5 * kib, highest: 9 * kib };
        assert_eq!(Memory::parse(status), Some(expected));
        assert_eq!(Memory::parse("State:\tZ (zombie)\n"), None);
    }
}
