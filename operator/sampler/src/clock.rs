//! The three clocks that a sampler reads: wall clock for stamps, monotonic for its schedule, boot
//! time for what the kernel says of a process's start.

use gaugeblock_measurement::UnixNanos;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of one tick of `/proc/PID/stat` and `/proc/stat`. `USER_HZ` is 100 on every
/// architecture that the measuring image is built for (`include/asm-generic/param.h`), whatever the
/// kernel's own `CONFIG_HZ`.
pub const TICK: u64 = 10_000_000;

/// One millisecond (ns).
pub const MILLISECOND: u64 = 1_000_000;
/// One second (ns).
pub const SECOND: u64 = 1_000_000_000;

fn nanos(id: ClockId) -> i64 {
    let time = clock_gettime(id);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The wall clock, by which the windows of generator and sampler are joined.
pub fn now() -> UnixNanos {
    UnixNanos(nanos(ClockId::Realtime))
}

/// The monotonic clock (ns), for schedules only.
pub fn monotonic() -> u64 {
    nanos(ClockId::Monotonic).max(0) as u64
}

/// Wall clock at a moment given since boot (ns).
///
/// The two clocks are read back to back three times; the pair read quickest is used, so that a
/// preemption between the readings does not become an error.
pub fn at_boot_time(since_boot: u64) -> UnixNanos {
    let offset = (0..3)
        .map(|_| {
            let before = nanos(ClockId::Boottime);
            let wall = nanos(ClockId::Realtime);
            let after = nanos(ClockId::Boottime);
            (after - before, wall - i64::midpoint(before, after))
        })
        .min()
        .map_or(0, |(_, offset)| offset);
    UnixNanos(offset.saturating_add_unsigned(since_boot))
}

/// A moment moved by some nanoseconds into the past.
pub fn before(at: UnixNanos, nanos: u64) -> UnixNanos {
    UnixNanos(at.0.saturating_sub_unsigned(nanos))
}

/// A moment moved by some nanoseconds into the future.
pub fn after(at: UnixNanos, nanos: u64) -> UnixNanos {
    UnixNanos(at.0.saturating_add_unsigned(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_time_is_the_wall_clock_of_now() {
        let since_boot = nanos(ClockId::Boottime) as u64;
        assert!((at_boot_time(since_boot).since(now())).abs() < 100 * MILLISECOND as i64);
    }
}
