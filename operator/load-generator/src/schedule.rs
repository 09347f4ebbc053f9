//! When the requests of an open workload are intended to be sent.
//!
//! An open workload's arrivals do not wait for answers (Schroeder, Wierman, Harchol-Balter: "Open
//! versus closed: a cautionary tale", NSDI 2006). Nothing is queued: a request that cannot be sent
//! in time simply stays the next one, with the time it was intended for.

use gaugeblock_measurement::generator::Arrivals;

use crate::{clock::SECOND, random::Random};

/// The arrivals of one worker, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    next: u64,
    gaps: Gaps,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// A gap of `whole` ns and `part`/`rate` of another, kept exactly.
    Constant { whole: u64, part: u64, rest: u64, rate: u64 },
    /// Exponential gaps of this mean (ns).
    Poisson { mean: f64, origin: u64, offset: f64, random: Random },
}

/// Thousandths of a nanosecond-rate: `rate_millis` counts thousandths of a request per second.
const SCALE: u128 = SECOND as u128 * 1_000;

impl Schedule {
    /// The share of worker `worker` of `workers` of a rate in thousandths of a request per second,
    /// from the monotonic time `start` (ns) on. With constant gaps the workers' shares interleave,
    /// so that all together arrive at equal gaps; with Poisson arrivals each worker has its own
    /// process, whose sum is the process asked for.
    pub fn new(start: u64, rate_millis: u64, arrivals: Arrivals, worker: u32, workers: u32, random: Random) -> Self {
        let rate = u128::from(rate_millis.max(1));
        let workers = u128::from(workers.max(1));
        match arrivals {
            Arrivals::Constant => {
                let first = SCALE * u128::from(worker);
                let gap = SCALE * workers;
                Self {
                    next: start + (first / rate) as u64,
                    gaps: Gaps::Constant {
                        whole: (gap / rate) as u64,
                        part: (gap % rate) as u64,
                        rest: (first % rate) as u64,
                        rate: rate as u64,
                    },
                }
            }
            Arrivals::Poisson => {
                let mut schedule = Self {
                    next: start,
                    gaps: Gaps::Poisson {
                        mean: SCALE as f64 * workers as f64 / rate as f64,
                        origin: start,
                        offset: 0.0,
                        random,
                    },
                };
                schedule.advance();
                schedule
            }
        }
    }

    /// When the next request is intended to be sent (monotonic ns).
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Moves on to the request after it.
    pub fn advance(&mut self) {
        match &mut self.gaps {
            Gaps::Constant { whole, part, rest, rate } => {
                self.next += *whole;
                *rest += *part;
                if *rest >= *rate {
                    *rest -= *rate;
                    self.next += 1;
                }
            }
            Gaps::Poisson { mean, origin, offset, random } => {
                // Inverse of the exponential distribution; the sum stays below 2^53 ns.
                *offset -= *mean * random.unit().ln();
                self.next = *origin + *offset as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn arrivals(kind: Arrivals, rate_millis: u64, workers: u32, until: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for worker in 0..workers {
            let random = Random::new(3, 0, worker.into(), Stream::Arrivals);
            let mut schedule = Schedule::new(1_000, rate_millis, kind, worker, workers, random);
            while schedule.next() < 1_000 + until {
                all.push(schedule.next() - 1_000);
                schedule.advance();
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn constant_arrivals_are_exact_however_many_workers_share_them() {
        // 3 requests per second: gaps of a third of a second, without drift over a day.
        for workers in [1, 2, 7] {
            let all = arrivals(Arrivals::Constant, 3_000, workers, 86_400 * SECOND);
            assert_eq!(all.len(), 3 * 86_400);
            for (index, at) in all.iter().enumerate() {
                assert_eq!(*at, index as u64 * SECOND / 3);
            }
        }
    }

    #[test]
    fn poisson_arrivals_have_the_asked_rate_and_exponential_gaps() {
        for workers in [1, 3] {
            let all = arrivals(Arrivals::Poisson, 1_000_000, workers, 100 * SECOND);
            let gaps: Vec<f64> = all.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // 100,000 expected arrivals: five standard deviations are 1.6 %.
            assert!((all.len() as f64 / 100_000.0 - 1.0).abs() < 0.016, "{}", all.len());
            assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "CV of the gaps");
        }
    }
}
