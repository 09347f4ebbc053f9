//! The decision about one run.

use std::time::Duration;

use gaugeblock_crds::{
    condition::{ConditionType, Reason},
    names,
    run::Purpose,
    status::Phase,
};
use gaugeblock_measurement::Outcome;
use jiff::Timestamp;

use crate::{
    action::{Action, EventKind, Plan},
    check::check,
    compare,
    failure::{self, Failure},
    observed::{Observed, Place, Slot, TrialSummary},
    order, pods, programs,
    queue::{Admission, admission},
    snapshot::Snapshot,
    status::{self, StatusBuilder, is, run_verdict},
    sweep::{self, delete},
    trial::{Step, Trial},
};

/// Everything that changes is watched; this is for what may have been missed, and for deadlines.
const AGAIN: Duration = Duration::from_secs(5);

/// What to do next about one run.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let builder = StatusBuilder::new(observed, now);
    if observed.run.deleting {
        return builder.into_plan(sweep::sweep(&observed.units), Some(AGAIN));
    }
    let last = &observed.run.status;
    if is(last, ConditionType::Finished) {
        return after_end(observed, builder, now);
    }
    if is(last, ConditionType::Complete) || is(last, ConditionType::Failed) {
        return clean_up(observed, builder, now);
    }
    match advance(observed, builder, now) {
        Ok(plan) => plan,
        Err(Ended(failure, verdict_too)) => fail(observed, now, &failure, verdict_too),
    }
}

/// Why a run ends without its verdict, and whether what was measured may still be judged.
struct Ended(Failure, bool);

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self(failure, false)
    }
}

/// A run under way.
fn advance(observed: &Observed, builder: StatusBuilder, now: Timestamp) -> Result<Plan, Ended> {
    let spec = &observed.run.spec;
    check(spec)?;
    if spec.cancel {
        return Err(Ended(
            Failure::new(Reason::Cancelled, "the run was cancelled by its owner; what was measured is kept"),
            true,
        ));
    }
    let (pool, image) = match &observed.place {
        Place::Cluster(cluster) => (cluster.pool.as_ref(), Some(cluster.measuring_image.as_str())),
        Place::Local => (None, None),
    };
    let (builder, node) = match &observed.place {
        Place::Local => (builder, None),
        Place::Cluster(cluster) => match admission(&observed.run, cluster)? {
            Admission::Holds(node) => (builder, Some(node)),
            Admission::Claim(_) if spec.suspend => return Ok(suspended(builder)),
            Admission::Claim(node) => {
                let message = format!("node {node} is claimed for the run");
                let builder = builder.phase(Phase::Queued, Reason::NodeClaimed, message);
                return Ok(builder.into_plan(vec![Action::Claim { node }], Some(Duration::from_secs(1))));
            }
            Admission::Waits { position, why } => {
                let mut builder = builder
                    .condition(ConditionType::Admitted, false, Reason::WaitingForNode, &why)
                    .phase(Phase::Queued, Reason::WaitingForNode, why);
                builder.status().queue_position = Some(position);
                return Ok(builder.into_plan(Vec::new(), Some(AGAIN)));
            }
        },
    };
    let Some(snapshot) = &observed.snapshot else {
        let run = &observed.run;
        let snapshot = Snapshot::freeze(&run.namespace, &run.name, &run.uid, spec, pool, image);
        let where_to = node.as_deref().unwrap_or("this machine");
        let mut builder = builder
            .condition(ConditionType::Admitted, true, Reason::NodeClaimed, format!("the run has {where_to}"))
            .phase(Phase::Preparing, Reason::PlanFrozen, format!("the plan is frozen; the run has {where_to}"));
        let status = builder.status();
        status.queue_position = None;
        status.node = node;
        return Ok(builder.into_plan(vec![Action::Freeze(Box::new(snapshot))], Some(Duration::from_secs(1))));
    };
    if !spec.dependencies.is_empty() && !observed.has_credentials {
        return Ok(builder.into_plan(vec![Action::MakeCredentials], Some(Duration::from_secs(1))));
    }
    let started = observed.run.status.started.as_ref().and_then(|text| text.parse::<Timestamp>().ok());
    if started.is_some_and(|started| now.duration_since(started) > length(spec.deadline.nanos())) {
        let message = format!("the run's deadline of {} passed; what was measured is kept", spec.deadline);
        return Err(Ended(Failure::new(Reason::DeadlineExceeded, message), true));
    }
    measure(observed, snapshot, builder, node.as_deref(), now)
}

