//! Pairs as numbers that can be tested: log ratios where they exist, else differences.

use crate::evidence::{Comparison, MetricEvidence, Pair};
use crate::judgement::Scale;
use gaugeblock_statistics::moments::{geometric_mean, mean};

/// The pairs of one metric up to one look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contrast {
    /// Log ratios ([`Scale::Relative`]) or differences in units of `unit` ([`Scale::Absolute`]).
    pub values: Vec<f64>,
    /// The arms' values by themselves: logs, or shares of `unit`.
    pub baseline: Vec<f64>,
    /// As `baseline`.
    pub candidate: Vec<f64>,
    /// What `values` are.
    pub scale: Scale,
    /// δ on the scale of `values`.
    pub threshold: f64,
    /// What a tolerance relative to the baseline is multiplied with; 1 for log ratios.
    pub reference: f64,
    /// Size of one `values` unit, in the metric's unit; 1 for log ratios. Values of any finite
    /// size become differences without overflow.
    pub unit: f64,
}

impl Contrast {
    /// Of these pairs of a metric.
    pub fn of(evidence: &MetricEvidence, pairs: &[Pair]) -> Self {
        let positive = pairs.iter().all(|pair| pair.baseline > 0.0 && pair.candidate > 0.0);
        match evidence.comparison {
            Comparison::Ratio | Comparison::Exact if positive => Self::ratio(evidence, pairs),
            Comparison::Ratio | Comparison::Exact | Comparison::Difference | Comparison::Errors => {
                Self::difference(evidence, pairs)
            }
        }
    }

    fn ratio(evidence: &MetricEvidence, pairs: &[Pair]) -> Self {
        let baseline: Vec<f64> = pairs.iter().map(|pair| pair.baseline.ln()).collect();
        let candidate: Vec<f64> = pairs.iter().map(|pair| pair.candidate.ln()).collect();
        let values = candidate.iter().zip(&baseline).map(|(c, b)| c - b).collect();
        let raw: Vec<f64> = pairs.iter().map(|pair| pair.baseline).collect();
        let absolute = evidence.minimum_effect.absolute.unwrap_or(0.0);
        let of_baseline = geometric_mean(&raw).map_or(0.0, |middle| absolute / middle);
        let share = evidence.minimum_effect.relative.max(of_baseline).clamp(0.0, f64::MAX);
        Self {
            values,
            baseline,
            candidate,
            scale: Scale::Relative,
            threshold: share.ln_1p(),
            reference: 1.0,
            unit: 1.0,
        }
    }

    fn difference(evidence: &MetricEvidence, pairs: &[Pair]) -> Self {
        let largest = pairs.iter().fold(0.0_f64, |most, p| most.max(p.baseline.abs()).max(p.candidate.abs()));
        let unit = if largest == 0.0 { 1.0 } else { largest };
        let baseline: Vec<f64> = pairs.iter().map(|pair| pair.baseline / unit).collect();
        let candidate: Vec<f64> = pairs.iter().map(|pair| pair.candidate / unit).collect();
        let values = candidate.iter().zip(&baseline).map(|(c, b)| c - b).collect();
        let reference = mean(&baseline).abs().max(mean(&candidate).abs());
        let absolute = evidence.minimum_effect.absolute.unwrap_or(0.0) / unit;
        let threshold = (evidence.minimum_effect.relative * reference).max(absolute);
        Self {
            values,
            baseline,
            candidate,
            scale: Scale::Absolute,
            threshold: threshold.clamp(0.0, f64::MAX),
            reference,
            unit,
        }
    }

    /// A margin given as a share of the baseline, on the scale of `values`.
    pub fn margin(&self, tolerance: f64) -> f64 {
        match self.scale {
            Scale::Relative => tolerance.ln_1p(),
            Scale::Absolute => tolerance * self.reference,
        }
    }

    /// A number on the scale of `values` as an effect: ratio − 1, or in the metric's unit.
    pub fn effect(&self, value: f64) -> f64 {
        let effect = match self.scale {
            Scale::Relative => value.exp_m1(),
            Scale::Absolute => value * self.unit,
        };
        effect.clamp(-f64::MAX, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::MinimumEffect;

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        let pair = |(i, (baseline, candidate)): (usize, &(f64, f64))| Pair {
            block: i as u32 + 1,
            baseline: *baseline,
            candidate: *candidate,
        };
        values.iter().enumerate().map(pair).collect()
    }

    #[test]
    fn the_larger_of_the_two_minimum_effects_holds() {
        let effect = MinimumEffect { relative: 0.03, absolute: Some(1024.0) };
        let evidence = MetricEvidence::new("b", "memory_anonymous", "B", effect);
        let small = Contrast::of(&evidence, &pairs(&[(10_240.0, 10_240.0)]));
        assert!((small.threshold - 0.1_f64.ln_1p()).abs() < 1e-12);
        let large = Contrast::of(&evidence, &pairs(&[(1_024_000.0, 1_024_000.0)]));
        assert!((large.threshold - 0.03_f64.ln_1p()).abs() < 1e-12);
    }

    #[test]
    fn a_zero_makes_differences_of_ratios() {
        let evidence = MetricEvidence::new("b", "m", "1", MinimumEffect::relative(0.1));
        let contrast = Contrast::of(&evidence, &pairs(&[(0.0, 4.0), (2.0, 4.0)]));
        assert_eq!(contrast.scale, Scale::Absolute);
        assert!((contrast.effect(contrast.values[0]) - 4.0).abs() < 1e-12);
        assert!((contrast.effect(contrast.threshold) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let evidence = MetricEvidence::new("b", "m", "1", MinimumEffect::absolute(f64::MAX));
        let contrast = Contrast::of(&evidence, &pairs(&[(f64::MAX, -f64::MAX), (1.0, 0.0)]));
        assert!(contrast.values.iter().all(|value| value.is_finite()));
        assert!(contrast.threshold.is_finite());
    }
}
