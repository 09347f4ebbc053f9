//! More failures than in the baseline; improvements beside them are not believed.

use crate::case::{Case, Ruling};
use crate::evidence::Comparison;
use crate::judgement::{Rule, Verdict};
use crate::look::Decision;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let (decision, at, look) = case.decided()?;
    let metric = &case.evidence.metric;
    if case.evidence.comparison == Comparison::Errors {
        if decision != Decision::Worse {
            return None;
        }
        let sentence =
            format!("{metric} rose {} ({}), after {}.", case.middles(look), case.estimate(look), Case::pairs(at));
        return Some(Ruling::new(Verdict::Regressed, Rule::ErrorsIncreased, sentence));
    }
    let errors = case.errors.filter(|_| decision == Decision::Better)?;
    let sentence = format!(
        "{metric} looks better ({}), but failures may be cheaper to serve than answers: {errors}",
        case.estimate(look),
    );
    Some(Ruling::new(Verdict::Inconclusive, Rule::ErrorsIncreased, sentence))
}
