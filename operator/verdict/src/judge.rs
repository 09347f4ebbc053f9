//! From the evidence of a run to its verdict.

use crate::evidence::MetricEvidence;
use crate::judgement::{RunJudgement, Verdict};
use crate::policy::Policy;
use crate::validity::Validity;

/// Judge a run by what it has measured so far.
pub fn judge(evidence: &[MetricEvidence], policy: &Policy, validity: &Validity) -> RunJudgement {
    let _ = evidence;
    RunJudgement {
        verdict: Verdict::Inconclusive,
        decided: false,
        next_look: policy.next_look(validity.clean_blocks),
        gates: 0,
        judgements: Vec::new(),
        findings: Vec::new(),
    }
}
