//! From evidence to a verdict, by a chain of rules.

pub mod evidence;
pub mod judge;
pub mod judgement;
pub mod policy;
pub mod validity;

pub use evidence::{Comparison, Direction, MetricEvidence, MetricName, MinimumEffect, Pair, Prior};
pub use judge::judge;
pub use judgement::{
    ArmSummary, Finding, Interval, Judgement, Method, Rule, RunJudgement, Scale, Verdict,
};
pub use policy::{Equivalence, OutlierMode, Policy};
pub use validity::{ArmVoids, Validity};
