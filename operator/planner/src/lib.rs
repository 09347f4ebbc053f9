//! What to do next, as a pure function of what was observed and the time.
//!
//! [`plan`] sees one run and everything that belongs to it, and answers with a closed set of
//! idempotent writes ([`Action`]), the status to show and the events to send. It reads no clock
//! and keeps no state: whoever observes the same gets the same plan, after any crash. The operator
//! executes a plan with pods ([`pods`] builds them, [`observe`] reads them), local mode with
//! processes.

pub mod action;
pub mod check;
pub mod compare;
pub mod conclude;
pub mod failure;
pub mod observe;
pub mod observed;
pub mod order;
pub mod plan;
pub mod pods;
pub mod programs;
pub mod queue;
pub mod snapshot;
pub mod status;
pub mod sweep;
pub mod trial;

pub use action::{Action, Event, EventKind, Plan, UnitPlan, UnitSpec};
pub use conclude::conclude;
pub use observed::{Observed, Role, RunView, Slot, TrialSummary, Unit, UnitKey, UnitState, Waiting};
pub use plan::plan;
pub use snapshot::Snapshot;
