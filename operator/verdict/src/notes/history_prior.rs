//! The history's noise was used, or dropped.

use crate::case::Case;
use crate::judgement::{Finding, Method, Rule, Verdict};

pub(super) fn note(case: &Case, _: Verdict) -> Option<Finding> {
    let look = case.reading.look.as_ref()?;
    let sentence = if look.method == Method::ModeratedT {
        format!("The noise of past sessions counts for {:.1} degrees of freedom.", look.prior_degrees_of_freedom)
    } else if look.prior_dropped {
        "Noisier than past sessions: their noise was left out of the account.".to_owned()
    } else {
        return None;
    };
    Some(Finding { rule: Rule::HistoryPrior, sentence })
}
