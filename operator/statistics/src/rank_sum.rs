//! The Mann–Whitney test, exact and approximate, with the shift and interval that belong to it.
//!
//! Mann & Whitney, Ann. Math. Stat. 18 (1947); Hodges & Lehmann, Ann. Math. Stat. 34 (1963); Cliff,
//! "Dominance statistics", Psychol. Bull. 114 (1993). All results are for y against x.

use crate::correlation::mid_ranks;
use crate::interval::Interval;
use crate::median::median_of_sorted;
use crate::normal;

/// A rank-sum test's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSum {
    /// How many of the n m pairs have y above x, ties counting half.
    pub u: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// U of y: pairs in which y is above x, ties counting half.
pub fn u(x: &[f64], y: &[f64]) -> f64 {
    let wins = |b: &f64| {
        x.iter()
            .map(|a| {
                if a < b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
            .sum::<f64>()
    };
    y.iter().map(wins).sum()
}

/// With the exact null distribution of untied samples (conservative under ties).
pub fn exact(x: &[f64], y: &[f64]) -> RankSum {
    let u = u(x, y);
    let all = (x.len() * y.len()) as f64;
    let cdf = null_cdf(x.len(), y.len());
    let p = (2.0 * cdf[u.min(all - u).floor() as usize]).min(1.0);
    RankSum { u, p }
}

/// With the normal approximation, corrected for ties and continuity, as SciPy's and R's.
pub fn asymptotic(x: &[f64], y: &[f64]) -> RankSum {
    let u = u(x, y);
    let (n, m) = (x.len() as f64, y.len() as f64);
    let total = n + m;
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let spread = (n * m / 12.0) * ((total + 1.0) - tie_term(&pooled) / (total * (total - 1.0)));
    let distance = (u.max(n * m - u) - n * m / 2.0 - 0.5) / spread.sqrt();
    let p = if spread > 0.0 { (2.0 * normal::upper_tail(distance)).min(1.0) } else { 1.0 };
    RankSum { u, p }
}

/// Σ (t³ − t) over groups of tied values.
fn tie_term(sample: &[f64]) -> f64 {
    // A value's mid-rank is shared by exactly its group.
    let mut ranks = mid_ranks(sample);
    ranks.sort_by(f64::total_cmp);
    ranks.chunk_by(|a, b| a == b).map(|group| group.len() as f64).map(|t| t * t * t - t).sum()
}

/// The n m differences y − x, ascending.
fn differences(x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// The Hodges–Lehmann shift: the median of all differences y − x; none for an empty side.
pub fn shift(x: &[f64], y: &[f64]) -> Option<f64> {
    median_of_sorted(&differences(x, y))
}

/// Its exact interval whose two-sided error is at most `p`; none where the samples are too small.
pub fn shift_interval(x: &[f64], y: &[f64], p: f64) -> Option<Interval> {
    let differences = differences(x, y);
    let k = null_cdf(x.len(), y.len()).iter().filter(|tail| **tail <= p / 2.0).count();
    let low = *differences.get(k.checked_sub(1)?)?;
    Some(Interval { low, high: differences[differences.len() - k] })
}

/// Cliff's δ, −1 to 1: how much more often y is above x than below.
pub fn cliffs_delta(x: &[f64], y: &[f64]) -> f64 {
    let all = (x.len() * y.len()) as f64;
    if all == 0.0 { 0.0 } else { 2.0 * u(x, y) / all - 1.0 }
}

/// P(U ≤ u) under the null for u = 0 … n m, by counting which ranks the n values hold.
fn null_cdf(n: usize, m: usize) -> Vec<f64> {
    // ways[j][u]: j values placed, u of the others below them so far.
    let (n, m) = (n.min(m), n.max(m));
    let mut ways = vec![vec![0.0; n * m + 1]; n + 1];
    ways[0][0] = 1.0;
    for below in 0..=m {
        for j in 1..=n {
            for u in below..=n * m {
                let extra = ways[j - 1][u - below];
                ways[j][u] += extra;
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    let mut sum = 0.0;
    ways[n]
        .iter()
        .map(|count| {
            sum += count;
            (sum / all).min(1.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_counts_every_arrangement_once() {
        // Four against four: 1, 1, 2, 3, 5 of 70.
        let cdf = null_cdf(4, 4);
        for (u, count) in [1.0, 2.0, 4.0, 7.0, 12.0].into_iter().enumerate() {
            assert!((cdf[u] - count / 70.0).abs() < 1e-15);
        }
        assert!((cdf[16] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn four_against_four_cannot_reach_one_per_cent() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0]);
        assert!(exact(&x, &y).p > 0.01);
        assert_eq!(shift_interval(&x, &y, 0.01), None);
        assert!(shift_interval(&x, &y, 0.05).is_some());
    }

    #[test]
    fn all_values_equal_are_no_difference() {
        assert!((asymptotic(&[1.0; 3], &[1.0; 3]).p - 1.0).abs() < f64::EPSILON);
    }
}
