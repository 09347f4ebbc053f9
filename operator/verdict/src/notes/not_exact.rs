//! A metric called exact that varied inside an arm, and was therefore tested.

use crate::case::Case;
use crate::judgement::{Finding, Rule, Verdict};

pub(super) fn note(case: &Case, _: Verdict) -> Option<Finding> {
    let sentence = format!(
        "{} should be the same in every trial of an arm, and was not: it is tested like a noisy \
         one.",
        case.evidence.metric,
    );
    case.reading.not_exact.then_some(Finding { rule: Rule::NotExact, sentence })
}
