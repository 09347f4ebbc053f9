//! What happened to the run's blocks besides being measured.

use serde::{Deserialize, Serialize};

/// Trials of one arm that causes outside the target made void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArmVoids {
    /// The arm, the baseline among them.
    pub arm: String,
    /// Its trials that were void by themselves (not only their block's).
    pub void_trials: u32,
    /// All its trials, void ones among them.
    pub trials: u32,
}

/// How sound the run is as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validity {
    /// Blocks whose every trial is clean.
    pub clean_blocks: u32,
    /// Blocks that a cause outside the target made void.
    pub void_blocks: u32,
    /// The same by arm; empty when nothing was void.
    pub arms: Vec<ArmVoids>,
    /// Which of the arms is the baseline.
    pub baseline: String,
    /// No more blocks will come: budget used, deadline passed, cancelled.
    pub ended: bool,
}

impl Validity {
    /// Nothing was void.
    pub fn clean(baseline: &str, blocks: u32) -> Self {
        Self { clean_blocks: blocks, baseline: baseline.to_owned(), ..Self::default() }
    }

    /// Share of the blocks that were void, 0 to 1.
    pub fn void_share(&self) -> f64 {
        let all = self.clean_blocks + self.void_blocks;
        if all == 0 { 0.0 } else { f64::from(self.void_blocks) / f64::from(all) }
    }

    /// The voids of an arm, if any were counted.
    pub(crate) fn of(&self, arm: &str) -> Option<&ArmVoids> {
        self.arms.iter().find(|voids| voids.arm == arm)
    }
}
