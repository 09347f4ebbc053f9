//! The trigamma function, and its inverse.

use crate::root;

pub use statrs::function::gamma::digamma;

/// From here on the asymptotic series is exact to the last digits.
const SERIES_FROM: f64 = 15.0;

/// ψ′(x) for x > 0: recurrence up to fifteen, then the asymptotic series
/// (Abramowitz & Stegun, 6.4.6 and 6.4.12).
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < SERIES_FROM {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0 - y * 691.0 / 2730.0))));
    sum + 1.0 / x + y / 2.0 + y / x * series
}

/// The x with ψ′(x) = `y`, for y > 0.
pub fn inverse_trigamma(y: f64) -> f64 {
    root::between(-30.0, 30.0, |log_x| trigamma(log_x.exp()).ln() - y.ln()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn agrees_with_closed_forms() {
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-14);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-13);
        assert!((inverse_trigamma(PI * PI / 6.0) - 1.0).abs() < 1e-12);
    }
}
