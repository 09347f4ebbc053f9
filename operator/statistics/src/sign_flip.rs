//! The exact sign-flip (paired permutation) test of a mean of zero.
//!
//! Fisher, "The design of experiments" (1935), section 21.

/// Beyond this many values there are too many sign patterns to count them all.
pub const MOST_VALUES: usize = 20;

/// Rounding may not turn a tie into a loss.
const TIE: f64 = 1e-12;

/// How many sign patterns are at least as extreme as the observed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignFlip {
    /// Patterns whose sum is at least as far from zero.
    pub count: u64,
    /// All patterns, 2ⁿ.
    pub total: u64,
}

impl SignFlip {
    /// Two-sided p-value.
    pub fn p(&self) -> f64 {
        self.count as f64 / self.total as f64
    }
}

/// Test a sample of differences; none when empty or longer than [`MOST_VALUES`].
pub fn test(differences: &[f64]) -> Option<SignFlip> {
    let n = differences.len();
    if n == 0 || n > MOST_VALUES {
        return None;
    }
    let scale = differences.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    let scaled: Vec<f64> = differences.iter().map(|d| if scale == 0.0 { 0.0 } else { d / scale }).collect();
    let observed = scaled.iter().sum::<f64>().abs() - TIE;
    let total = 1_u64 << n;
    let sum =
        |signs: u64| -> f64 { scaled.iter().enumerate().map(|(i, d)| if signs >> i & 1 == 1 { -d } else { *d }).sum() };
    let count = (0..total).filter(|signs| sum(*signs).abs() >= observed).count() as u64;
    Some(SignFlip { count, total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_one_sign_leaves_two_patterns() {
        assert_eq!(test(&[1.0, 2.0, 3.0]), Some(SignFlip { count: 2, total: 8 }));
        assert_eq!(test(&[0.0; 3]), Some(SignFlip { count: 8, total: 8 }));
        assert_eq!(test(&[]), None);
    }
}
