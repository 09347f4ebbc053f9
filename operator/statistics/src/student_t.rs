//! Student's t distribution, for any positive degrees of freedom.
//!
//! Abramowitz & Stegun, 26.7.1, by the regularised incomplete beta function.

use crate::{normal, root};
use statrs::function::beta::beta_reg;

/// From here on t is normal to the last digits that matter.
const NORMAL_FROM: f64 = 1e6;

/// P(|T| ≥ |t|).
pub fn two_sided_p(t: f64, df: f64) -> f64 {
    if df >= NORMAL_FROM {
        return normal::two_sided_p(t);
    }
    if t == 0.0 {
        return 1.0;
    }
    beta_reg(df / 2.0, 0.5, (df / (df + t * t)).clamp(0.0, 1.0)).clamp(0.0, 1.0)
}

/// P(T > t).
pub fn upper_tail(t: f64, df: f64) -> f64 {
    let half = 0.5 * two_sided_p(t, df);
    if t > 0.0 { half } else { 1.0 - half }
}

/// The t ≥ 0 for which P(|T| ≥ t) = `p` (0 < p ≤ 1).
pub fn two_sided_quantile(p: f64, df: f64) -> f64 {
    if df >= NORMAL_FROM {
        return normal::upper_quantile(p / 2.0);
    }
    if p >= 1.0 {
        return 0.0;
    }
    // Between the normal (df = ∞) and the Cauchy (df = 1) quantile both logarithms are nearly linear
    // in each other, so the root is found in few steps.
    let (low, high) = if df < 1.0 {
        (-40.0, 300.0)
    } else {
        let cauchy = 1.0 / (std::f64::consts::FRAC_PI_2 * p).tan();
        (normal::upper_quantile(p / 2.0).max(1e-20).ln() - 1e-6, cauchy.clamp(1e-20, 1e300).ln() + 1e-6)
    };
    let target = p.max(f64::MIN_POSITIVE).ln();
    let log_t = root::between(low, high, |log_t| two_sided_p(log_t.exp(), df).max(f64::MIN_POSITIVE).ln() - target);
    log_t.exp()
}

/// The t that is exceeded with probability `p` (0 < p < 1).
pub fn upper_quantile(p: f64, df: f64) -> f64 {
    if p <= 0.5 { two_sided_quantile(2.0 * p, df) } else { -two_sided_quantile(2.0 * (1.0 - p), df) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        for (p, df, t) in [
            (0.05, 3.0, 3.182_446_305_284_263),
            (0.01, 19.0, 2.860_934_606_464_97),
            (0.05, 1.0, 12.706_204_736_432_095),
            (0.5, 7.5, 0.708_599_580_444),
        ] {
            let found = two_sided_quantile(p, df);
            assert!((found / t - 1.0).abs() < 1e-6, "{p} {df}: {found} ≠ {t}");
            assert!((two_sided_p(found, df) / p - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn is_defined_at_its_ends() {
        assert!((two_sided_p(f64::INFINITY, 3.0)).abs() < f64::EPSILON);
        assert!((two_sided_p(0.0, 3.0) - 1.0).abs() < f64::EPSILON);
        assert!((two_sided_quantile(1.0, 3.0)).abs() < f64::EPSILON);
        assert!((upper_quantile(0.975, 5.0) + upper_quantile(0.025, 5.0)).abs() < 1e-12);
    }
}
