//! Order statistics that a few wild values do not move.

/// What turns the MAD of a normal sample into its standard deviation, 1 / Φ⁻¹(3/4).
/// Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
pub const MAD_TO_SD: f64 = 1.482_602_218_505_602;

/// A sorted copy.
pub fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of the middle two; none for an empty sample.
pub fn median(sample: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(sample))
}

/// The same for values already ascending.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(sorted[n / 2 - 1], upper) })
}

/// The median absolute deviation from the median, not scaled; none for an empty sample.
pub fn median_absolute_deviation(sample: &[f64]) -> Option<f64> {
    let middle = median(sample)?;
    let deviations: Vec<f64> = sample.iter().map(|x| (x - middle).abs()).collect();
    median(&deviations)
}

/// The quantile `q` (0 to 1) by linear interpolation between order statistics
/// (Hyndman & Fan 1996, type 7, the default of NumPy and R); none for an empty sample.
pub fn quantile(sample: &[f64], q: f64) -> Option<f64> {
    let sorted = sorted(sample);
    let position = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.0));
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
        assert_eq!(quantile(&[5.0], 0.99), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
