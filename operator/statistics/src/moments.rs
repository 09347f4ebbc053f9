//! Mean and spread, without overflow and without rounding a constant sample into a varying one.

/// Values beyond this are made smaller before they are added up; a power of two loses nothing.
const HUGE: f64 = 1e280;
const SMALLER: f64 = 1.0 / (1_u64 << 60) as f64;

/// Arithmetic mean; zero for an empty sample.
pub fn mean(sample: &[f64]) -> f64 {
    let Some(Centred { origin, deviations, factor }) = Centred::of(sample) else {
        return 0.0;
    };
    (origin + deviations.iter().sum::<f64>() / deviations.len() as f64) / factor
}

/// Standard deviation with n − 1; zero for fewer than two values and for equal ones.
pub fn standard_deviation(sample: &[f64]) -> f64 {
    let Some(Centred { deviations, factor, .. }) = Centred::of(sample) else {
        return 0.0;
    };
    let scale = largest(&deviations);
    if scale == 0.0 || sample.len() < 2 {
        return 0.0;
    }
    let n = deviations.len() as f64;
    let middle = deviations.iter().map(|d| d / scale).sum::<f64>() / n;
    let squares: f64 = deviations.iter().map(|d| (d / scale - middle).powi(2)).sum();
    (scale / factor * (squares / (n - 1.0)).sqrt()).min(f64::MAX)
}

/// A sample as distances from its first value: exact for equal values, and for close ones far
/// from zero.
struct Centred {
    origin: f64,
    deviations: Vec<f64>,
    factor: f64,
}

impl Centred {
    fn of(sample: &[f64]) -> Option<Self> {
        let factor = if largest(sample) > HUGE { SMALLER } else { 1.0 };
        let origin = factor * sample.first()?;
        let deviations = sample.iter().map(|x| factor * x - origin).collect();
        Some(Self { origin, deviations, factor })
    }
}

/// Variance with n − 1; zero for fewer than two values and for equal ones, infinite where the
/// square of the standard deviation is.
pub fn variance(sample: &[f64]) -> f64 {
    standard_deviation(sample).powi(2)
}

/// Geometric mean; none unless every value is positive.
pub fn geometric_mean(sample: &[f64]) -> Option<f64> {
    if sample.is_empty() || sample.iter().any(|x| *x <= 0.0) {
        return None;
    }
    if sample.iter().all(|x| *x == sample[0]) {
        return Some(sample[0]);
    }
    let logs: Vec<f64> = sample.iter().map(|x| x.ln()).collect();
    Some(mean(&logs).exp())
}

/// The largest magnitude.
fn largest(sample: &[f64]) -> f64 {
    sample.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_constant_sample_are_exact() {
        let sample = [0.1; 7];
        assert!((mean(&sample) - 0.1).abs() < 1e-17);
        assert!(standard_deviation(&sample) == 0.0);
        assert_eq!(geometric_mean(&sample), Some(0.1));
    }

    #[test]
    fn of_huge_and_tiny_values_are_finite() {
        assert!((mean(&[f64::MAX, f64::MAX]) / f64::MAX - 1.0).abs() < 1e-15);
        assert!(standard_deviation(&[f64::MAX, -f64::MAX, 0.0]).is_finite());
        assert!(standard_deviation(&[1e-200, 2e-200, 3e-200]) > 0.9e-200);
    }

    #[test]
    fn of_nothing_are_zero() {
        assert!(mean(&[]) == 0.0 && standard_deviation(&[]) == 0.0 && standard_deviation(&[3.0]) == 0.0);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }
}
