//! Not even the whole budget would show a change of twice δ.

use crate::case::{Case, Ruling};
use crate::judgement::{Rule, Verdict};

/// The smallest visible effect may be this many δ (`analysis.md`, "Default policy", 7).
const MOST_THRESHOLDS: f64 = 2.0;

pub(super) fn ask(case: &Case) -> Option<Ruling> {
    let look = case.reading.look.as_ref()?;
    let last = case.reading.at_budget?;
    let visible = look.smallest_visible(last.pairs, last.nominal_p)?;
    let threshold = look.contrast.effect(look.contrast.threshold);
    if threshold <= 0.0 || visible <= MOST_THRESHOLDS * threshold {
        return None;
    }
    let scale = look.contrast.scale;
    let sentence = format!(
        "{} is too noisy for this run: {} would show only changes of {} or more, {} matter. Allow \
         more pairs, measure longer per trial, or raise its minimum effect.",
        case.evidence.metric,
        Case::pairs(last.pairs),
        case.amount(scale, visible),
        case.amount(scale, threshold),
    );
    Some(Ruling::new(Verdict::Inconclusive, Rule::NoiseTooLarge, sentence))
}
