//! Gauss–Legendre quadrature.
//!
//! Nodes by Newton's method on the Legendre polynomial: Abramowitz & Stegun, 25.4.30.

use std::f64::consts::PI;

/// Nodes and weights of a rule on an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where to evaluate, ascending.
    pub nodes: Vec<f64>,
    /// By how much each value counts; they sum to the interval's length.
    pub weights: Vec<f64>,
}

impl Rule {
    /// `n` points on −1 … 1; exact for polynomials up to degree 2n − 1.
    pub fn gauss_legendre(n: usize) -> Self {
        let mut nodes = vec![0.0; n];
        let mut weights = vec![0.0; n];
        for i in 0..n.div_ceil(2) {
            let mut x = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (value, derivative) = legendre(n, x);
                slope = derivative;
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            let weight = 2.0 / ((1.0 - x * x) * slope * slope);
            (nodes[i], nodes[n - 1 - i]) = (-x, x);
            (weights[i], weights[n - 1 - i]) = (weight, weight);
        }
        Self { nodes, weights }
    }

    /// The same rule on another interval.
    #[must_use]
    pub fn on(&self, low: f64, high: f64) -> Self {
        let (half, middle) = ((high - low) / 2.0, f64::midpoint(low, high));
        Self {
            nodes: self.nodes.iter().map(|x| middle + half * x).collect(),
            weights: self.weights.iter().map(|w| half * w).collect(),
        }
    }

    /// The integral of `f`.
    pub fn integrate(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().zip(&self.weights).map(|(x, w)| w * f(*x)).sum()
    }
}

/// The Legendre polynomial of degree `n` at `x`, and its derivative.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut previous, mut value) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (previous, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * previous) / k);
    }
    (value, n as f64 * (x * value - previous) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn is_exact_for_polynomials_up_to_its_degree() {
        let rule = Rule::gauss_legendre(5).on(0.0, 2.0);
        assert!((rule.integrate(|x| x.powi(9)) - 102.4).abs() < 1e-12);
        assert!((rule.weights.iter().sum::<f64>() - 2.0).abs() < 1e-14);
    }

    #[test]
    fn integrates_an_exponential_with_many_nodes() {
        let rule = Rule::gauss_legendre(128);
        assert!((rule.integrate(f64::exp) - 2.0 * 1.0_f64.sinh()).abs() < 1e-13);
    }
}
