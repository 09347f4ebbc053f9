//! The rules, in the order in which they are asked; the first that answers gives the verdict.
//!
//! First what forbids an answer, then the answers, then why there is none. A rule sees one
//! [`Case`] and nothing else.

mod errors_increased;
mod improvement;
mod invalid;
mod no_change;
mod noise_too_large;
mod not_comparable;
mod not_decided;
mod regression;
mod too_few_pairs;
mod too_many_void_blocks;
mod validity_depends_on_arm;

use crate::case::{Case, Ruling};

/// A rule: an answer, or none.
type Ask = fn(&Case) -> Option<Ruling>;

/// The chain.
const CHAIN: [Ask; 10] = [
    // Numbers that cannot be believed are not compared.
    invalid::ask,
    // Nor are numbers of different kinds.
    not_comparable::ask,
    // Below four pairs the interval rests on two degrees of freedom.
    too_few_pairs::ask,
    // Dropping one arm's slow trials hides that it is slow: even a clear result is not believed.
    validity_depends_on_arm::ask,
    // So many disturbances are the machine's own verdict on the night.
    too_many_void_blocks::ask,
    // Failures are cheap to serve: they are judged before what they would improve.
    errors_increased::ask,
    // A difference for the worse that is real and matters.
    regression::ask,
    // A difference for the better that is real and matters.
    improvement::ask,
    // Shown to be smaller than what matters.
    no_change::ask,
    // No answer, and the budget will not bring one.
    noise_too_large::ask,
];

/// The verdict on a case.
pub(crate) fn rule(case: &Case) -> Ruling {
    // No answer so far: more pairs may bring one.
    CHAIN.iter().find_map(|ask| ask(case)).unwrap_or_else(|| not_decided::answer(case))
}
