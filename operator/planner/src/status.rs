//! The status of a run, built from what was last said and what is known now.

use std::time::Duration;

use gaugeblock_crds::{
    BenchmarkRunStatus,
    condition::{ConditionType, Reason},
    status::{ArmStatus, LONGEST_MESSAGE, MOST_FINDINGS, MOST_RESULTS, Phase, ResultRow, RunVerdict},
};
use gaugeblock_measurement::Outcome;
use gaugeblock_verdict::{
    Judgement, RunJudgement, Scale, Verdict,
    quantity::{quantity, signed_percent},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::{
    action::{Action, Event, EventKind, Plan},
    compare,
    failure::Failure,
    observed::{Observed, Role, TrialSummary},
    snapshot::Snapshot,
};

/// Collects status and events; both are written once, last.
pub struct StatusBuilder {
    status: BenchmarkRunStatus,
    events: Vec<Event>,
    now: Timestamp,
    generation: i64,
}

impl StatusBuilder {
    /// Starts from what was last said.
    pub fn new(observed: &Observed, now: Timestamp) -> Self {
        let mut status = observed.run.status.clone();
        status.observed_generation = Some(observed.run.generation);
        Self { status, events: Vec::new(), now, generation: observed.run.generation }
    }

    /// Whether a condition stands.
    pub fn is(&self, condition: ConditionType) -> bool {
        is(&self.status, condition)
    }

    /// The status so far.
    pub fn status(&mut self) -> &mut BenchmarkRunStatus {
        &mut self.status
    }

    /// Phase, reason and message for people. A new phase is an event.
    #[must_use]
    pub fn phase(mut self, phase: Phase, reason: Reason, message: impl Into<String>) -> Self {
        let message = shorten(&message.into());
        if self.status.reason != Some(reason) || self.status.phase != phase {
            self.events.push(Event { kind: EventKind::Normal, reason, note: message.clone() });
        }
        self.status.phase = phase;
        self.status.reason = Some(reason);
        self.status.message = Some(message);
        self
    }

    /// Sets a condition; its time changes only with its status.
    #[must_use]
    pub fn condition(mut self, kind: ConditionType, holds: bool, reason: Reason, message: impl Into<String>) -> Self {
        let status = if holds { "True" } else { "False" };
        let old = self.status.conditions.iter().find(|condition| condition.type_ == kind.name());
        let since =
            old.filter(|old| old.status == status).map_or(Time(self.now), |old| old.last_transition_time.clone());
        let new = Condition {
            type_: kind.name().to_owned(),
            status: status.to_owned(),
            reason: reason.name().to_owned(),
            message: shorten(&message.into()),
            observed_generation: Some(self.generation),
            last_transition_time: since,
        };
        self.status.conditions.retain(|condition| condition.type_ != kind.name());
        self.status.conditions.push(new);
        self.status.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
        self
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, kind: EventKind, reason: Reason, note: impl Into<String>) -> Self {
        self.events.push(Event { kind, reason, note: shorten(&note.into()) });
        self
    }

    /// The run cannot go on. What was measured stays; what it left is removed next.
    #[must_use]
    pub fn fail(mut self, failure: &Failure) -> Self {
        self.status.phase = Phase::CleaningUp;
        self.status.reason = Some(failure.reason);
        self.status.message = Some(shorten(&failure.message));
        self.status.activity = None;
        self.status.queue_position = None;
        self.condition(ConditionType::Failed, true, failure.reason, &failure.message).event(
            EventKind::Warning,
            failure.reason,
            &failure.message,
        )
    }

    /// The run has all that it needs for its verdict.
    #[must_use]
    pub fn complete(mut self, verdict: Option<RunVerdict>, summary: String) -> Self {
        let reason = verdict.map_or(Reason::Measured, RunVerdict::reason);
        self.status.phase = Phase::CleaningUp;
        self.status.reason = Some(reason);
        self.status.message = Some(shorten(&summary));
        self.status.summary = Some(shorten(&summary));
        self.status.activity = None;
        let kind = if verdict == Some(RunVerdict::Regressed) { EventKind::Warning } else { EventKind::Normal };
        self.condition(
            ConditionType::Complete,
            true,
            Reason::Compared,
            "everything that was needed is measured and compared",
        )
        .event(kind, reason, summary)
    }

    /// Notes the images of the targets that run.
    #[must_use]
    pub fn images(mut self, snapshot: &Snapshot, observed: &Observed) -> Self {
        if self.status.arms.is_empty() {
            self.status.arms = arms(snapshot, &observed.trials);
        }
        for unit in observed.units.iter().filter(|unit| unit.key.role == Role::Target && unit.image.is_some()) {
            if let Some(arm) = self.status.arms.get_mut(unit.key.slot.arm as usize) {
                arm.image.clone_from(&unit.image);
            }
        }
        self
    }

    /// Arms, results and findings from the trials so far.
    #[must_use]
    pub fn results(mut self, snapshot: &Snapshot, trials: &[TrialSummary], judgement: &RunJudgement) -> Self {
        // An image seen while a target ran stays known: its pod is gone when the record is stored.
        let seen: Vec<Option<String>> = self.status.arms.iter().map(|arm| arm.image.clone()).collect();
        self.status.arms = arms(snapshot, trials);
        for (arm, image) in self.status.arms.iter_mut().zip(seen) {
            arm.image = arm.image.take().or(image);
        }
        let mut rows: Vec<&Judgement> = judgement.judgements.iter().collect();
        rows.sort_by_key(|judgement| !judgement.gates);
        self.status.results = rows.into_iter().take(MOST_RESULTS).map(row).collect();
        let mut findings: Vec<String> = judgement.findings.iter().map(|finding| finding.sentence.clone()).collect();
        findings.extend(
            judgement
                .judgements
                .iter()
                .filter(|judgement| judgement.gates && judgement.verdict != Verdict::NoChange)
                .map(|judgement| judgement.reason().to_owned()),
        );
        findings.dedup();
        self.status.findings =
            findings.iter().take(MOST_FINDINGS).map(|finding| finding.chars().take(500).collect()).collect();
        self
    }

    /// The plan.
    pub fn into_plan(self, actions: Vec<Action>, again: Option<Duration>) -> Plan {
        Plan { actions, status: self.status, events: self.events, again }
    }
}

/// Whether a condition of a status stands.
pub fn is(status: &BenchmarkRunStatus, condition: ConditionType) -> bool {
    status.conditions.iter().any(|c| c.type_ == condition.name() && c.status == "True")
}

/// The API's word for a verdict.
pub const fn run_verdict(verdict: Verdict) -> RunVerdict {
    match verdict {
        Verdict::Regressed => RunVerdict::Regressed,
        Verdict::Improved => RunVerdict::Improved,
        Verdict::NoChange => RunVerdict::NoChange,
        Verdict::Inconclusive => RunVerdict::Inconclusive,
        Verdict::NotComparable => RunVerdict::NotComparable,
        Verdict::Invalid => RunVerdict::Invalid,
    }
}

/// One sentence about the whole run: the gates that decided it.
pub fn summary(judgement: &RunJudgement) -> String {
    let decisive: Vec<String> = judgement
        .judgements
        .iter()
        .filter(|one| one.gates && one.verdict == judgement.verdict)
        .map(|one| one.reason().to_owned())
        .collect();
    let gates = judgement.gates;
    match judgement.verdict {
        Verdict::NoChange => {
            format!("all {gates} gates are the same within the smallest effect that matters")
        }
        verdict => match decisive.split_first() {
            None => judgement
                .findings
                .first()
                .map_or_else(|| verdict.as_str().to_owned(), |finding| finding.sentence.clone()),
            Some((first, [])) => first.clone(),
            Some((first, rest)) => format!("{first} (and {} more of {gates} gates)", rest.len()),
        },
    }
}

fn arms(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<ArmStatus> {
    snapshot
        .spec
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let own = || trials.iter().filter(move |trial| trial.slot.arm as usize == index && trial.slot.stage == 0);
            let complete = own().filter(|trial| trial.slot.block > 0 && trial.outcome == Outcome::Complete).count();
            let void = own().filter(|trial| matches!(trial.outcome, Outcome::Void(..))).count();
            ArmStatus {
                name: target.name.clone(),
                image: own().find_map(|trial| trial.image.clone()),
                trials: complete as i32,
                void_trials: void as i32,
            }
        })
        .collect()
}

