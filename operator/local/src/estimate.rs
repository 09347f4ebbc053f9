//! How long a run still takes, from its plan and from what its trials took so far.

use std::time::Duration;

use gaugeblock_crds::run::Purpose;
use gaugeblock_planner::{Slot, Snapshot, TrialSummary, programs};

use crate::listener::Progress;

/// What a trial takes beside its planned time before the first one has shown it: a fresh database,
/// the start of the target, the end of everything.
const OVERHEAD: Duration = Duration::from_millis(1500);

/// Progress of a run. `elapsed` is counted from its first trial on, `current` from the beginning of
/// the trial under way.
pub fn progress(snapshot: &Snapshot, trials: &[TrialSummary], elapsed: Duration, current: Duration) -> Progress {
    let arms = snapshot.spec.targets.len() as u32;
    let stages = snapshot.stages.len() as u32;
    let blocks = u32::try_from(snapshot.spec.repetitions.blocks).unwrap_or(0) + 1;
    // Trials of a void block are measured again: they come on top.
    let void =
        trials.iter().filter(|trial| matches!(trial.outcome, gaugeblock_measurement::Outcome::Void(..))).count() as u32;
    let planned = (arms * stages * blocks + void).max(trials.len() as u32);
    let taken: f64 = trials.iter().map(|trial| trial.ended.seconds_since(trial.started)).sum();
    let each = if trials.is_empty() {
        let slot = |stage| Slot { block: 0, attempt: 0, arm: 0, stage };
        let all: Duration = (0..stages).map(|stage| programs::trial_time(snapshot, slot(stage)) + OVERHEAD).sum();
        all / stages.max(1)
    } else {
        Duration::from_secs_f64((taken / trials.len() as f64).max(0.0))
    };
    let stored = trials.len() as u32;
    Progress {
        stored,
        planned,
        at_most: snapshot.spec.repetitions.stop_early && snapshot.spec.purpose == Purpose::Gate,
        elapsed,
        left: (each * (planned - stored)).saturating_sub(current.min(each)),
    }
}
