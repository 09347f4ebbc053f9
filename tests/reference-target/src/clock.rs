//! Readings of the kernel's clocks, all in nanoseconds, and when this process started.

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Kernel ticks per second as `/proc` reports them: `USER_HZ`, 100 on every architecture that Rust's
/// static glibc target supports (proc(5), field `starttime`).
const USER_HZ: u64 = 100;

/// One moment on the two clocks that other programs can compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, since the epoch.
    pub wall_ns: u64,
}

impl Moment {
    /// The present moment.
    pub fn now() -> Self {
        Self { monotonic_ns: monotonic(), wall_ns: read(ClockId::Realtime) }
    }

    /// The moment `nanoseconds` later.
    pub fn after(self, nanoseconds: u64) -> Self {
        Self { monotonic_ns: self.monotonic_ns + nanoseconds, wall_ns: self.wall_ns + nanoseconds }
    }
}

/// `CLOCK_MONOTONIC`.
pub fn monotonic() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// CPU time of the whole process, threads that ended included.
pub fn process_cpu() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// When the kernel started this process, to its tick of 10 ms; `None` when `/proc` is not readable.
pub fn process_start() -> Option<Moment> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = start_ticks(&stat)?;
    let age = read(ClockId::Boottime).checked_sub(ticks * (1_000_000_000 / USER_HZ))?;
    let now = Moment::now();
    Some(Moment { monotonic_ns: now.monotonic_ns.saturating_sub(age), wall_ns: now.wall_ns.checked_sub(age)? })
}

/// Field 22 of `/proc/PID/stat`; the command in field 2 may hold spaces and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_a_hostile_command_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 4242 99 1 18446744073709551615";
        assert_eq!(start_ticks(stat), Some(4242));
    }

    #[test]
    fn this_process_started_a_moment_ago() {
        let start = process_start().unwrap();
        let age = monotonic() - start.monotonic_ns;
        assert!(age < 60_000_000_000, "{age} ns");
    }
}
