//! The smallest effect that a t-test would show: what "no difference found" is worth.
//!
//! Power from the noncentral t distribution, integrated over the chi distribution of the
//! standard deviation (Johnson, Kotz & Balakrishnan, "Continuous univariate distributions 2",
//! chapter 31).

use crate::quadrature::Rule;
use crate::{normal, root, student_t};

/// The customary power: four of five such effects are found.
pub const POWER: f64 = 0.8;

/// Nodes over the standard deviation's distribution.
const NODES: usize = 48;

/// How many standard deviations of that distribution are integrated over, to either side.
const REACH: f64 = 7.0;

/// P(T > `critical`) where T has `df` degrees of freedom and the true mean lies `shift` standard
/// errors above zero.
pub fn power(shift: f64, critical: f64, df: f64) -> f64 {
    SpreadOfSd::new(df).power(shift, critical)
}

/// The smallest true mean that a two-sided test at `p` shows with probability [`POWER`], for `n`
/// values of standard deviation `sd`, whose test has `df` degrees of freedom. Same unit as `sd`;
/// zero for a sample without spread, infinite where no test is possible.
pub fn smallest_visible(sd: f64, n: f64, p: f64, df: f64) -> f64 {
    if sd == 0.0 {
        return 0.0;
    }
    if df <= 0.0 || p <= 0.0 {
        return f64::INFINITY;
    }
    let critical = student_t::two_sided_quantile(p, df);
    let spread = SpreadOfSd::new(df);
    // The estimate of sd rarely falls below a fifth or rises above ten times (df = 1) the truth.
    let shift = root::between(0.0, 10.0 * (critical + 10.0), |shift| spread.power(shift, critical) - POWER);
    shift * sd / n.sqrt()
}

/// The distribution of (estimated sd ÷ true sd): chi over √df.
struct SpreadOfSd {
    values: Vec<f64>,
    masses: Vec<f64>,
}

impl SpreadOfSd {
    fn new(df: f64) -> Self {
        // The cube root of χ²/df is nearly normal: Wilson & Hilferty, PNAS 17 (1931).
        let (middle, sd) = (1.0 - 2.0 / (9.0 * df), (2.0 / (9.0 * df)).sqrt());
        let low = (middle - REACH * sd).max(0.0).powf(1.5);
        let high = (middle + REACH * sd).powf(1.5);
        let rule = Rule::gauss_legendre(NODES).on(low, high);
        // The density's constant cancels.
        let density = |s: f64| ((df - 1.0) * s.ln() - df * (s * s - 1.0) / 2.0).exp();
        let masses: Vec<f64> = rule.nodes.iter().zip(&rule.weights).map(|(s, w)| w * density(*s)).collect();
        let all: f64 = masses.iter().sum();
        let masses = masses.into_iter().map(|mass| mass / all).collect();
        Self { values: rule.nodes, masses }
    }

    fn power(&self, shift: f64, critical: f64) -> f64 {
        self.values.iter().zip(&self.masses).map(|(s, mass)| mass * normal::cdf(shift - critical * s)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_agrees_with_scipy() {
        // scipy.stats.nct.sf(critical, df, shift)
        for (shift, critical, df, expected) in [
            (1.0, 2.0, 1.0, 0.377_128_035_5),
            (3.0, 2.0, 7.0, 0.828_454_242_808),
            (4.0, 3.182_446_305, 3.0, 0.754_983_839_783),
            (0.0, 2.0, 10.0, 0.036_694_017_385_4),
        ] {
            let found = power(shift, critical, df);
            assert!((found - expected).abs() < 1e-9, "{found} ≠ {expected}");
        }
    }

    #[test]
    fn more_pairs_see_more() {
        let at = |n: f64| smallest_visible(0.01, n, 0.01, n - 1.0);
        assert!(at(4.0) > at(8.0) && at(8.0) > at(20.0));
        assert!(smallest_visible(0.0, 4.0, 0.01, 3.0) == 0.0);
        assert!(smallest_visible(1.0, 1.0, 0.01, 0.0).is_infinite());
    }
}
