//! Failures of a run: from what a unit shows to a reason and a message with a next step.

use gaugeblock_crds::condition::Reason;
use gaugeblock_measurement::{Outcome, trial::TargetLoss};
use jiff::Timestamp;

use crate::{
    action::Plan,
    observed::{FailureKind, Observed, Role, Unit, UnitState, Waiting},
    status::StatusBuilder,
};

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub reason: Reason,
    /// In words, with the next step.
    pub message: String,
}

impl Failure {
    /// A failure for this reason.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The API server refused to create something: the run fails with the server's own words.
pub fn creation_refused(observed: &Observed, object: &str, message: &str, now: Timestamp) -> Plan {
    let failure = Failure::new(
        Reason::CreationRefused,
        format!(
            "the API server refused to create {object}: {message} — change the run or the namespace's policies, then create it anew"
        ),
    );
    StatusBuilder::new(observed, now).fail(&failure).into_plan(Vec::new(), None)
}

/// What a part is called in messages.
pub fn part(unit: &Unit) -> &'static str {
    match unit.key.role {
        Role::Dependency(_) => "dependency",
        Role::Target => "target",
        Role::Sampler => "sampler",
        Role::Generator => "load generator",
    }
}

/// A state from which a unit does not recover by waiting, whatever its part.
pub fn hopeless(unit: &Unit) -> Option<Failure> {
    let (part, name) = (part(unit), &unit.name);
    match &unit.state {
        UnitState::Pending(Waiting::Image(why)) => Some(Failure::new(
            Reason::ImagePullError,
            format!(
                "the image of the {part} cannot be pulled: {why} — check its name, its registry and the pull secret (pod {name})"
            ),
        )),
        UnitState::Pending(Waiting::Config(why)) => Some(Failure::new(
            Reason::ContainerConfigError,
            format!(
                "the container of the {part} cannot be made: {why} — create what it names, or correct the run (pod {name})"
            ),
        )),
        UnitState::Pending(Waiting::Start(why)) => Some(start_error(part, name, why)),
        UnitState::Failed { kind: FailureKind::StartError, message, .. } => Some(start_error(part, name, message)),
        UnitState::Failed { kind: FailureKind::AdmissionRefused, message, .. } => Some(Failure::new(
            Reason::AdmissionRefused,
            format!(
                "the node refused the {part}: {message} — other pods may hold its exclusive CPUs; see `kubectl get pods -A --field-selector spec.nodeName=…`"
            ),
        )),
        _ => None,
    }
}

fn start_error(part: &str, name: &str, why: &str) -> Failure {
    Failure::new(
        Reason::StartError,
        format!("the command of the {part} cannot be started: {why} — correct `command` and `args` (pod {name})"),
    )
}

/// A unit that has waited for a node longer than allowed.
pub fn unschedulable(unit: &Unit, words: &str) -> Failure {
    Failure::new(
        Reason::Unschedulable,
        format!(
            "no node took the {} in time: {words} — check the pool's selector, tolerations and free CPUs",
            part(unit)
        ),
    )
}

/// The run fails because its target does.
pub fn of_outcome(arm: &str, outcome: &Outcome) -> Option<Failure> {
    let Outcome::LostToTarget(loss, message) = outcome else {
        return None;
    };
    Some(match loss {
        TargetLoss::OomKilled => Failure::new(
            Reason::TargetOomKilled,
            format!("arm {arm} was killed for memory: {message} — raise resources.memory, or take it as the finding"),
        ),
        TargetLoss::Exited => Failure::new(
            Reason::TargetExited,
            format!("arm {arm} ended while it was measured: {message} — its log's end is in the run's Secret"),
        ),
        TargetLoss::NeverReady => Failure::new(
            Reason::TargetNotReady,
            format!("arm {arm}: {message} — check readiness.path, readiness.status, port and readiness.timeout"),
        ),
        TargetLoss::NotStarted => Failure::new(
            Reason::StartError,
            format!("arm {arm} could not be started: {message} — correct `command` and `args`"),
        ),
    })
}