/// The run has its node and its plan: measure and compare.
fn measure(
    observed: &Observed,
    snapshot: &Snapshot,
    builder: StatusBuilder,
    node: Option<&str>,
    now: Timestamp,
) -> Result<Plan, Ended> {
    let trials = &observed.trials;
    let builder = pinned(observed, snapshot, builder)?.images(snapshot, observed);
    if let Some(failure) =
        trials.iter().find_map(|trial| failure::of_outcome(arm_name(snapshot, trial), &trial.outcome))
    {
        return Err(failure.into());
    }
    too_many_void(snapshot, trials)?;
    let blocks = compare::clean_blocks(snapshot, trials).len();
    let next = next_slot(snapshot, trials);
    let mut builder = builder;
    if blocks > 0 {
        let judgement = compare::judge(snapshot, trials, next.is_none());
        builder = builder.results(snapshot, trials, &judgement);
        let decided =
            judgement.decided && snapshot.spec.repetitions.stop_early && snapshot.spec.purpose == Purpose::Gate;
        if decided || next.is_none() {
            return Ok(complete(observed, builder, &judgement));
        }
    }
    let Some((slot, position)) = next else {
        return Err(
            Failure::new(Reason::InvalidSpec, "nothing is planned: repetitions.blocks must be at least 1").into()
        );
    };
    let stale: Vec<_> = observed.units.iter().filter(|unit| unit.key.slot != slot).collect();
    if !stale.is_empty() {
        let status = builder.status();
        status.activity = Some("removing the last trial".into());
        status.progress = Some(status::progress(snapshot, trials));
        return Ok(builder.into_plan(delete(stale), Some(Duration::from_secs(1))));
    }
    if observed.run.spec.suspend && observed.units.is_empty() {
        return Ok(suspended(builder));
    }
    let trial = Trial { observed, snapshot, slot, position, node, now };
    match trial.step() {
        Step::Fail(failure) => Err(failure.into()),
        Step::Go { actions, activity, waiting_for } => {
            let message = waiting_for.unwrap_or_else(|| expectation(snapshot));
            let mut builder = builder
                .condition(ConditionType::Prepared, true, Reason::PlanFrozen, "the plan is frozen and checked")
                .phase(Phase::Measuring, Reason::Measuring, message);
            let status = builder.status();
            status.activity = Some(activity);
            status.progress = Some(status::progress(snapshot, trials));
            status.started.get_or_insert_with(|| now.to_string());
            status.expectation.get_or_insert_with(|| expectation(snapshot));
            Ok(builder.into_plan(actions, Some(AGAIN)))
        }
    }
}

/// Whether the target has, and had, its CPUs for itself.
fn pinned(observed: &Observed, snapshot: &Snapshot, builder: StatusBuilder) -> Result<StatusBuilder, Failure> {
    let required = snapshot.needs_isolation();
    if let Place::Cluster(_) = observed.place {
        for arm in 0..snapshot.spec.targets.len() {
            if let Err(why) = pods::exclusive_cpus_of(snapshot, arm) {
                let message = format!("arm {}: {why}", snapshot.spec.targets[arm].name);
                if required {
                    return Err(Failure::new(Reason::CpusNotExclusive, message));
                }
                return Ok(builder.condition(ConditionType::CpuPinned, false, Reason::SharedCpus, message));
            }
        }
    }
    let proved: Vec<_> = observed.trials.iter().filter(|trial| trial.exclusive.is_some()).collect();
    match proved.iter().find(|trial| trial.exclusive == Some(false)) {
        Some(trial) => {
            let message = format!("arm {}: {}", arm_name(snapshot, trial), trial.cpus);
            if required {
                return Err(Failure::new(Reason::CpusNotExclusive, message));
            }
            Ok(builder.condition(ConditionType::CpuPinned, false, Reason::SharedCpus, message))
        }
        None => match proved.last() {
            Some(trial) => {
                let message = format!("{}: no other container may use it, in {} trial(s)", trial.cpus, proved.len());
                Ok(builder.condition(ConditionType::CpuPinned, true, Reason::ExclusiveCpus, message))
            }
            None => Ok(builder),
        },
    }
}

