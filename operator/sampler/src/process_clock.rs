//! The CPU clock of another process: exact nanoseconds over all its threads, ended ones included.

use crate::process::ProcessId;

/// CPU time that a process has used (ns); `None` when there is no such process.
///
/// `clock_getcpuclockid(3)` makes the number of this clock from the process's:
/// `CPUCLOCK_SCHED` (2) for a process (`include/linux/posix-timers.h`, `make_process_cpuclock`). Any
/// process may read any other's. Ticks of `/proc/PID/stat` are off by 5 to 35 % of a tenth of a second.
#[allow(unsafe_code)]
pub fn cpu_time(process: ProcessId) -> Option<u64> {
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    /// `PID_MAX_LIMIT` of `include/linux/threads.h`; the clock's number has no room for more, and 0
    /// would be this process.
    const PID_LIMIT: ProcessId = 4 << 20;
    if !(1..PID_LIMIT).contains(&process) {
        return None;
    }
    let clock: libc::clockid_t = (!process << 3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for a timespec; the kernel checks the clock's number.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_process_runs() {
        let own = std::process::id() as ProcessId;
        let before = cpu_time(own).unwrap();
        let mut sum = 0u64;
        while cpu_time(own).unwrap() < before + 5_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        assert_eq!(cpu_time(0), None);
    }
}
