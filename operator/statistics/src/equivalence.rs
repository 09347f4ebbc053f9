//! Two one-sided tests: shown to differ by less than a margin.
//!
//! Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
//! J. Pharmacokinet. Biopharm. 15 (1987).

use crate::one_sample_t::OneSampleT;
use crate::student_t;

/// The p-value against "the mean lies outside ± `margin`": the larger of the two one-sided ones.
pub fn p(sample: &OneSampleT, margin: f64) -> f64 {
    let df = sample.degrees_of_freedom;
    let above_low = student_t::upper_tail(sample.t(-margin), df);
    let below_high = student_t::upper_tail(-sample.t(margin), df);
    if sample.standard_error == 0.0 {
        return if sample.estimate.abs() <= margin { 0.0 } else { 1.0 };
    }
    above_low.max(below_high)
}

/// Whether both one-sided tests at `alpha` reject: the interval of level 1 − 2 alpha lies within.
pub fn shown(sample: &OneSampleT, margin: f64, alpha: f64) -> bool {
    sample.interval(2.0 * alpha).within(margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_and_the_interval_agree() {
        let t = OneSampleT::of(&[0.001, -0.004, 0.003, 0.0, 0.002]).unwrap();
        let p = p(&t, 0.005);
        assert!(shown(&t, 0.005, p * 1.000_001));
        assert!(!shown(&t, 0.005, p * 0.999_999));
    }

    #[test]
    fn identical_samples_are_equivalent_at_any_margin() {
        let t = OneSampleT::of(&[0.0; 4]).unwrap();
        assert!(shown(&t, 0.0, 0.001) && p(&t, 0.0) == 0.0);
    }
}
