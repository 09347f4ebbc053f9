//! Burns an exact amount of CPU time.
//!
//! No calibration: the thread's own CPU clock is read until it has advanced far enough, so the amount holds
//! under contention, throttling and changes of frequency. What one burn overshoots the next one burns less.

use std::hint::black_box;

use crate::clock;

/// Steps of arithmetic between two readings of the clock, a fraction of a microsecond: reading the thread's
/// clock is a system call, and a loop of system calls alone would be no ordinary work.
const STEPS: u32 = 256;

/// Burns CPU time for one thread.
#[derive(Debug, Default)]
pub struct Burner {
    overshoot_ns: u64,
    state: u64,
}

impl Burner {
    /// Burns `wanted_ns` of the calling thread's CPU time; exact over many calls.
    pub fn burn(&mut self, wanted_ns: u64) {
        if wanted_ns <= self.overshoot_ns {
            self.overshoot_ns -= wanted_ns;
            return;
        }
        let end = clock::thread_cpu() + wanted_ns - self.overshoot_ns;
        loop {
            for _ in 0..STEPS {
                self.state = black_box(self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
            let now = clock::thread_cpu();
            if now >= end {
                self.overshoot_ns = now - end;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_burns_add_up() {
        let mut burner = Burner::default();
        let start = clock::thread_cpu();
        for _ in 0..1_000 {
            burner.burn(20_000);
        }
        let burnt = clock::thread_cpu() - start;
        assert!((20_000_000..20_600_000).contains(&burnt), "{burnt} ns for 20 ms");
    }
}
