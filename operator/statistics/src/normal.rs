//! The standard normal distribution.

use crate::root;
use statrs::function::erf::erfc;
use std::f64::consts::{PI, SQRT_2};

/// Beyond this many standard deviations the tail is below the smallest number.
const FARTHEST: f64 = 38.0;

/// Density at `z`.
pub fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// P(Z ≤ z).
pub fn cdf(z: f64) -> f64 {
    upper_tail(-z)
}

/// P(Z > z), accurate far out.
pub fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// The z that is exceeded with probability `p` (0 < p < 1).
pub fn upper_quantile(p: f64) -> f64 {
    let target = p.clamp(f64::MIN_POSITIVE, 1.0).ln();
    root::between(-FARTHEST, FARTHEST, |z| upper_tail(z).max(f64::MIN_POSITIVE).ln() - target)
}

/// The two-sided p-value of a standardised statistic.
pub fn two_sided_p(z: f64) -> f64 {
    (2.0 * upper_tail(z.abs())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        // statrs' erfc is good for ten digits.
        assert!((upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-10);
        assert!((upper_quantile(0.5)).abs() < 1e-12);
        assert!((upper_tail(6.0) / 9.865_876_450_376_98e-10 - 1.0).abs() < 1e-9);
        assert!((cdf(1.0) - 0.841_344_746_068_542_9).abs() < 1e-10);
    }
}
