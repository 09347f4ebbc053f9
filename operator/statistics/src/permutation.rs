//! The exact permutation test of a difference of means.
//!
//! Pitman, "Significance tests which may be applied to samples from any populations",
//! Suppl. JRSS 4 (1937).

use crate::moments::mean;

/// Beyond this many arrangements, counting them all is no longer worth it.
pub const MOST_ARRANGEMENTS: f64 = 2e6;

/// Rounding may not turn a tie into a loss.
const TIE: f64 = 1e-11;

/// How many arrangements are at least as extreme as the observed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// Arrangements whose means are at least as far apart.
    pub count: u64,
    /// All arrangements, n + m over n.
    pub total: u64,
}

impl Permutation {
    /// Two-sided p-value.
    pub fn p(&self) -> f64 {
        self.count as f64 / self.total as f64
    }
}

/// Test by full enumeration; none for an empty side or more than [`MOST_ARRANGEMENTS`].
pub fn mean_difference(x: &[f64], y: &[f64]) -> Option<Permutation> {
    let (n, m) = (x.len(), y.len());
    let arrangements: f64 = (1..=n).map(|i| (m + i) as f64 / i as f64).product();
    if n == 0 || m == 0 || arrangements > MOST_ARRANGEMENTS {
        return None;
    }
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let middle = mean(&pooled);
    let centred: Vec<f64> = pooled.iter().map(|z| z - middle).collect();
    let scale = centred.iter().fold(f64::MIN_POSITIVE, |most, z| most.max(z.abs()));
    // With the pooled mean at zero, the sum over x alone tells how far apart the means are.
    let observed = centred[..n].iter().sum::<f64>().abs() - TIE * scale;
    let mut counter = Counter { values: &centred, observed, count: 0, total: 0 };
    counter.choose(0, n, 0.0);
    Some(Permutation { count: counter.count, total: counter.total })
}

struct Counter<'a> {
    values: &'a [f64],
    observed: f64,
    count: u64,
    total: u64,
}

impl Counter<'_> {
    /// Choose `left` more values from `start` on.
    fn choose(&mut self, start: usize, left: usize, sum: f64) {
        if left == 0 {
            self.total += 1;
            self.count += u64::from(sum.abs() >= self.observed);
            return;
        }
        for i in start..=self.values.len() - left {
            self.choose(i + 1, left - 1, sum + self.values[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_samples_leave_two_arrangements() {
        let found = mean_difference(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]);
        assert_eq!(found, Some(Permutation { count: 2, total: 20 }));
    }
}
