//! What to do about things whose run is gone.

use crate::{action::Action, observed::Unit};

/// Deletes the units of a run that does not exist any more; when none is left its claims are given
/// back by [`Action::Unclaim`]. A claim never ends while a pod of the run is left.
pub fn sweep(units: &[Unit]) -> Vec<Action> {
    if units.is_empty() {
        return vec![Action::Unclaim];
    }
    delete(units)
}

/// Deletes units that are not being deleted yet.
pub(crate) fn delete<'a>(units: impl IntoIterator<Item = &'a Unit>) -> Vec<Action> {
    units
        .into_iter()
        .filter(|unit| !unit.deleting)
        .map(|unit| Action::Delete { unit: unit.key, name: unit.name.clone(), uid: unit.uid.clone() })
        .collect()
}
