//! Neither a difference nor its absence is shown (yet).

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};

pub(super) fn answer(case: &Case) -> Ruling {
    let metric = &case.evidence.metric;
    let sentence = match &case.reading.look {
        None => format!("{metric} has no numbers to compare."),
        Some(look) => {
            let scale = look.contrast.scale;
            let threshold = case.amount(scale, look.contrast.effect(look.contrast.threshold));
            let estimate = case.estimate(look);
            let pairs = Case::pairs(look.planned.pairs);
            let outlook = if case.ended { "" } else { "; more pairs may decide it" };
            format!(
                "{metric}: {estimate} after {pairs}; neither a change of {threshold} nor its \
                 absence is shown{outlook}.",
            )
        }
    };
    Ruling::new(Verdict::Inconclusive, Rule::NotDecided, sentence)
}
