//! An early stop overstates the size: at a true +2 % with CV 3 %, +4 % is reported when flagged
//! (`analysis.md`, "Default policy", 3).

use super::is_difference;
use crate::case::Case;
use crate::judgement::{Finding, Rule, Verdict};

/// From here on the size can be taken at its word.
const ENOUGH_PAIRS: u32 = 12;

/// An interval no wider than this (on the log scale) is that of a constant.
const NO_WIDTH: f64 = 1e-9;

pub(super) fn note(case: &Case, verdict: Verdict) -> Option<Finding> {
    let look = case.reading.look.as_ref().filter(|_| is_difference(verdict))?;
    let pairs = look.planned.pairs;
    if pairs >= ENOUGH_PAIRS || look.interval.high - look.interval.low <= NO_WIDTH {
        return None;
    }
    let sentence = format!(
        "Size approximate: after only {}, an estimate large enough to be flagged tends to be too \
         large.",
        Case::pairs(pairs),
    );
    Some(Finding { rule: Rule::SizeApproximate, sentence })
}
