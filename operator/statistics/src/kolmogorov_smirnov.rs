//! The two-sample Kolmogorov–Smirnov test, exact by counting lattice paths.
//!
//! Hodges, "The significance probability of the Smirnov two-sample test", Ark. Mat. 3 (1958).

/// The largest distance between two empirical distributions, and how surprising it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// D, 0 to 1.
    pub d: f64,
    /// Exact two-sided p-value (conservative under ties).
    pub p: f64,
}

/// Test two samples; none for an empty side.
pub fn exact(x: &[f64], y: &[f64]) -> Option<KolmogorovSmirnov> {
    let (n, m) = (x.len(), y.len());
    if n == 0 || m == 0 {
        return None;
    }
    // Distances are counted in units of 1 / (n m), where they are whole numbers.
    let distance = |i: usize, j: usize| (i * m).abs_diff(j * n);
    let upto = |sample: &[f64], value: f64| sample.iter().filter(|z| **z <= value).count();
    let largest = x.iter().chain(y).map(|z| distance(upto(x, *z), upto(y, *z))).max().unwrap_or(0);

    // reached[j]: the share of paths to (i, j) that were at least so far off somewhere.
    let mut all = vec![vec![0.0_f64; m + 1]; n + 1];
    let mut reached = vec![vec![0.0_f64; m + 1]; n + 1];
    for i in 0..=n {
        for j in 0..=m {
            let from = |table: &[Vec<f64>]| {
                let left = if i > 0 { table[i - 1][j] } else { 0.0 };
                let below = if j > 0 { table[i][j - 1] } else { 0.0 };
                left + below
            };
            let ways = if i == 0 && j == 0 { 1.0 } else { from(&all) };
            let hit = if distance(i, j) >= largest { ways } else { from(&reached) };
            all[i][j] = ways;
            reached[i][j] = hit;
        }
    }
    let p = (reached[n][m] / all[n][m]).min(1.0);
    Some(KolmogorovSmirnov { d: largest as f64 / (n * m) as f64, p })
}
