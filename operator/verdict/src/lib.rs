//! From evidence to a verdict, by a chain of rules.
//!
//! [`judge()`] takes the clean pairs of every metric ([`MetricEvidence`]), the error rates and looks
//! that were fixed before the run ([`Policy`]) and what became of the run's blocks ([`Validity`]),
//! and returns one [`Judgement`] per metric and one for the run. It reads no clock, draws no
//! number and remembers nothing: a verdict can be recomputed from the records alone.

// Ties, zeros and constant series are exact equalities here.
#![allow(clippy::float_cmp)]

mod arms;
mod case;
mod contrast;
pub mod evidence;
pub mod foresight;
pub mod judge;
pub mod judgement;
mod look;
mod notes;
mod outliers;
pub mod policy;
pub mod quantity;
mod reading;
mod rule_name;
mod rules;
pub mod schedule;
pub mod validity;

pub use evidence::{Comparison, Direction, MetricEvidence, MetricName, MinimumEffect, Pair, Prior};
pub use foresight::Foresight;
pub use judge::{judge, judge_by};
pub use judgement::{ArmSummary, Finding, Interval, Judgement, Method, Rule, RunJudgement, Scale, Verdict};
pub use policy::{Equivalence, OutlierMode, Policy};
pub use schedule::Schedule;
pub use validity::{ArmVoids, Validity};
