//! How closely two samples go together.

use crate::moments::{mean, standard_deviation};

/// Ranks from 1, ties sharing the mean of their ranks.
pub fn mid_ranks(sample: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.sort_by(|i, j| sample[*i].total_cmp(&sample[*j]));
    let mut ranks = vec![0.0; sample.len()];
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..].iter().take_while(|i| sample[**i] == sample[order[start]]).count();
        for i in &order[start..start + tied] {
            ranks[*i] = start as f64 + f64::midpoint(tied as f64, 1.0);
        }
        start += tied;
    }
    ranks
}

/// Pearson's correlation, −1 to 1; none for fewer than two pairs or a constant side.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let (sx, sy) = (standard_deviation(x), standard_deviation(y));
    if n < 2 || sx == 0.0 || sy == 0.0 {
        return None;
    }
    let (mx, my) = (mean(x), mean(y));
    let sum: f64 = x.iter().zip(y).map(|(a, b)| (a - mx) / sx * ((b - my) / sy)).sum();
    Some((sum / (n - 1) as f64).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation, −1 to 1; none for fewer than two pairs or a constant side.
/// Spearman, "The proof and measurement of association between two things" (1904).
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len().min(y.len());
    pearson(&mid_ranks(&x[..n]), &mid_ranks(&y[..n]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(mid_ranks(&[10.0, 20.0, 10.0, 5.0]), [2.5, 4.0, 2.5, 1.0]);
    }

    #[test]
    fn rank_correlation_sees_any_monotone_relation() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(spearman(&x, &[1.0, 8.0, 27.0, 64.0, 125.0]), Some(1.0));
        // scipy.stats.spearmanr
        let rho = spearman(&x, &[5.0, 6.0, 7.0, 8.0, 7.0]).unwrap();
        assert!((rho - 0.820_782_681_668_123_3).abs() < 1e-12);
    }

    #[test]
    fn a_constant_side_has_none() {
        assert_eq!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(pearson(&[1.0], &[2.0]), None);
    }
}
