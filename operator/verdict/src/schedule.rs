//! When a gate is looked at, and what p-value each look asks for.

use crate::policy::{Equivalence, FEWEST_PAIRS, Policy};
use gaugeblock_statistics::group_sequential::{Bound, Sides, bounds};

/// One planned look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedLook {
    /// After how many pairs.
    pub pairs: u32,
    /// Two-sided p-value at which a difference is shown.
    pub nominal_p: f64,
    /// One-sided p-value at which "no change" is shown.
    pub equivalence_p: f64,
}

/// The looks of one gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Ascending in pairs.
    pub looks: Vec<PlannedLook>,
    /// How many gates share the run's error rate.
    pub sharing: u32,
}

impl Schedule {
    /// The planned looks, the error rate of the run shared by so many gates (Bonferroni).
    pub fn planned(policy: &Policy, sharing: u32) -> Self {
        Self::at(&policy.looks, policy, sharing)
    }

    /// The looks of a gate for which no more pairs will come, `pairs` being none of the planned
    /// ones: the planned ones before it, and one more there. Spending allows that, since what
    /// ended the run did not depend on this metric's values.
    pub fn ended_at(pairs: u32, policy: &Policy, sharing: u32) -> Self {
        let before = policy.looks.iter().copied().filter(|look| *look < pairs);
        let looks: Vec<u32> = before.chain([pairs]).collect();
        Self::at(&looks, policy, sharing)
    }

    fn at(looks: &[u32], policy: &Policy, sharing: u32) -> Self {
        let budget = f64::from(policy.budget().max(1));
        let looks: Vec<u32> = looks.iter().copied().filter(|look| *look >= FEWEST_PAIRS).collect();
        let fractions: Vec<f64> = looks.iter().map(|look| f64::from(*look) / budget).collect();
        let alpha = policy.alpha_per_run / f64::from(sharing.max(1));
        let difference = bounds(&fractions, alpha, policy.spending, Sides::Two);
        let equivalence = match policy.equivalence {
            Equivalence::OneSidedTests { alpha } => bounds(&fractions, alpha, policy.spending, Sides::One),
            Equivalence::RepeatedInterval { .. } => {
                difference.iter().map(|bound| Bound { nominal_p: bound.nominal_p / 2.0, ..*bound }).collect()
            }
        };
        let looks = looks
            .into_iter()
            .zip(difference.iter().zip(&equivalence))
            .map(|(pairs, (difference, equivalence))| PlannedLook {
                pairs,
                nominal_p: difference.nominal_p,
                equivalence_p: equivalence.nominal_p,
            })
            .collect();
        Self { looks, sharing }
    }

    /// The looks that so many pairs have reached.
    pub fn reached(&self, pairs: u32) -> &[PlannedLook] {
        let count = self.looks.iter().take_while(|look| look.pairs <= pairs).count();
        &self.looks[..count]
    }

    /// The last look.
    pub fn last(&self) -> Option<PlannedLook> {
        self.looks.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_gates_ask_for_more_evidence() {
        let policy = Policy::for_budget(20);
        let (one, five) = (Schedule::planned(&policy, 1), Schedule::planned(&policy, 5));
        assert_eq!(one.looks.len(), 6);
        for (a, b) in one.looks.iter().zip(&five.looks) {
            assert!(a.nominal_p > 3.0 * b.nominal_p);
            assert!((a.equivalence_p - b.equivalence_p).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn ending_early_keeps_the_looks_already_taken() {
        let policy = Policy::for_budget(20);
        let (planned, ended) = (Schedule::planned(&policy, 1), Schedule::ended_at(10, &policy, 1));
        assert_eq!(ended.looks[..3], planned.looks[..3]);
        assert_eq!(ended.looks[3].pairs, 10);
    }

    #[test]
    fn a_budget_of_three_has_no_look() {
        assert_eq!(Schedule::planned(&Policy::for_budget(3), 1).last(), None);
    }
}
