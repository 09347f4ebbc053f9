//! The next step of one stage of one trial.
//!
//! A gated target's UID is known before it runs. So: dependencies serve → target, gated → sampler
//! (which knows the UID) and generator, gated → all there: the target is let go → it has an
//! address: the generator is let go → it ends: the target is deleted → the sampler sees it vanish
//! and ends → both records are read and stored → everything is deleted. Until the target is let go
//! anything that is missing is made anew; from then on anything that is missing was taken away
//! from outside, and the trial is void. So no step needs to be remembered anywhere.

mod units;

use std::time::Duration;

use gaugeblock_crds::condition::Reason;
use gaugeblock_measurement::{
    Outcome, UnixNanos,
    trial::{Placement, TargetLoss, VoidCause},
};
use jiff::Timestamp;

use crate::{
    action::{Action, Conclusion},
    failure::{self, Failure},
    observed::{FailureKind, Observed, Role, Slot, Unit, UnitState, Waiting},
    programs,
    snapshot::Snapshot,
};

/// What to do about the current trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Do this and look again when something changes, at the latest after the time given.
    Go {
        /// Writes.
        actions: Vec<Action>,
        /// What is being done, for the status.
        activity: String,
        /// Something to worry about, such as the scheduler's words.
        waiting_for: Option<String>,
    },
    /// The run cannot go on.
    Fail(Failure),
}

/// One trial under way.
pub struct Trial<'a> {
    /// All that was observed.
    pub observed: &'a Observed,
    /// The frozen plan.
    pub snapshot: &'a Snapshot,
    /// Which stage of which trial.
    pub slot: Slot,
    /// Place of the arm inside its block.
    pub position: u32,
    /// Node of the target; `None` in local mode.
    pub node: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
}

