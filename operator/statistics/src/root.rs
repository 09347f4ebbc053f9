//! Where a continuous function crosses zero.

/// Far more steps than bisection needs to reach the last bit.
const MOST_STEPS: u32 = 200;

/// The zero of `f` between `low` and `high`, to the last few bits. `f` must be finite and change
/// its sign in between; if it does not, the end at which it is nearer to zero is returned.
///
/// T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a
/// nonlinear function without using derivatives", Advances in Engineering Software 28 (1997).
pub fn between(low: f64, high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (mut b, mut a) = (low, high);
    let (mut fb, mut fa) = (f(b), f(a));
    if fa.signum() == fb.signum() {
        return if fa.abs() < fb.abs() { a } else { b };
    }
    let mut fraction = 0.5;
    for _ in 0..MOST_STEPS {
        let x = a + fraction * (b - a);
        let fx = f(x);
        // c is the point that the bracket a … b has just lost.
        let (c, fc) = if fx.signum() == fa.signum() { (a, fa) } else { (b, fb) };
        if fx.signum() != fa.signum() {
            (b, fb) = (a, fa);
        }
        (a, fa) = (x, fx);
        let (best, fbest) = if fa.abs() < fb.abs() { (a, fa) } else { (b, fb) };
        let tolerance = 2.0 * f64::EPSILON * best.abs() + f64::MIN_POSITIVE;
        let smallest = tolerance / (b - a).abs().max(f64::MIN_POSITIVE);
        if smallest > 0.5 || fbest == 0.0 {
            return best;
        }
        let xi = (a - b) / (c - b);
        let phi = (fa - fb) / (fc - fb);
        fraction = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        } else {
            0.5
        };
        fraction = fraction.clamp(smallest.min(0.5), 1.0 - smallest.min(0.5));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn finds_the_square_root_of_two() {
        let root = between(0.0, 2.0, |x| x * x - 2.0);
        assert!((root - 2.0_f64.sqrt()).abs() < 1e-15, "{root}");
    }

    #[test]
    fn finds_a_flat_root() {
        let root = between(-1.0, 3.0, |x| (x - 0.3).powi(3));
        assert!((root - 0.3).abs() < 1e-5, "{root}");
    }

    #[test]
    fn without_a_change_of_sign_answers_the_nearer_end() {
        assert!((between(1.0, 2.0, |x| x) - 1.0).abs() < f64::EPSILON);
    }
}
