//! One arm's values, summed up.

use crate::judgement::ArmSummary;
use gaugeblock_statistics::{median, moments};

/// Of an arm's trials; none for an empty one.
pub(crate) fn summary(values: &[f64]) -> Option<ArmSummary> {
    let median = median::median(values)?;
    let mean = moments::mean(values);
    let standard_deviation = moments::standard_deviation(values).min(f64::MAX);
    let variation = (standard_deviation / mean.abs()).min(f64::MAX);
    Some(ArmSummary {
        n: values.len() as u32,
        mean,
        geometric_mean: moments::geometric_mean(values),
        median,
        standard_deviation,
        coefficient_of_variation: (mean != 0.0).then_some(variation),
    })
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn one_trial_has_no_spread_and_none_no_summary() {
        let one = summary(&[2.0]).unwrap();
        assert!(one.standard_deviation == 0.0 && one.geometric_mean == Some(2.0));
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn a_mean_of_zero_has_no_coefficient_of_variation() {
        assert_eq!(summary(&[0.0, 0.0]).unwrap().coefficient_of_variation, None);
    }
}
