//! Shown to differ by less than δ.

use crate::case::{Case, Ruling};
use crate::judgement::{Method, Rule, Verdict};
use crate::look::Decision;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let (decision, at, look) = case.decided()?;
    if decision != Decision::Same {
        return None;
    }
    let metric = &case.evidence.metric;
    let scale = look.contrast.scale;
    let threshold = case.amount(scale, look.contrast.effect(look.contrast.threshold));
    let sentence = match look.method {
        _ if look.interval.low == 0.0 && look.interval.high == 0.0 => {
            format!("{metric} is the same in every pair.")
        }
        Method::PairedT
        | Method::ModeratedT
        | Method::DifferenceT
        | Method::HodgesLehmann
        | Method::SignedRank
        | Method::Exact => format!(
            "{metric} changed by less than the {threshold} that matter ({}), after {}.",
            case.estimate(look),
            Case::pairs(at),
        ),
    };
    Some(Ruling::new(Verdict::NoChange, Rule::NoChange, sentence))
}
