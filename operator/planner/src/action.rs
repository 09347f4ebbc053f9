//! What a plan asks for: a closed set of idempotent writes.

use std::time::Duration;

use gaugeblock_crds::{BenchmarkRunStatus, condition::Reason, dependency::Postgres};
use gaugeblock_measurement::{GeneratorPlan, Outcome, SamplerPlan, UnixNanos, trial::Placement};

use crate::{
    observed::{Slot, UnitKey},
    snapshot::Snapshot,
};

/// What to do, what to say, and when to look again at the latest.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Writes, in this order. The first that fails ends the plan: the next one starts from what
    /// is observed then.
    pub actions: Vec<Action>,
    /// Status, written after the actions, and only where it differs.
    pub status: BenchmarkRunStatus,
    /// Events, sent after the status that they announce.
    pub events: Vec<Event>,
    /// Look again after this long, even if nothing was seen to change.
    pub again: Option<Duration>,
}

/// One idempotent write.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Claim this node. Losing the race to another run is no error.
    Claim {
        /// Name of the node.
        node: String,
    },
    /// Write the frozen plan.
    Freeze(Box<Snapshot>),
    /// Make the passwords of dependencies, unless they are there.
    MakeCredentials,
    /// Create a unit; if one of its name exists and is of this run, it is the one.
    Create(Box<UnitSpec>),
    /// Let a gated unit go.
    Release {
        /// Which.
        unit: UnitKey,
        /// Name of the object.
        name: String,
        /// Address and port of the target, for the generator.
        target: Option<String>,
    },
    /// Read the records of a trial, conclude and store them. See [`crate::conclude`].
    Store(Box<Conclusion>),
    /// Delete a unit; if there is none, it is done.
    Delete {
        /// Which.
        unit: UnitKey,
        /// Name of the object.
        name: String,
        /// UID of the object: a later one of the same name is not meant.
        uid: String,
    },
    /// Keep the end of a unit's log in the run's Secret, before it is deleted.
    KeepLog {
        /// Which.
        unit: UnitKey,
        /// Name of the object.
        name: String,
    },
    /// Write the result with its reports.
    WriteResult,
    /// Give the claimed nodes back.
    Unclaim,
    /// Delete the run itself: its time after its end is over.
    DeleteRun,
}

/// A unit to create.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitSpec {
    /// Which.
    pub key: UnitKey,
    /// Name of the object.
    pub name: String,
    /// What it is.
    pub plan: UnitPlan,
    /// Node to run on; `None`: where its own rules put it, or local mode.
    pub node: Option<String>,
    /// Time after which the unit is ended from outside, whatever happens.
    pub deadline: Duration,
}

/// What a unit is.
#[derive(Clone, Debug, PartialEq)]
pub enum UnitPlan {
    /// A Postgres server.
    Postgres {
        /// Name of the dependency, a host name of the target.
        dependency: String,
        /// Its settings.
        postgres: Box<Postgres>,
    },
    /// The target, behind the gate.
    Target {
        /// Index of the arm in the manifest.
        arm: u32,
        /// Host names of its dependencies and their addresses.
        hosts: Vec<(String, String)>,
        /// Connection variables of its dependencies.
        variables: Vec<Variable>,
    },
    /// The sampler.
    Sampler(Box<SamplerPlan>),
    /// The load generator, behind the gate: it learns the target's address when it is let go.
    Generator {
        /// What to do; `target` is filled in by the executor when the unit is let go.
        plan: Box<GeneratorPlan>,
        /// Password variables that it needs.
        variables: Vec<Variable>,
    },
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Value.
    pub value: VariableValue,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableValue {
    /// Plain.
    Plain(String),
    /// The password of the dependencies, from the run's credentials.
    Password,
}

/// What is known of a trial when its records are to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// Which.
    pub slot: Slot,
    /// Place of the arm inside its block.
    pub position: u32,
    /// When its first unit was created.
    pub started: UnixNanos,
    /// What is known of the outcome already; `Complete` until the records say otherwise.
    pub outcome: Outcome,
    /// Where things ran.
    pub placement: Placement,
    /// Name of the generator's unit, if it ended.
    pub generator: Option<(UnitKey, String)>,
    /// Name of the sampler's unit, if it ended.
    pub sampler: Option<(UnitKey, String)>,
    /// Name of the object to write.
    pub record_name: String,
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it needs attention.
    pub kind: EventKind,
    /// Its reason.
    pub reason: Reason,
    /// What happened, in words.
    pub note: String,
}

/// Whether an event needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// For information.
    Normal,
    /// Something is wrong.
    Warning,
}
