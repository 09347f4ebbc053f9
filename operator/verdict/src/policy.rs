//! How much error a run may make, and when it looks.

pub use gaugeblock_statistics::spending::Spending;
use serde::{Deserialize, Serialize};

/// The looks of the default policy, in clean blocks (`analysis.md`, "Default policy", 3).
pub const DEFAULT_LOOKS: [u32; 6] = [4, 6, 8, 12, 16, 20];

/// Fewer pairs than this decide nothing: the interval would rest on two degrees of freedom.
pub const FEWEST_PAIRS: u32 = 4;

/// Beyond the last default look, one more every so many blocks.
const LATER_STEP: u32 = 10;

/// How "no change" is shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Equivalence {
    /// Two one-sided tests against ± δ, each with this error rate, spent over the looks.
    OneSidedTests {
        /// Chance to call a true δ "no change".
        alpha: f64,
    },
    /// The repeated interval itself lies within ± tolerance: the form of `compare PROBLEMS.json`.
    RepeatedInterval {
        /// As a share of the baseline.
        tolerance: f64,
    },
}

/// Whether heavy-tailed noise switches to rank intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutlierMode {
    /// When the run's own residuals show it, from eight pairs on.
    Detect,
    /// Always t.
    Never,
}

/// The rules of the game, fixed before the first block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// After how many clean blocks to look, ascending; the last is the budget.
    pub looks: Vec<u32>,
    /// Chance that a run in which nothing changed is flagged by any of its gates.
    pub alpha_per_run: f64,
    /// How that chance is spent over the looks.
    pub spending: Spending,
    /// How many gates share it; none: as many as the evidence holds. Fixing it keeps the
    /// share the same when a metric is missing from an early look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_gates: Option<u32>,
    /// How "no change" is shown.
    pub equivalence: Equivalence,
    /// What to do about outliers.
    pub outliers: OutlierMode,
}

impl Policy {
    /// The default policy for a budget of so many clean blocks.
    pub fn for_budget(blocks: u32) -> Self {
        Self {
            looks: looks(blocks),
            alpha_per_run: 0.02,
            spending: Spending::Pocock,
            planned_gates: None,
            equivalence: Equivalence::OneSidedTests { alpha: 0.05 },
            outliers: OutlierMode::Detect,
        }
    }

    /// The most clean blocks the run may use: its last look.
    pub fn budget(&self) -> u32 {
        self.looks.last().copied().unwrap_or(0)
    }

    /// The first look after so many clean blocks; none when the budget is used.
    pub fn next_look(&self, blocks: u32) -> Option<u32> {
        self.looks.iter().copied().find(|look| *look > blocks)
    }
}

/// The looks up to a budget: 4, 6, 8, 12, 16, 20, then every ten, and the budget itself.
pub fn looks(budget: u32) -> Vec<u32> {
    let last = DEFAULT_LOOKS[DEFAULT_LOOKS.len() - 1];
    let later = (1..).map(|i| last + i * LATER_STEP).take_while(|look| *look < budget);
    let mut looks: Vec<u32> = DEFAULT_LOOKS.into_iter().chain(later).filter(|look| *look < budget).collect();
    looks.push(budget);
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_end_with_the_budget() {
        assert_eq!(looks(20), DEFAULT_LOOKS);
        assert_eq!(looks(12), [4, 6, 8, 12]);
        assert_eq!(looks(10), [4, 6, 8, 10]);
        assert_eq!(looks(4), [4]);
        assert_eq!(looks(2), [2]);
        assert_eq!(looks(35), [4, 6, 8, 12, 16, 20, 30, 35]);
    }

    #[test]
    fn the_next_look_is_the_first_one_not_yet_reached() {
        let policy = Policy::for_budget(12);
        assert_eq!(policy.next_look(0), Some(4));
        assert_eq!(policy.next_look(4), Some(6));
        assert_eq!(policy.next_look(9), Some(12));
        assert_eq!(policy.next_look(12), None);
    }
}
