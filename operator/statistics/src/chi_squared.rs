//! The χ² distribution.

use crate::root;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// P(X ≤ x).
pub fn cdf(x: f64, df: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { gamma_lr(df / 2.0, x / 2.0) }
}

/// P(X > x), accurate far out.
pub fn upper_tail(x: f64, df: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(df / 2.0, x / 2.0) }
}

/// The x below which a share `p` (0 < p < 1) lies.
pub fn quantile(p: f64, df: f64) -> f64 {
    let high = df + 20.0 * (2.0 * df).sqrt() + 200.0;
    root::between(f64::MIN_POSITIVE, high, |x| cdf(x, df) - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        assert!((quantile(0.95, 1.0) - 3.841_458_820_694_124).abs() < 1e-9);
        assert!((quantile(0.5, 4.0) - 3.356_693_980_033_321).abs() < 1e-9);
        assert!((upper_tail(3.841_458_820_694_124, 1.0) - 0.05).abs() < 1e-12);
    }
}
