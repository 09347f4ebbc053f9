//! The first decision stands, but the pairs after it no longer bear it out.

use super::is_difference;
use crate::case::Case;
use crate::judgement::{Finding, Rule, Verdict};

pub(super) fn note(case: &Case, verdict: Verdict) -> Option<Finding> {
    let (decision, at, look) = case.decided().filter(|_| is_difference(verdict))?;
    let now = look.difference(case.evidence.direction).filter(|_| look.interval.excludes(0.0));
    if at == look.planned.pairs || now == Some(decision) {
        return None;
    }
    let sentence = format!(
        "Shown after {}, but no longer after {}: the first decision stands, its size is doubtful.",
        Case::pairs(at),
        Case::pairs(look.planned.pairs),
    );
    Some(Finding { rule: Rule::LaterPairsDisagree, sentence })
}
