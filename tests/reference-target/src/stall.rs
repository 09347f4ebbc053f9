//! Stalls: times in which the service serves nothing at all, at a fixed length and period.

use std::time::Duration;

use crate::clock;

/// The stalls of one process, in nanoseconds of the monotonic clock:
/// `[start + k × period, start + k × period + length)` for k ≥ 1.
#[derive(Debug, Clone, Copy)]
pub struct Stall {
    start: u64,
    length: u64,
    period: u64,
}

impl Stall {
    /// Stalls counted from `start`; none when either length or period is zero.
    pub fn new(start: u64, length: u64, period: u64) -> Option<Self> {
        (length > 0 && period > 0).then_some(Self { start, length, period })
    }

    /// Sleeps until the stall that holds now has ended. A stall as long as its period never ends.
    pub fn wait(self) {
        while let Some(left) = self.left(clock::monotonic()) {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }

    /// Nanoseconds left of the stall that holds `now_ns`.
    fn left(self, now_ns: u64) -> Option<u64> {
        let since = now_ns.checked_sub(self.start)?;
        let within = since % self.period;
        (since >= self.period && within < self.length).then(|| self.length - within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stall_begins_one_period_after_the_start() {
        let stall = Stall::new(1_000, 10, 100).unwrap();
        assert_eq!(stall.left(999), None);
        assert_eq!(stall.left(1_005), None);
        assert_eq!(stall.left(1_099), None);
        assert_eq!(stall.left(1_100), Some(10));
        assert_eq!(stall.left(1_109), Some(1));
        assert_eq!(stall.left(1_110), None);
        assert_eq!(stall.left(1_203), Some(7));
    }

    #[test]
    fn without_length_or_period_nothing_stalls() {
        assert!(Stall::new(0, 0, 100).is_none());
        assert!(Stall::new(0, 5, 0).is_none());
    }
}
