//! Which trial a record belongs to.

use serde::{Deserialize, Serialize};

/// One independent repetition of one arm. Two records with the same identity describe the same
/// trial; a repeated trial differs in `attempt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// UID of the `BenchmarkRun` (in local mode, a UID made for the run).
    pub run_uid: String,
    /// Block of trials, from 0. Block 0 is thrown away (cold caches).
    pub block: u32,
    /// Name of the arm.
    pub arm: String,
    /// Stage within the trial, from 0: a scenario that follows a writing one starts a new stage on
    /// fresh dependencies.
    pub stage: u32,
    /// Attempt at this block, from 0: a void block is measured anew as a whole.
    pub attempt: u32,
}

/// The program that wrote a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Such as `gaugeblock-load-generator`.
    pub name: String,
    /// Its version.
    pub version: String,
}
