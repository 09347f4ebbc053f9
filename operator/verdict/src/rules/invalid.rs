//! The numbers themselves cannot be believed.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let reason = case.evidence.invalid.as_ref()?;
    Some(Ruling::new(Verdict::Invalid, Rule::Invalid, reason.clone()))
}
