//! Wilcoxon's signed-rank test, exact, and the interval that belongs to it.
//!
//! Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945); Hodges &
//! Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963).

use crate::correlation::mid_ranks;
use crate::interval::Interval;
use crate::median::median_of_sorted;

/// The test of "symmetric around zero".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// The smaller of the two rank sums.
    pub w: f64,
    /// Exact two-sided p-value (conservative where magnitudes are tied).
    pub p: f64,
}

/// Test a sample of differences; zeros are left out, as Wilcoxon did. None when nothing is left.
pub fn test(differences: &[f64]) -> Option<SignedRank> {
    let sample: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if sample.is_empty() {
        return None;
    }
    let magnitudes: Vec<f64> = sample.iter().map(|d| d.abs()).collect();
    let ranks = mid_ranks(&magnitudes);
    let positive: f64 = ranks.iter().zip(&sample).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
    let w = positive.min(ranks.iter().sum::<f64>() - positive);
    let p = (2.0 * null_cdf(sample.len())[w.floor() as usize]).min(1.0);
    Some(SignedRank { w, p })
}

/// The n (n + 1) / 2 means of two values (each with itself too), ascending.
pub fn walsh_averages(sample: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> =
        sample.iter().enumerate().flat_map(|(i, a)| sample[i..].iter().map(move |b| f64::midpoint(*a, *b))).collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// The Hodges–Lehmann estimate of the centre; none for an empty sample.
pub fn estimate(sample: &[f64]) -> Option<f64> {
    median_of_sorted(&walsh_averages(sample))
}

/// Its exact interval whose two-sided error is at most `p`; none where n is too small for `p`.
pub fn interval(sample: &[f64], p: f64) -> Option<Interval> {
    let averages = walsh_averages(sample);
    let k = null_cdf(sample.len()).iter().filter(|tail| **tail <= p / 2.0).count();
    let low = *averages.get(k.checked_sub(1)?)?;
    Some(Interval { low, high: averages[averages.len() - k] })
}

/// P(W ≤ w) under the null for w = 0 … n (n + 1) / 2, by counting subsets of the ranks.
fn null_cdf(n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for w in (rank..ways.len()).rev() {
            ways[w] += ways[w - rank];
        }
    }
    let all = 2.0_f64.powi(n as i32);
    let mut sum = 0.0;
    ways.iter()
        .map(|count| {
            sum += count;
            sum / all
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_pairs_of_one_sign_are_the_first_to_reach_five_per_cent() {
        assert!((test(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap().p - 0.031_25).abs() < 1e-15);
        assert!(test(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().p > 0.05);
        assert_eq!(interval(&[1.0, 2.0, 3.0], 0.05), None);
    }

    #[test]
    fn zeros_are_left_out() {
        assert_eq!(test(&[0.0, 0.0]), None);
        assert_eq!(test(&[0.0, 1.0, 2.0]), test(&[1.0, 2.0]));
    }
}
