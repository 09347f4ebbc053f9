//! Ranks were compared instead of means.

use crate::case::Case;
use crate::judgement::{Finding, Method, Rule, Verdict};

pub(super) fn note(case: &Case, _: Verdict) -> Option<Finding> {
    let how = match case.reading.look.as_ref()?.method {
        Method::HodgesLehmann => "all trials of one arm with all of the other",
        Method::SignedRank => "the ranks of the pairs",
        Method::PairedT | Method::ModeratedT | Method::DifferenceT | Method::Exact => return None,
    };
    let sentence = format!(
        "A few trials of {} lie far out, so {how} are compared instead of the means of pairs.",
        case.evidence.metric,
    );
    Some(Finding { rule: Rule::OutlierMode, sentence })
}
