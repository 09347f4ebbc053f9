//! Events of runs, by the one recorder of the process. An event follows the status that it
//! announces, and is only for people: one that cannot be sent is no reason to stop.

use gaugeblock_planner::{Event, EventKind};
use kube::runtime::events::{Event as Kubernetes, EventType, Recorder};
use tracing::warn;

use crate::identity::RunRef;

/// Longest note that the API takes, in bytes.
const LONGEST_NOTE: usize = 1024;
/// What is being done when something happens: the API wants a word.
const ACTION: &str = "Benchmark";

/// Sends events, in their order.
pub async fn send(recorder: &Recorder, run: &RunRef, events: &[Event]) {
    let reference = run.reference();
    for Event { kind, reason, note } in events {
        let event = Kubernetes {
            type_: match kind {
                EventKind::Normal => EventType::Normal,
                EventKind::Warning => EventType::Warning,
            },
            reason: reason.name().to_owned(),
            note: Some(shortened(note).to_owned()),
            action: ACTION.to_owned(),
            secondary: None,
        };
        let sent = crate::call::call(recorder.publish(&event, &reference)).await;
        if let Err(error) = sent {
            warn!(reason = reason.name(), %error, "an event could not be sent");
        }
    }
}

fn shortened(note: &str) -> &str {
    let mut end = note.len().min(LONGEST_NOTE);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NOTE, shortened};

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = "é".repeat(LONGEST_NOTE);
        assert_eq!(shortened(&long).len(), LONGEST_NOTE);
        let odd = format!("a{long}");
        assert_eq!(shortened(&odd).len(), LONGEST_NOTE - 1);
    }
}
