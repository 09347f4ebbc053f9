//! Worse: the repeated interval excludes zero and the estimate reaches δ.

use super::improvement::difference;
use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};
use crate::look::Decision;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let sentence = difference(case, Decision::Worse, "worse")?;
    Some(Ruling::new(Verdict::Regressed, Rule::Regression, sentence))
}
