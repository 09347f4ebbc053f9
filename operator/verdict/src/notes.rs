//! What is worth knowing beside the verdict. A note never changes it.

mod code_layout;
mod gate_refused;
mod history_prior;
mod later_pairs_disagree;
mod not_exact;
mod outlier_mode;
mod size_approximate;

use crate::case::Case;
use crate::judgement::{Finding, Verdict};

/// A note on a case and its verdict, or none.
type Note = fn(&Case, Verdict) -> Option<Finding>;

/// In the order in which they are shown.
const NOTES: [Note; 7] = [
    gate_refused::note,
    not_exact::note,
    size_approximate::note,
    later_pairs_disagree::note,
    code_layout::note,
    outlier_mode::note,
    history_prior::note,
];

/// All that apply.
pub(crate) fn notes(case: &Case, verdict: Verdict) -> Vec<Finding> {
    NOTES.iter().filter_map(|note| note(case, verdict)).collect()
}

/// Whether a verdict claims a difference.
fn is_difference(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Regressed | Verdict::Improved => true,
        Verdict::NoChange | Verdict::Inconclusive | Verdict::NotComparable | Verdict::Invalid => false,
    }
}
