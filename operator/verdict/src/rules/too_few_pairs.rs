//! Fewer than four pairs decide nothing, except about a quantity without noise.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};
use crate::policy::FEWEST_PAIRS;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    if case.reading.look.is_some() {
        return None;
    }
    let have = case.evidence.pairs.len();
    let sentence = if case.ended {
        format!("Only {have} clean pairs; at least {FEWEST_PAIRS} are needed to decide anything.")
    } else if case.policy.budget() < FEWEST_PAIRS {
        format!(
            "A budget of {} pairs cannot decide anything; at least {FEWEST_PAIRS} are needed.",
            case.policy.budget(),
        )
    } else {
        let first = case.policy.next_look(FEWEST_PAIRS - 1).unwrap_or(FEWEST_PAIRS);
        format!("{have} clean pairs so far; the first look comes after {first}.")
    };
    Some(Ruling::new(Verdict::Inconclusive, Rule::TooFewPairs, sentence))
}
