//! Student's t on one sample: the paired test, its differences or log ratios being the sample.
//!
//! Student, "The probable error of a mean", Biometrika 6 (1908); moderated: Smyth, "Linear models
//! and empirical Bayes methods", Stat. Appl. Genet. Mol. Biol. 3 (2004).

use crate::interval::Interval;
use crate::moments::{mean, standard_deviation};
use crate::{f_distribution, student_t};

/// The share of samples of the history's noise that pass the guard (`analysis.md`).
const GUARD_QUANTILE: f64 = 0.75;

/// Below one degree of freedom the guard's quantile explodes; `policy_verdicts.json` floors there.
const FEWEST_GUARD_DF: f64 = 1.0;

/// A mean with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneSampleT {
    /// The sample's mean.
    pub estimate: f64,
    /// The standard deviation that the test uses, n − 1; moderated where a prior was used.
    pub standard_deviation: f64,
    /// That, divided by √n.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: f64,
    /// Size of the sample.
    pub n: usize,
}

/// What a history says about the variance of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariancePrior {
    /// s0², in the squared unit of the sample.
    pub variance: f64,
    /// d0, how many degrees of freedom it is worth.
    pub degrees_of_freedom: f64,
}

/// What became of a prior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moderation {
    /// The sample's variance was drawn towards the prior's.
    Used,
    /// The sample is noisier than the history makes likely: the prior was dropped.
    Dropped,
}

impl OneSampleT {
    /// From the sample alone; none for fewer than two values.
    pub fn of(sample: &[f64]) -> Option<Self> {
        let n = sample.len();
        if n < 2 {
            return None;
        }
        Some(Self::new(mean(sample), standard_deviation(sample), (n - 1) as f64, n))
    }

    /// With the variance drawn towards a prior, unless the guard drops it:
    /// s² / s0² > F.75(n − 1, d0). None for fewer than two values.
    pub fn moderated(sample: &[f64], prior: VariancePrior) -> Option<(Self, Moderation)> {
        let plain = Self::of(sample)?;
        let VariancePrior { variance: s0, degrees_of_freedom: d0 } = prior;
        if s0 <= 0.0 || d0 <= 0.0 || guard_exceeded(&plain, prior) {
            return Some((plain, Moderation::Dropped));
        }
        let df = plain.degrees_of_freedom;
        let moderated = (d0 * s0 + df * plain.standard_deviation.powi(2)) / (d0 + df);
        Some((Self::new(plain.estimate, moderated.sqrt(), d0 + df, plain.n), Moderation::Used))
    }

    fn new(estimate: f64, standard_deviation: f64, degrees_of_freedom: f64, n: usize) -> Self {
        let standard_error = standard_deviation / (n as f64).sqrt();
        Self { estimate, standard_deviation, standard_error, degrees_of_freedom, n }
    }

    /// The statistic against a mean of `null`; of a constant sample 0 or ± ∞.
    pub fn t(&self, null: f64) -> f64 {
        let distance = self.estimate - null;
        if distance == 0.0 { 0.0 } else { distance / self.standard_error }
    }

    /// Two-sided p-value against a mean of zero.
    pub fn p(&self) -> f64 {
        student_t::two_sided_p(self.t(0.0), self.degrees_of_freedom)
    }

    /// The interval whose two-sided error is `p`.
    pub fn interval(&self, p: f64) -> Interval {
        if self.standard_error == 0.0 {
            return Interval::around(self.estimate, 0.0);
        }
        let t = student_t::two_sided_quantile(p, self.degrees_of_freedom);
        let half_width = (t * self.standard_error).min(f64::MAX);
        let Interval { low, high } = Interval::around(self.estimate, half_width);
        Interval { low: low.max(-f64::MAX), high: high.min(f64::MAX) }
    }
}

/// Whether the sample's variance is larger than the prior makes likely.
fn guard_exceeded(plain: &OneSampleT, prior: VariancePrior) -> bool {
    let ratio = plain.standard_deviation.powi(2) / prior.variance;
    let denominator = prior.degrees_of_freedom.max(FEWEST_GUARD_DF);
    ratio > f_distribution::quantile(GUARD_QUANTILE, plain.degrees_of_freedom, denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_sample_has_a_zero_width_interval_and_a_certain_p() {
        let away = OneSampleT::of(&[0.25; 4]).unwrap();
        assert_eq!(away.interval(0.01), Interval { low: 0.25, high: 0.25 });
        assert!(away.p() == 0.0);
        let zero = OneSampleT::of(&[0.0; 4]).unwrap();
        assert!((zero.p() - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn one_value_has_no_spread_to_judge_by() {
        assert_eq!(OneSampleT::of(&[1.0]), None);
    }
}
