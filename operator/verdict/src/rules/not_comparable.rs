//! The arms were measured on different machines, or by different definitions.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let differences = &case.evidence.not_comparable;
    if differences.is_empty() {
        return None;
    }
    let sentence = format!("Baseline and candidate are not comparable: {}.", differences.join("; "));
    Some(Ruling::new(Verdict::NotComparable, Rule::NotComparable, sentence))
}
