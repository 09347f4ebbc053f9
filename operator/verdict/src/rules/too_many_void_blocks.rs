//! More than a fifth of the blocks were disturbed from outside.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};
use crate::quantity::percent;

/// Above this share (`analysis.md`, "Default policy", 7).
const MOST_VOID: f64 = 0.2;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let share = case.validity.void_share();
    if case.reading.is_exact() || share <= MOST_VOID {
        return None;
    }
    let void = case.validity.void_blocks;
    let all = void + case.validity.clean_blocks;
    let sentence = format!(
        "{void} of {all} blocks ({}) were disturbed from outside the target, more than the {} that \
         a verdict can stand: look at the pool's nodes.",
        percent(share),
        percent(MOST_VOID),
    );
    Some(Ruling::new(Verdict::Inconclusive, Rule::TooManyVoidBlocks, sentence))
}