fn row(judgement: &Judgement) -> ResultRow {
    let value = |value: f64| quantity(value, &judgement.unit);
    let effect = |value: f64| match judgement.scale {
        Scale::Relative => signed_percent(value),
        Scale::Absolute => signed(value, &judgement.unit),
    };
    ResultRow {
        arm: judgement.arm.clone(),
        scenario: judgement.scenario.clone(),
        metric: judgement.metric.0.clone(),
        gate: judgement.gates,
        verdict: Some(run_verdict(judgement.verdict)),
        baseline: judgement.baseline.map(|arm| value(arm.centre())),
        value: judgement.candidate.map(|arm| value(arm.centre())).unwrap_or_default(),
        effect: judgement.effect.map(effect),
        interval: judgement.interval.map(|interval| format!("{} … {}", effect(interval.low), effect(interval.high))),
        smallest_visible: judgement.smallest_visible_effect.map(|size| effect(size).trim_start_matches('+').to_owned()),
        pairs: judgement.pairs as i32,
    }
}

/// A change in the metric's own unit, with its sign.
fn signed(value: f64, unit: &str) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", quantity(value, unit))
}

/// Progress in blocks.
pub fn progress(snapshot: &Snapshot, trials: &[TrialSummary]) -> String {
    let done = compare::clean_blocks(snapshot, trials).len();
    format!("{done}/{}", snapshot.spec.repetitions.blocks)
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= LONGEST_MESSAGE {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(LONGEST_MESSAGE - 1).collect();
    short.push('…');
    short
}
