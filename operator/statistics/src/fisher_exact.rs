//! Fisher's exact test: does a share depend on the group?
//!
//! Fisher, "On the interpretation of χ² from contingency tables", JRSS 85 (1922).

use statrs::function::factorial::ln_binomial;

/// Rounding may not tell equally likely tables apart (as R's `fisher.test`).
const TIE: f64 = 1.0 + 1e-7;

/// Two-sided p-value that `a` of `n` and `b` of `m` come from one share: the probability of all
/// tables with the same margins that are no likelier than this one.
pub fn p(a: u32, n: u32, b: u32, m: u32) -> f64 {
    let (a, b) = (a.min(n), b.min(m));
    let hits = a + b;
    let log_likelihood = |k: u32| {
        ln_binomial(u64::from(n), u64::from(k)) + ln_binomial(u64::from(m), u64::from(hits - k))
            - ln_binomial(u64::from(n) + u64::from(m), u64::from(hits))
    };
    let observed = log_likelihood(a).exp() * TIE;
    let possible = hits.saturating_sub(m)..=hits.min(n);
    possible.map(|k| log_likelihood(k).exp()).filter(|l| *l <= observed).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::p;

    #[test]
    fn agrees_with_r() {
        // fisher.test(matrix(c(3, 1, 1, 3), 2)): the lady tasting tea.
        assert!((p(3, 4, 1, 4) - 0.485_714_285_714_286).abs() < 1e-12);
        // scipy.stats.fisher_exact([[8, 2], [1, 9]])
        assert!((p(8, 10, 1, 10) - 0.005_477_494_641_581_329).abs() < 1e-9);
    }

    #[test]
    fn nothing_observed_depends_on_nothing() {
        assert!((p(0, 10, 0, 10) - 1.0).abs() < 1e-12);
        assert!((p(0, 0, 0, 0) - 1.0).abs() < 1e-12);
    }
}