impl Trial<'_> {
    /// The next step.
    pub fn step(&self) -> Step {
        if let Some(failure) = self.units().find_map(failure::hopeless) {
            return Step::Fail(failure);
        }
        if let Some(failure) = self.too_late() {
            return Step::Fail(failure);
        }
        let mut dependencies = Vec::new();
        let mut missing = Vec::new();
        for index in 0..self.snapshot.spec.dependencies.len() {
            match self.unit(Role::Dependency(index as u32)) {
                Some(unit) => dependencies.push(unit),
                None => missing.push(index),
            }
        }
        let target = self.unit(Role::Target);
        let generator = self.unit(Role::Generator);
        let sampler = self.unit(Role::Sampler);
        let measured = generator.is_some_and(|unit| unit.state == UnitState::Succeeded);
        if !measured {
            if let Some(unit) = dependencies.iter().find(|unit| unit.ended()) {
                return self
                    .void(VoidCause::DependencyFailed, format!("{} ended: {}", unit.name, describe(&unit.state)));
            }
            if let Some(why) = dependencies.iter().find_map(|unit| taken_away(unit)) {
                return self.void(VoidCause::Disrupted, why);
            }
        }
        let released = target.is_some_and(|unit| !unit.gated) || measured;
        if !missing.is_empty() {
            if released && !measured {
                return self.void(VoidCause::Disrupted, "a dependency was deleted while it was used".into());
            }
            if !released {
                let actions = missing.into_iter().filter_map(|index| self.create_dependency(index)).collect();
                return self.go(actions, "starting dependencies");
            }
        }
        if let Some(waiting) =
            dependencies.iter().find(|unit| unit.state != UnitState::Running { ready: true } || unit.address.is_none())
            && !released
        {
            return self.wait(waiting, "waiting for dependencies");
        }
        match target {
            Some(target) if target.gated => self.prepare(target, sampler, generator, &dependencies),
            Some(target) => self.measure(target, sampler, generator),
            None => self.without_target(sampler, generator, &dependencies),
        }
    }

    /// The target is gone, or was never there.
    fn without_target(&self, sampler: Option<&Unit>, generator: Option<&Unit>, dependencies: &[&Unit]) -> Step {
        match (generator, sampler) {
            (None, None) => self.go(vec![self.create_target(dependencies)], "creating the target"),
            (Some(generator), Some(sampler)) if generator.ended() => {
                if sampler.ended() {
                    self.store(Outcome::Complete)
                } else {
                    self.go(Vec::new(), "waiting for the sampler's record")
                }
            }
            (Some(generator), None) if generator.ended() => {
                self.void(VoidCause::SamplerFailed, "the sampler was deleted before its record was read".into())
            }
            _ => self.void(VoidCause::Disrupted, "the target was deleted while it was measured".into()),
        }
    }

    /// The target stands behind its gate: make everything else ready, then let it go.
    fn prepare(&self, target: &Unit, sampler: Option<&Unit>, generator: Option<&Unit>, dependencies: &[&Unit]) -> Step {
        if let Some(why) = [Some(target), sampler, generator].into_iter().flatten().find_map(taken_away) {
            return self.void(VoidCause::Disrupted, why);
        }
        let mut actions = Vec::new();
        if sampler.is_none() {
            actions.push(self.create_sampler(target, dependencies));
        }
        if generator.is_none() {
            actions.push(self.create_generator(dependencies));
        }
        if !actions.is_empty() {
            return self.go(actions, "starting the sampler");
        }
        let Some(sampler) = sampler else {
            return self.go(Vec::new(), "starting the sampler");
        };
        match &sampler.state {
            UnitState::Running { ready: true } => {
                let release = Action::Release { unit: target.key, name: target.name.clone(), target: None };
                self.go(vec![release], "starting the target")
            }
            state if sampler.ended() => self.void(
                VoidCause::SamplerFailed,
                format!("the sampler ended before the target started: {}", describe(state)),
            ),
            _ => self.wait(sampler, "starting the sampler"),
        }
    }

    /// The target was let go.
    fn measure(&self, target: &Unit, sampler: Option<&Unit>, generator: Option<&Unit>) -> Step {
        let Some(sampler) = sampler else {
            return self.void(VoidCause::Disrupted, "the sampler was deleted while it was needed".into());
        };
        let Some(generator) = generator else {
            return self.void(VoidCause::Disrupted, "the load generator was deleted while it was needed".into());
        };
        if generator.ended() {
            return self.after_load(target, generator);
        }
        if let Some(why) = [target, sampler, generator].into_iter().find_map(taken_away) {
            return self.void(VoidCause::Disrupted, why);
        }
        if let UnitState::Failed { kind: FailureKind::Lost, message, .. } = &target.state {
            return self.void(VoidCause::Disrupted, format!("the target was lost: {message}"));
        }
        if target.ended() {
            // The kernel's account of the end is in the sampler's record: wait for it.
            return if sampler.ended() {
                self.store(lost(target))
            } else {
                self.go(Vec::new(), "reading why the target ended")
            };
        }
        if sampler.ended() {
            return self
                .void(VoidCause::SamplerFailed, format!("the sampler ended early: {}", describe(&sampler.state)));
        }
        match (&target.state, &target.address) {
            (UnitState::Running { .. }, Some(address)) if generator.gated => {
                let port = target.port.unwrap_or_else(|| programs::port(self.snapshot, self.slot));
                let release = Action::Release {
                    unit: generator.key,
                    name: generator.name.clone(),
                    target: Some(join(address, port)),
                };
                self.go(vec![release], "starting the load generator")
            }
            (UnitState::Running { .. }, Some(_)) if matches!(generator.state, UnitState::Running { .. }) => {
                self.go(Vec::new(), "measuring")
            }
            (UnitState::Running { .. }, Some(_)) => self.wait(generator, "starting the load generator"),
            _ => self.wait(target, "starting the target"),
        }
    }

    /// The generator has ended.
    fn after_load(&self, target: &Unit, generator: &Unit) -> Step {
        match &generator.state {
            UnitState::Failed { kind: FailureKind::Lost, message, .. } => {
                self.void(VoidCause::Disrupted, format!("the load generator was lost: {message}"))
            }
            UnitState::Failed { kind, exit_code, message } if !target.ended() => {
                let code = exit_code.map_or_else(String::new, |code| format!(" with exit code {code}"));
                let message = format!(
                    "the load generator ended{code} ({kind:?}) and left no record: {message} — see its log in the run's Secret"
                );
                Step::Fail(Failure::new(Reason::GeneratorFailed, message))
            }
            _ if target.ended() => self.store_when_sampled(target),
            _ => {
                let delete = Action::Delete { unit: target.key, name: target.name.clone(), uid: target.uid.clone() };
                self.go(if target.deleting { Vec::new() } else { vec![delete] }, "stopping the target")
            }
        }
    }

    /// The generator is through, and so is the target, by itself: while it drained, or just before
    /// it would have been stopped.
    fn store_when_sampled(&self, target: &Unit) -> Step {
        match self.unit(Role::Sampler) {
            Some(sampler) if !sampler.ended() => self.go(Vec::new(), "waiting for the sampler's record"),
            // A deleted pod ends with 0, or with 143 or 137 by the signals that its deletion sends.
            _ if target.deleting => self.store(Outcome::Complete),
            _ => self.store(lost(target)),
        }
    }

    fn units(&self) -> impl Iterator<Item = &Unit> {
        self.observed.units.iter().filter(|unit| unit.key.slot == self.slot)
    }

    fn unit(&self, role: Role) -> Option<&Unit> {
        self.units().find(|unit| unit.key.role == role)
    }

    fn go(&self, actions: Vec<Action>, activity: &str) -> Step {
        Step::Go { actions, activity: self.activity(activity), waiting_for: None }
    }

    /// Waits for a unit that is not running yet, with the scheduler's words if it has no node.
    fn wait(&self, unit: &Unit, activity: &str) -> Step {
        let waiting_for = match &unit.state {
            UnitState::Pending(Waiting::Node(words)) => {
                if self.age(unit) > programs::provisioning(self.snapshot) {
                    return Step::Fail(failure::unschedulable(unit, words));
                }
                Some(format!("the {} waits for a node: {words}", failure::part(unit)))
            }
            _ => None,
        };
        Step::Go { actions: Vec::new(), activity: self.activity(activity), waiting_for }
    }

    fn activity(&self, what: &str) -> String {
        let arm = &self.snapshot.spec.targets[self.slot.arm as usize].name;
        let block =
            if self.slot.block == 0 { "warm-up block".to_owned() } else { format!("block {}", self.slot.block) };
        let attempt =
            if self.slot.attempt == 0 { String::new() } else { format!(" (attempt {})", self.slot.attempt + 1) };
        format!("{block}{attempt}, {arm}: {what}")
    }

    fn void(&self, cause: VoidCause, message: String) -> Step {
        self.store(Outcome::Void(cause, message))
    }

    fn store(&self, outcome: Outcome) -> Step {
        let ended = |role| self.unit(role).filter(|unit| unit.ended()).map(|unit| (unit.key, unit.name.clone()));
        let target = self.unit(Role::Target);
        let started = self.units().map(|unit| unit.created).min().unwrap_or(self.now);
        let conclusion = Conclusion {
            slot: self.slot,
            position: self.position,
            started: UnixNanos(i64::try_from(started.as_nanosecond()).unwrap_or(0)),
            outcome,
            placement: Placement {
                target_node: self.node.map(str::to_owned),
                generator_node: self.unit(Role::Generator).and_then(|unit| unit.node.clone()),
                shared_cpus: Vec::new(),
                restarts: target.map_or(0, |unit| unit.restarts),
                target_image: target.and_then(|unit| unit.image.clone()),
            },
            generator: ended(Role::Generator),
            sampler: ended(Role::Sampler),
            record_name: gaugeblock_crds::names::with_suffix(&self.snapshot.stem(), &self.slot.suffix()),
        };
        self.go(vec![Action::Store(Box::new(conclusion))], "storing the record")
    }

    fn age(&self, unit: &Unit) -> Duration {
        Duration::try_from(self.now.duration_since(unit.created)).unwrap_or_default()
    }

    /// A trial that takes far longer than planned is stuck, and says in what.
    fn too_late(&self) -> Option<Failure> {
        let first = self.units().max_by_key(|unit| self.age(unit))?;
        if self.age(first) <= self.time_allowed() {
            return None;
        }
        let stuck: Vec<_> =
            self.units().map(|unit| format!("{} {}", failure::part(unit), describe(&unit.state))).collect();
        Some(Failure::new(
            Reason::StartTimeout,
            format!("a trial took longer than the {} s allowed ({})", self.time_allowed().as_secs(), stuck.join(", ")),
        ))
    }

    fn time_allowed(&self) -> Duration {
        let dependencies: Duration = self
            .snapshot
            .spec
            .dependencies
            .iter()
            .filter_map(|dependency| dependency.postgres.as_ref())
            .map(|postgres| Duration::from_nanos(postgres.timeout.nanos()))
            .sum();
        programs::provisioning(self.snapshot) + dependencies + self.running_time()
    }

    /// Time for which the target may run.
    fn running_time(&self) -> Duration {
        let (snapshot, slot) = (self.snapshot, self.slot);
        programs::readiness(snapshot, slot)
            + programs::trial_time(snapshot, slot)
            + programs::waiting_time(snapshot, slot)
            + 2 * programs::SLACK
    }
}

