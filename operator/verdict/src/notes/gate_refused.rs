//! A metric that was asked to gate and may not.

use crate::case::Case;
use crate::judgement::{Finding, Rule, Verdict};

pub(super) fn note(case: &Case, _: Verdict) -> Option<Finding> {
    let reason = case.evidence.gate_refused.as_ref().filter(|_| case.evidence.gates)?;
    let sentence = format!("{} does not gate: {reason}.", case.evidence.metric);
    Some(Finding { rule: Rule::GateRefused, sentence })
}
