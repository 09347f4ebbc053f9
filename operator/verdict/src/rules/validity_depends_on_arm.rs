//! Trials became void more often in one arm than in the other.
//!
//! `analysis.md`, "Default policy", 7: dropping the slow trials of an arm that is slow in 40 % of
//! its trials hides it.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};
use gaugeblock_statistics::fisher_exact;

/// Below this p-value the share of void trials depends on the arm.
const DEPENDS: f64 = 0.05;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let baseline = case.validity.of(&case.validity.baseline)?;
    let candidate = case.validity.of(&case.evidence.arm)?;
    let p = fisher_exact::p(baseline.void_trials, baseline.trials, candidate.void_trials, candidate.trials);
    if case.reading.is_exact() || p >= DEPENDS {
        return None;
    }
    let sentence = format!(
        "Trials were void in {} of {} of {}, but in {} of {} of {} (p = {p:.3}): leaving them out \
         may hide a difference. Find out what disturbs only one arm.",
        baseline.void_trials, baseline.trials, baseline.arm, candidate.void_trials, candidate.trials, candidate.arm,
    );
    Some(Ruling::new(Verdict::Inconclusive, Rule::ValidityDependsOnArm, sentence))
}
