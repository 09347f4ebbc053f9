//! Bounds for looking several times at growing data without losing the error rate.
//!
//! Armitage, McPherson & Rowe, "Repeated significance tests on accumulating data", JRSS A 132
//! (1969), with Lan–DeMets spending; after Jennison & Turnbull, "Group sequential methods with
//! applications to clinical trials" (2000), chapter 19.

use crate::quadrature::Rule;
use crate::spending::Spending;
use crate::{normal, root};

/// Nodes per look: the narrowest kernel (looks at 100 and 101 of 101) still spans several.
const NODES: usize = 96;

/// Where the density of a standardised sum is nothing.
const FARTHEST: f64 = 9.0;

/// Beyond this no p-value is told apart from zero.
const NEVER: f64 = 37.0;

/// Whether the null is left on one side or on either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// Only large values reject.
    One,
    /// Large values of either sign do.
    Two,
}

/// What one look asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Critical value of a standardised sum.
    pub z: f64,
    /// The same as a p-value (of as many sides as asked for), to compare a t-test's with.
    pub nominal_p: f64,
    /// How much of α may be spent up to this look.
    pub spent: f64,
}

/// Bounds for looks at `fractions` of the information (ascending, the last at most 1) that
/// together reject a true null with probability `alpha`. A fraction that does not exceed the one
/// before gets a bound that nothing passes.
pub fn bounds(fractions: &[f64], alpha: f64, spending: Spending, sides: Sides) -> Vec<Bound> {
    let rule = Rule::gauss_legendre(NODES);
    let mut bounds = Vec::with_capacity(fractions.len());
    let mut state: Option<Continuing> = None;
    let mut spent = 0.0;
    for &fraction in fractions {
        let allowed = spending.spent(alpha, fraction);
        let before = state.as_ref().map_or(0.0, |state| state.fraction);
        if fraction <= before || allowed - spent <= f64::MIN_POSITIVE {
            bounds.push(Bound { z: NEVER, nominal_p: 0.0, spent });
            continue;
        }
        let target = (allowed - spent).ln();
        let lowest = if sides == Sides::One { -FARTHEST } else { 0.0 };
        let step = Step { state: state.as_ref(), fraction, sides };
        let z = root::between(lowest, NEVER, |z| step.tail(z).max(f64::MIN_POSITIVE).ln() - target);
        let nominal_p = match sides {
            Sides::One => normal::upper_tail(z),
            Sides::Two => normal::two_sided_p(z),
        };
        bounds.push(Bound { z, nominal_p, spent: allowed });
        spent = allowed;
        state = Some(step.continuing(z, &rule));
    }
    bounds
}

/// Sub-density of the standardised sum among those that no look has rejected yet.
struct Continuing {
    fraction: f64,
    nodes: Vec<f64>,
    /// Density × weight at each node.
    masses: Vec<f64>,
}

/// From one look to the next: Z' = r Z + √(1 − r²) ε, r² the ratio of the fractions.
struct Step<'a> {
    state: Option<&'a Continuing>,
    fraction: f64,
    sides: Sides,
}

impl Step<'_> {
    /// Probability to have come this far and be beyond `z` now.
    fn tail(&self, z: f64) -> f64 {
        let Some(state) = self.state else {
            return match self.sides {
                Sides::One => normal::upper_tail(z),
                Sides::Two => 2.0 * normal::upper_tail(z),
            };
        };
        let (r, s) = self.kernel(state);
        let beyond = |x: f64| match self.sides {
            Sides::One => normal::upper_tail((z - r * x) / s),
            Sides::Two => normal::upper_tail((z - r * x) / s) + normal::upper_tail((z + r * x) / s),
        };
        state.nodes.iter().zip(&state.masses).map(|(x, mass)| mass * beyond(*x)).sum()
    }

    /// Density of Z' at `z` among those who have come this far.
    fn density(&self, z: f64) -> f64 {
        let Some(state) = self.state else {
            return normal::density(z);
        };
        let (r, s) = self.kernel(state);
        let kernel = |x: f64| normal::density((z - r * x) / s) / s;
        state.nodes.iter().zip(&state.masses).map(|(x, mass)| mass * kernel(*x)).sum()
    }

    fn kernel(&self, state: &Continuing) -> (f64, f64) {
        let squared = state.fraction / self.fraction;
        (squared.sqrt(), (1.0 - squared).sqrt())
    }

    fn continuing(&self, bound: f64, rule: &Rule) -> Continuing {
        let high = bound.min(FARTHEST);
        let low = if self.sides == Sides::One { -FARTHEST } else { -high };
        let Rule { nodes, weights } = rule.on(low, high);
        let masses = nodes.iter().zip(&weights).map(|(z, w)| w * self.density(*z)).collect();
        Continuing { fraction: self.fraction, nodes, masses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_the_textbook() {
        // Jennison & Turnbull (2000); also printed by reference/gsb.py.
        let fractions = [0.2, 0.4, 0.6, 0.8, 1.0];
        let pocock = bounds(&fractions, 0.05, Spending::Pocock, Sides::Two);
        for (bound, z) in pocock.iter().zip([2.438, 2.427, 2.410, 2.397, 2.386]) {
            assert!((bound.z - z).abs() < 6e-4, "{} ≠ {z}", bound.z);
        }
    }

    #[test]
    fn one_look_is_the_ordinary_test() {
        let one = bounds(&[1.0], 0.05, Spending::Pocock, Sides::Two);
        assert!((one[0].nominal_p - 0.05).abs() < 1e-12);
        let one = bounds(&[1.0], 0.05, Spending::Pocock, Sides::One);
        assert!((one[0].z - 1.644_853_626_951_472).abs() < 1e-9);
    }

    #[test]
    fn one_sided_bounds_equal_two_sided_ones_of_twice_the_rate_nearly() {
        let fractions = [0.2, 0.3, 0.4, 0.6, 0.8, 1.0];
        let one = bounds(&fractions, 0.005, Spending::Pocock, Sides::One);
        let two = bounds(&fractions, 0.01, Spending::Pocock, Sides::Two);
        for (a, b) in one.iter().zip(&two) {
            assert!((a.z - b.z).abs() < 1e-3, "{} {}", a.z, b.z);
        }
    }

    #[test]
    fn a_repeated_look_never_rejects() {
        let twice = bounds(&[0.5, 0.5, 1.0], 0.05, Spending::Pocock, Sides::Two);
        assert!(twice[1].nominal_p == 0.0 && twice[2].nominal_p > 0.0);
    }
}
