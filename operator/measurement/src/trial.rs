//! One trial as it is stored: both programs' records and what became of it.

use serde::{Deserialize, Serialize};

use crate::{GeneratorRecord, SamplerRecord, TrialId, UnixNanos};

/// Everything that is kept of one stage of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`crate::RECORD_VERSION`].
    pub version: u32,
    /// Whose.
    pub trial: TrialId,
    /// Place of the arm inside its block, from 0.
    pub position: u32,
    /// When its first pod was created.
    pub started: UnixNanos,
    /// When its record was stored.
    pub ended: UnixNanos,
    /// What became of it.
    pub outcome: Outcome,
    /// Where things ran.
    pub placement: Placement,
    /// What the generator measured.
    pub generator: Option<GeneratorRecord>,
    /// What the sampler measured.
    pub sampler: Option<SamplerRecord>,
}

/// What became of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Measured whole.
    Complete,
    /// Lost or spoilt by something outside the target: its whole block is void and is repeated.
    Void(VoidCause, String),
    /// Lost to the target itself: a finding about the target.
    LostToTarget(TargetLoss, String),
}

/// Causes outside the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum VoidCause {
    /// A pod was deleted or evicted, or its node was lost.
    Disrupted,
    /// The generator could not keep its schedule or had no CPU left.
    GeneratorSaturated,
    /// The generator ended early for a reason of its own.
    GeneratorFailed,
    /// The sampler ended early, or did not see the target from its beginning.
    SamplerFailed,
    /// A dependency failed.
    DependencyFailed,
    /// A record was cut, damaged or missing.
    ResultUnreadable,
    /// The hypervisor took CPU time.
    Steal,
    /// Other work ran on the target's CPUs.
    Neighbours,
    /// The machine's speed changed.
    MachineSpeed,
    /// The clocks of two nodes disagree.
    ClockSkew,
    /// Another trial of its block was void.
    BlockVoid,
}

/// Causes inside the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TargetLoss {
    /// Killed for memory.
    OomKilled,
    /// Ended by itself.
    Exited,
    /// Never answered rightly.
    NeverReady,
    /// Could not be started: its image or its command.
    NotStarted,
}

/// Where the parts of a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Node of the target; `None` in local mode.
    pub target_node: Option<String>,
    /// Node of the generator; `None` in local mode.
    pub generator_node: Option<String>,
    /// Whether generator, dependencies or others share CPUs with each other for want of CPUs
    /// (never with the target, if its isolation is proved), in words.
    pub shared_cpus: Vec<String>,
    /// Restarts of the target's container that were seen.
    pub restarts: u32,
    /// Image of the target as the runtime resolved it.
    pub target_image: Option<String>,
}

impl TrialRecord {
    /// Whether the trial may be compared.
    pub fn is_complete(&self) -> bool {
        self.outcome == Outcome::Complete
    }
}
