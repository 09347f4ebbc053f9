//! Fisher's F distribution.
//!
//! Abramowitz & Stegun, 26.6.2, by the regularised incomplete beta function.

use crate::root;
use statrs::function::beta::beta_reg;

/// P(F ≤ f) with `numerator` and `denominator` degrees of freedom.
pub fn cdf(f: f64, numerator: f64, denominator: f64) -> f64 {
    if f <= 0.0 {
        return 0.0;
    }
    let scaled = numerator * f;
    beta_reg(numerator / 2.0, denominator / 2.0, (scaled / (scaled + denominator)).clamp(0.0, 1.0))
}

/// The f below which a share `p` (0 < p < 1) lies.
pub fn quantile(p: f64, numerator: f64, denominator: f64) -> f64 {
    root::between(-300.0, 300.0, |log_f| cdf(log_f.exp(), numerator, denominator) - p).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        assert!((quantile(0.95, 3.0, 8.0) / 4.066_180_551_160_9 - 1.0).abs() < 1e-9);
        assert!((quantile(0.75, 2.0, 8.0) / 1.656_854_249_49 - 1.0).abs() < 1e-10);
        assert!((cdf(1.0, 5.0, 5.0) - 0.5).abs() < 1e-12);
    }
}
