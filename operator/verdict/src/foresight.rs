//! What a run will be able to see, told before it starts.

use crate::policy::Policy;
use crate::schedule::Schedule;
use gaugeblock_statistics::visible_effect::smallest_visible;
use serde::{Deserialize, Serialize};

/// The outlook of one gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Foresight {
    /// Clean blocks at most.
    pub budget: u32,
    /// The smallest relative change that the whole budget shows in four of five runs.
    pub smallest_visible_effect: f64,
}

impl Foresight {
    /// For a metric whose trials vary by `coefficient_of_variation` (0.01 is one per cent; a pair's
    /// log ratio then has √2 of that), as one of so many gates. None when the budget has no look.
    pub fn of(coefficient_of_variation: f64, policy: &Policy, gates: u32) -> Option<Self> {
        let last = Schedule::planned(policy, gates).last()?;
        let pairs = f64::from(last.pairs);
        let sd = coefficient_of_variation * std::f64::consts::SQRT_2;
        let visible = smallest_visible(sd, pairs, last.nominal_p, pairs - 1.0);
        Some(Self { budget: last.pairs, smallest_visible_effect: visible.exp_m1().min(f64::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_budget_sees_smaller_changes() {
        let at = |budget| Foresight::of(0.01, &Policy::for_budget(budget), 1).unwrap();
        assert!(at(20).smallest_visible_effect < at(8).smallest_visible_effect);
        assert!(at(20).smallest_visible_effect < 0.02);
        assert_eq!(Foresight::of(0.01, &Policy::for_budget(2), 1), None);
    }
}
