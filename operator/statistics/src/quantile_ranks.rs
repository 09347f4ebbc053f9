//! Which order statistics bracket a quantile, whatever the distribution.
//!
//! David & Nagaraja, "Order statistics" (2003), section 7.1. For independent values only: the
//! requests inside a trial are not.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Ranks (from 1) of the order statistics that bracket a quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileRanks {
    /// Of the lower end; none where the sample does not reach that far.
    pub lower: Option<u64>,
    /// Of the upper end; none where the sample does not reach that far.
    pub upper: Option<u64>,
    /// The probability that the bracket really has.
    pub coverage: f64,
}

/// The bracket of quantile `q` in a sample of `n` at confidence `level`; none for `q` outside 0…1.
pub fn quantile_ci_ranks(n: u64, q: f64, level: f64) -> Option<QuantileRanks> {
    let below = Binomial::new(q, n).ok()?;
    let tail = (1.0 - level) / 2.0;
    let low = smallest_with(&below, n, tail);
    let high = smallest_with(&below, n, 1.0 - tail) + 1;
    Some(QuantileRanks {
        lower: (low >= 1).then_some(low),
        upper: (high <= n).then_some(high),
        coverage: below.cdf(high - 1) - if low == 0 { 0.0 } else { below.cdf(low - 1) },
    })
}

/// The smallest k with P(X ≤ k) ≥ `p`, by bisection.
fn smallest_with(below: &Binomial, n: u64, p: f64) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if below.cdf(middle) >= p {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
