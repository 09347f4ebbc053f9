//! Two independent samples compared by t: Welch, Student, Yuen.
//!
//! Welch, Biometrika 34 (1947); Yuen, "The two-sample trimmed t for unequal population variances",
//! Biometrika 61 (1974). All results are for y − x.

use crate::interval::Interval;
use crate::median::sorted;
use crate::moments::{mean, variance};
use crate::student_t;

/// A difference of two means with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSampleT {
    /// Mean of y − mean of x.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: f64,
}

impl TwoSampleT {
    /// The statistic; of constant samples 0 or ± ∞.
    pub fn t(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.standard_error }
    }

    /// Two-sided p-value.
    pub fn p(&self) -> f64 {
        student_t::two_sided_p(self.t(), self.degrees_of_freedom)
    }

    /// The interval whose two-sided error is `p`.
    pub fn interval(&self, p: f64) -> Interval {
        if self.standard_error == 0.0 {
            return Interval::around(self.difference, 0.0);
        }
        let t = student_t::two_sided_quantile(p, self.degrees_of_freedom);
        Interval::around(self.difference, t * self.standard_error)
    }
}

/// Welch's test: variances may differ. None for fewer than two values on a side.
pub fn welch(x: &[f64], y: &[f64]) -> Option<TwoSampleT> {
    Some(satterthwaite(&Side::whole(x)?, &Side::whole(y)?))
}

/// Student's test: variances pooled. None for fewer than two values on a side.
pub fn student(x: &[f64], y: &[f64]) -> Option<TwoSampleT> {
    if x.len() < 2 || y.len() < 2 {
        return None;
    }
    let (n, m) = (x.len() as f64, y.len() as f64);
    let degrees_of_freedom = n + m - 2.0;
    let pooled = ((n - 1.0) * variance(x) + (m - 1.0) * variance(y)) / degrees_of_freedom;
    let standard_error = (pooled * (1.0 / n + 1.0 / m)).sqrt();
    Some(TwoSampleT { difference: mean(y) - mean(x), standard_error, degrees_of_freedom })
}

/// Yuen's test: a share `trim` (0 to 0.5) is cut from each end of each side. None where fewer
/// than two values are left on a side.
pub fn yuen(x: &[f64], y: &[f64], trim: f64) -> Option<TwoSampleT> {
    Some(satterthwaite(&Side::trimmed(x, trim)?, &Side::trimmed(y, trim)?))
}

/// One sample's part in an unpooled test.
struct Side {
    centre: f64,
    squared_error: f64,
    degrees_of_freedom: f64,
}

impl Side {
    fn whole(sample: &[f64]) -> Option<Self> {
        Self::trimmed(sample, 0.0)
    }

    fn trimmed(sample: &[f64], trim: f64) -> Option<Self> {
        let n = sample.len();
        let cut = (trim * n as f64).floor() as usize;
        let kept = n.checked_sub(2 * cut).filter(|kept| *kept >= 2)?;
        let mut values = sorted(sample);
        let centre = mean(&values[cut..n - cut]);
        let (low, high) = (values[cut], values[n - cut - 1]);
        for value in &mut values {
            *value = value.clamp(low, high);
        }
        let kept = kept as f64;
        let squared_error = (n as f64 - 1.0) * variance(&values) / (kept * (kept - 1.0));
        Some(Self { centre, squared_error, degrees_of_freedom: kept - 1.0 })
    }
}

/// Degrees of freedom after Satterthwaite, Biometrics Bulletin 2 (1946).
fn satterthwaite(x: &Side, y: &Side) -> TwoSampleT {
    let both = x.squared_error + y.squared_error;
    let split = x.squared_error.powi(2) / x.degrees_of_freedom + y.squared_error.powi(2) / y.degrees_of_freedom;
    let pooled = x.degrees_of_freedom + y.degrees_of_freedom;
    TwoSampleT {
        difference: y.centre - x.centre,
        standard_error: both.sqrt(),
        degrees_of_freedom: if split > 0.0 { both * both / split } else { pooled },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_samples_are_decided_without_a_division() {
        let same = welch(&[2.0; 3], &[2.0; 3]).unwrap();
        assert!((same.p() - 1.0).abs() < f64::EPSILON);
        let other = student(&[2.0; 3], &[3.0; 3]).unwrap();
        assert!(other.p() == 0.0 && other.interval(0.05) == Interval { low: 1.0, high: 1.0 });
    }
}
