//! The clocks: monotonic nanoseconds for measuring, the wall clock for joining records.

use gaugeblock_measurement::UnixNanos;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// The wall clock.
pub fn wall() -> UnixNanos {
    UnixNanos(nanos(clock_gettime(ClockId::Realtime)) as i64)
}

/// Time that the calling thread was runnable and had no CPU, in nanoseconds; `None` where the
/// kernel keeps no schedstat.
pub fn thread_run_wait() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A duration of the kernel's.
pub fn timespec(nanos: u64) -> Timespec {
    Timespec { tv_sec: (nanos / SECOND) as i64, tv_nsec: (nanos % SECOND) as _ }
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Translates monotonic times to the wall clock, by one reading of both.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    offset: i64,
}

impl WallClock {
    /// Reads both clocks. The wall reading stands between two monotonic ones, so the error is at
    /// most half the time between those.
    pub fn read() -> Self {
        let before = monotonic();
        let wall = wall();
        let after = monotonic();
        Self { offset: wall.0 - (before + (after - before) / 2) as i64 }
    }

    /// The wall clock time of a monotonic one.
    pub fn at(self, monotonic: u64) -> UnixNanos {
        UnixNanos(self.offset + monotonic as i64)
    }
}
