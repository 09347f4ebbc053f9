//! Rebuilding the same source moves performance by some per cent (Mytkowicz et al., "Producing
//! wrong data without doing anything obviously wrong!", ASPLOS 2009).

use super::is_difference;
use crate::case::Case;
use crate::judgement::{Finding, Rule, Scale, Verdict};

/// Larger differences than this are not code layout (DESIGN §5).
const LAYOUT: f64 = 0.05;

pub(super) fn note(case: &Case, verdict: Verdict) -> Option<Finding> {
    let look = case.reading.look.as_ref().filter(|_| is_difference(verdict))?;
    let timed = matches!(case.evidence.unit.as_str(), "s" | "1/s");
    let small = look.contrast.scale == Scale::Relative && look.contrast.effect(look.estimate).abs() < LAYOUT;
    let sentence = "Below 5 %, one build per arm cannot exclude code layout as the cause; several \
                    builds of each arm can."
        .to_owned();
    (timed && small).then_some(Finding { rule: Rule::CodeLayout, sentence })
}
