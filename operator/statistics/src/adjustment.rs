//! p-values of many questions asked at once.

/// Holm's step-down: controls the chance of any false rejection. Results in the input's order.
/// Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6 (1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, i) in order.into_iter().enumerate() {
        largest = largest.max(p[i] * (p.len() - rank) as f64);
        adjusted[i] = largest.min(1.0);
    }
    adjusted
}

/// Benjamini and Hochberg's step-up: controls the share of false ones among the rejections.
/// Results in the input's order. Benjamini & Hochberg, JRSS B 57 (1995).
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, i) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p[i] * (p.len() as f64 / (rank + 1) as f64));
        adjusted[i] = smallest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|i, j| p[*i].total_cmp(&p[*j]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-12, "{found:?} ≠ {expected:?}");
        }
    }

    #[test]
    fn agree_with_r() {
        // p.adjust(c(.01, .04, .03, .005), …)
        let p = [0.01, 0.04, 0.03, 0.005];
        close(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        close(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
        close(&holm(&[]), &[]);
    }
}