fn too_many_void(snapshot: &Snapshot, trials: &[TrialSummary]) -> Result<(), Failure> {
    let void = compare::void_blocks(trials);
    let allowed = u32::try_from(snapshot.spec.repetitions.void_blocks).unwrap_or(0);
    if void <= allowed {
        return Ok(());
    }
    let last = trials.iter().filter_map(|trial| match &trial.outcome {
        Outcome::Void(cause, message) => Some((trial.ended, format!("{cause:?}: {message}"))),
        _ => None,
    });
    let last = last.max_by_key(|(ended, _)| *ended).map(|(_, message)| message).unwrap_or_default();
    Err(Failure::new(
        Reason::TooManyVoidBlocks,
        format!("{void} blocks were void, {allowed} may be repeated (repetitions.voidBlocks); the last: {last}"),
    ))
}

/// The next place in the plan that has no record, and the place of its arm in the block. A block
/// with a void trial is measured anew as a whole.
pub fn next_slot(snapshot: &Snapshot, trials: &[TrialSummary]) -> Option<(Slot, u32)> {
    let blocks = u32::try_from(snapshot.spec.repetitions.blocks).unwrap_or(0);
    (0..=blocks).find_map(|block| {
        let attempt = (0..).find(|attempt| !compare::is_void(trials, block, *attempt))?;
        let order = order::arms(snapshot.seed, block, snapshot.spec.targets.len());
        order.into_iter().enumerate().find_map(|(position, arm)| {
            (0..snapshot.stages.len() as u32).find_map(|stage| {
                let slot = Slot { block, attempt, arm: arm as u32, stage };
                let stored = trials.iter().any(|trial| trial.slot == slot);
                (!stored).then_some((slot, position as u32))
            })
        })
    })
}

fn complete(observed: &Observed, builder: StatusBuilder, judgement: &gaugeblock_verdict::RunJudgement) -> Plan {
    let (verdict, summary) = match observed.run.spec.purpose {
        Purpose::Gate => (Some(run_verdict(judgement.verdict)), status::summary(judgement)),
        Purpose::Study => (None, "all blocks are measured".to_owned()),
    };
    let mut builder = builder;
    builder.status().verdict = verdict;
    if let Some(snapshot) = &observed.snapshot {
        builder.status().progress = Some(status::progress(snapshot, &observed.trials));
    }
    builder.complete(verdict, summary).into_plan(Vec::new(), Some(Duration::from_millis(200)))
}

/// The run ends without a verdict of its own; what was measured is kept, and judged where it may be.
fn fail(observed: &Observed, now: Timestamp, failure: &Failure, judge: bool) -> Plan {
    let mut builder = StatusBuilder::new(observed, now);
    if failure.reason == Reason::CpusNotExclusive {
        builder = builder.condition(ConditionType::CpuPinned, false, Reason::SharedCpus, &failure.message);
    }
    if let Some(snapshot) = &observed.snapshot
        && !observed.trials.is_empty()
    {
        let judgement = compare::judge(snapshot, &observed.trials, true);
        builder = builder.results(snapshot, &observed.trials, &judgement);
        let blocks = compare::clean_blocks(snapshot, &observed.trials).len();
        let status = builder.status();
        status.progress = Some(status::progress(snapshot, &observed.trials));
        if judge && blocks > 0 && snapshot.spec.purpose == Purpose::Gate {
            status.verdict = Some(run_verdict(judgement.verdict));
            status.summary = Some(status::summary(&judgement));
        }
    }
    builder.fail(failure).into_plan(Vec::new(), Some(Duration::from_millis(200)))
}

