//! Better: the repeated interval excludes zero and the estimate reaches δ.

use crate::case::{Case, Ruling};
use crate::judgement::{Method, Rule, Verdict};
use crate::look::Decision;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let sentence = difference(case, Decision::Better, "better")?;
    Some(Ruling::new(Verdict::Improved, Rule::Improvement, sentence))
}

/// The sentence on a difference for the better or the worse, if that is what was decided.
pub(super) fn difference(case: &Case, wanted: Decision, word: &str) -> Option<String> {
    let (decision, at, look) = case.decided()?;
    if decision != wanted {
        return None;
    }
    let scale = look.contrast.scale;
    let threshold = case.amount(scale, look.contrast.effect(look.contrast.threshold));
    let (metric, middles, estimate) = (&case.evidence.metric, case.middles(look), case.estimate(look));
    Some(match look.method {
        Method::Exact => format!("{metric} is {word}: {middles} ({estimate}); it has no noise."),
        Method::PairedT | Method::ModeratedT | Method::DifferenceT | Method::HodgesLehmann | Method::SignedRank => {
            format!("{metric} is {word}: {middles} ({estimate}); {threshold} matter. Shown after {}.", Case::pairs(at))
        }
    })
}