/// Address and port as a URL has them.
fn join(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn lost(target: &Unit) -> Outcome {
    let description = describe(&target.state);
    match &target.state {
        UnitState::Failed { kind: FailureKind::OomKilled, .. } => {
            Outcome::LostToTarget(TargetLoss::OomKilled, description)
        }
        UnitState::Failed { kind: FailureKind::StartError, .. } => {
            Outcome::LostToTarget(TargetLoss::NotStarted, description)
        }
        _ => Outcome::LostToTarget(TargetLoss::Exited, description),
    }
}

/// Someone or something else is removing the unit.
fn taken_away(unit: &Unit) -> Option<String> {
    if let Some(why) = &unit.disrupted {
        return Some(format!("the {} is being disrupted: {why}", failure::part(unit)));
    }
    unit.deleting.then(|| format!("the {} is being deleted from outside", failure::part(unit)))
}

fn describe(state: &UnitState) -> String {
    match state {
        UnitState::Pending(Waiting::Starting) => "is starting".into(),
        UnitState::Pending(Waiting::Node(why) | Waiting::Image(why) | Waiting::Config(why) | Waiting::Start(why)) => {
            format!("waits: {why}")
        }
        UnitState::Running { ready: true } => "is running".into(),
        UnitState::Running { ready: false } => "is running, not ready".into(),
        UnitState::Succeeded => "ended with exit code 0".into(),
        UnitState::Failed { kind, exit_code, message } => {
            let code = exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
            format!("failed ({kind:?}{code}) {message}").trim_end().to_owned()
        }
    }
}