/// The verdict or the failure stands in the status: remove what is left, write the result, give
/// the node back, and only then call the run finished.
fn clean_up(observed: &Observed, builder: StatusBuilder, now: Timestamp) -> Plan {
    if !observed.units.is_empty() {
        let failed = is(&observed.run.status, ConditionType::Failed);
        let logs = observed
            .units
            .iter()
            .filter(|unit| failed && !unit.deleting && !unit.gated)
            .map(|unit| Action::KeepLog { unit: unit.key, name: unit.name.clone() });
        let actions: Vec<Action> = logs.chain(delete(&observed.units)).collect();
        let mut builder = builder;
        if let Some(snapshot) = &observed.snapshot
            && actions.iter().any(|action| matches!(action, Action::KeepLog { .. }))
        {
            builder.status().log_secret = Some(names::log_secret(&snapshot.stem()));
        }
        return builder.into_plan(actions, Some(Duration::from_secs(1)));
    }
    let mut actions = Vec::new();
    let mut builder = builder;
    if let Some(snapshot) = &observed.snapshot
        && !observed.trials.is_empty()
    {
        if observed.result.is_none() {
            actions.push(Action::WriteResult);
        }
        builder.status().result_config_map = Some(snapshot.result_name());
    }
    actions.push(Action::Unclaim);
    let reason = builder.status().reason.unwrap_or(Reason::Measured);
    let message = builder.status().message.clone().unwrap_or_default();
    let status = builder.status();
    status.phase = Phase::Finished;
    status.activity = None;
    status.finished = Some(now.to_string());
    let kind = if reason.is_failure() { EventKind::Warning } else { EventKind::Normal };
    builder
        .condition(ConditionType::Finished, true, reason, message)
        .event(kind, reason, "the run has finished; nothing of it is left on its node")
        .into_plan(actions, None)
}

/// A finished run: sweep up what a late write may have left, and delete the run after its time.
fn after_end(observed: &Observed, builder: StatusBuilder, now: Timestamp) -> Plan {
    let mut actions = delete(&observed.units);
    if observed.units.is_empty() && holds_claim(observed) {
        actions.push(Action::Unclaim);
    }
    let finished = observed.run.status.finished.as_ref().and_then(|text| text.parse::<Timestamp>().ok());
    let left = observed.run.spec.ttl_seconds_after_finished.zip(finished).map(|(ttl, finished)| {
        let end = finished + length(u64::try_from(ttl).unwrap_or(0).saturating_mul(1_000_000_000));
        Duration::try_from(end.duration_since(now)).unwrap_or_default()
    });
    if left == Some(Duration::ZERO) {
        actions.push(Action::DeleteRun);
    }
    let again = if observed.units.is_empty() { left } else { Some(AGAIN) };
    builder.into_plan(actions, again)
}

fn holds_claim(observed: &Observed) -> bool {
    match &observed.place {
        Place::Local => false,
        Place::Cluster(cluster) => cluster.claims.iter().any(|claim| claim.holder == observed.run.uid),
    }
}

fn suspended(builder: StatusBuilder) -> Plan {
    let phase = Phase::Queued;
    let message = "suspended by its owner: set spec.suspend to false to go on";
    builder.phase(phase, Reason::Suspended, message).into_plan(Vec::new(), None)
}

/// How long it takes, said before it starts.
fn expectation(snapshot: &Snapshot) -> String {
    let arms = snapshot.spec.targets.len() as u32;
    let trial: Duration = (0..snapshot.stages.len() as u32)
        .map(|stage| {
            programs::trial_time(snapshot, Slot { block: 0, attempt: 0, arm: 0, stage }) + Duration::from_secs(8)
        })
        .sum();
    let blocks = u32::try_from(snapshot.spec.repetitions.blocks).unwrap_or(1);
    let seconds = (trial * arms * (blocks + 1)).as_secs();
    let time = if seconds < 100 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) };
    let early =
        if snapshot.spec.repetitions.stop_early && snapshot.spec.purpose == Purpose::Gate { "at most " } else { "" };
    format!("{early}{blocks} block(s) of {arms} trial(s) after one to warm up: about {time}")
}

fn arm_name<'a>(snapshot: &'a Snapshot, trial: &TrialSummary) -> &'a str {
    snapshot.spec.targets.get(trial.slot.arm as usize).map_or("?", |target| &target.name)
}

fn length(nanos: u64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
