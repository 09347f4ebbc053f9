//! Carrying out the planner's actions with processes and files.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use gaugeblock_measurement::{Outcome, SamplerRecord, UnixNanos, plan::PLAN_VARIABLE, trial::TargetLoss};
use gaugeblock_planner::{Action, Role, UnitKey, UnitPlan, UnitSpec, UnitState, action::Conclusion, compare, conclude};
use gaugeblock_report::{Input, Report};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::{
    environment::Environment,
    folder::FolderError,
    postgres::{self, Server, TemplateError},
    process::{Order, Process, ProcessError},
    unit::{LocalUnit, Part, kills_for_memory},
    world::{World, starting},
};

/// Environment variable with address and port of the target, for the load generator.
const TARGET_VARIABLE: &str = "GAUGEBLOCK_TARGET";
/// Time for the sampler to read the target's private memory before the target is ended.
const LAST_READING: Duration = Duration::from_millis(200);

/// Why an action failed. Each is a failure of this machine or of this program: what a target does
/// wrong is a state of its unit.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// A process.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Data of a dependency.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A file of the run.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No port.
    #[error("failed to find a free port")]
    Port(#[source] io::Error),
    /// The plan of a measuring program could not be written down.
    #[error("failed to encode the plan of {0}")]
    Plan(String, #[source] serde_json::Error),
    /// A UID could not be made.
    #[error("failed to read /dev/urandom")]
    Random(#[source] io::Error),
    /// The planner asked for what was never prepared: a defect of this program.
    #[error("{0} was not prepared: this is a defect of Gaugeblock; please report it")]
    Unprepared(String),
}

impl World<'_> {
    /// Carries out one action.
    pub fn execute(&mut self, action: Action, now: Timestamp) -> Result<(), ExecuteError> {
        match action {
            // This machine is the run's from its beginning to its end.
            Action::Claim { .. } | Action::Unclaim | Action::DeleteRun => Ok(()),
            Action::Freeze(snapshot) => {
                self.folder.write_plan(&snapshot)?;
                self.snapshot = Some(*snapshot);
                Ok(())
            }
            Action::MakeCredentials => {
                self.has_credentials = true;
                Ok(())
            }
            Action::Create(spec) => self.create(*spec, now),
            Action::Release { unit, name: _, target } => self.release(unit, target),
            Action::Store(conclusion) => self.store(*conclusion, now),
            Action::Delete { unit, name: _, uid } => {
                self.delete(unit, &uid);
                Ok(())
            }
            Action::KeepLog { unit, name } => {
                self.point_at_logs(unit, &name);
                Ok(())
            }
            Action::WriteResult => {
                if let Some(report) = self.report() {
                    self.folder.write_report(&report)?;
                }
                self.result = Some("report.json".to_owned());
                Ok(())
            }
        }
    }

    /// The report of what is known so far; `None` before the plan is frozen.
    pub fn report(&self) -> Option<Report> {
        let snapshot = self.snapshot.as_ref()?;
        let judgement = (!self.trials.is_empty()).then(|| compare::judge(snapshot, &self.trials, true));
        Some(Report::of(Input {
            snapshot,
            status: &self.status,
            judgement: judgement.as_ref(),
            trials: &self.trials,
            records: &self.records,
        }))
    }

    fn create(&mut self, spec: UnitSpec, now: Timestamp) -> Result<(), ExecuteError> {
        if self.units.iter().any(|unit| unit.key == spec.key) {
            return Ok(());
        }
        let uid = crate::world::random(16).map_err(ExecuteError::Random)?;
        let pid_file = self.folder.pid_file(&spec.name);
        let mut image = None;
        let part = match spec.plan {
            UnitPlan::Postgres { dependency, postgres } => {
                let database = self
                    .databases
                    .get(&dependency)
                    .ok_or_else(|| ExecuteError::Unprepared(format!("dependency {dependency}")))?;
                let port = self.ports.free().map_err(ExecuteError::Port)?;
                let data = database.folder.join(spec.key.slot.suffix() + "-" + &dependency);
                database.template.copy(&data)?;
                let server = Server::start(
                    &self.spawner,
                    postgres::Start {
                        binaries: &database.binaries,
                        name: &spec.name,
                        unit: &uid,
                        data: &data,
                        port,
                        postgres: &postgres,
                        cpus: &self.layout.dependencies,
                        account: database.account.as_ref(),
                        pid_file: Some(&pid_file),
                    },
                )?;
                Part::Postgres(server)
            }
            // Hosts are addresses already: there are no names to resolve on one machine.
            UnitPlan::Target { arm, hosts: _, variables } => {
                let arm = arm as usize;
                let program = self.arms.get(arm).ok_or_else(|| ExecuteError::Unprepared(format!("arm {arm}")))?;
                // A program that vanished is said when it is started.
                image = self.programs.identify(&program.program).ok();
                let port = self.ports.free().map_err(ExecuteError::Port)?;
                Part::Target { arm, variables, port, process: None }
            }
            UnitPlan::Sampler(plan) => {
                let text =
                    serde_json::to_string(&plan).map_err(|error| ExecuteError::Plan(spec.name.clone(), error))?;
                Part::Sampler(self.measuring(
                    "sampler",
                    (&spec.name, &uid),
                    &pid_file,
                    &text,
                    Environment::default(),
                )?)
            }
            UnitPlan::Generator { plan, variables } => Part::Generator { plan, variables, process: None },
        };
        self.units.push(LocalUnit {
            key: spec.key,
            name: spec.name,
            uid,
            created: now,
            deleting: false,
            part,
            state: starting(),
            pid_file,
            image,
            kills_before: kills_for_memory(),
        });
        Ok(())
    }

    /// Starts one of our own measuring programs.
    fn measuring(
        &self,
        part: &str,
        (name, unit): (&str, &str),
        pid_file: &std::path::Path,
        plan: &str,
        mut environment: Environment,
    ) -> Result<Process, ProcessError> {
        environment.set(PLAN_VARIABLE, &plan.replace('$', "$$"));
        let cpus = if part == "sampler" { &self.layout.others } else { &self.layout.generator };
        self.spawner.spawn(Order {
            name,
            unit,
            command: self.spawner.own(part),
            environment,
            folder: self.folder.root(),
            cpus,
            account: None,
            pid_file: Some(pid_file),
            quit: false,
            apart: true,
        })
    }

    fn release(&mut self, key: UnitKey, target: Option<String>) -> Result<(), ExecuteError> {
        let Some(index) = self.units.iter().position(|unit| unit.key == key) else {
            return Ok(());
        };
        let unit = &self.units[index];
        let started = match &unit.part {
            Part::Target { process: None, .. } => self.start_target(unit)?,
            Part::Generator { plan, variables, process: None } => {
                let mut plan = plan.clone();
                plan.target = target.unwrap_or_default();
                // The manifest's wishes, as far as this machine can grant them.
                plan.threads = plan.threads.min(self.layout.generator.len() as u32).max(1);
                plan.spin = self.layout.generator_is_alone();
                let mut environment = Environment::default();
                environment.set_connections(variables, &self.password);
                environment.set(TARGET_VARIABLE, &plan.target);
                let text =
                    serde_json::to_string(&plan).map_err(|error| ExecuteError::Plan(unit.name.clone(), error))?;
                self.measuring("load-generator", (&unit.name, &unit.uid), &unit.pid_file, &text, environment)?
            }
            // Let go already.
            Part::Target { .. } | Part::Generator { .. } | Part::Postgres(_) | Part::Sampler(_) => return Ok(()),
        };
        if let Part::Target { process, .. } | Part::Generator { process, .. } = &mut self.units[index].part {
            *process = Some(started);
        }
        Ok(())
    }

    fn start_target(&self, unit: &LocalUnit) -> Result<Process, ExecuteError> {
        let unprepared = || ExecuteError::Unprepared(unit.name.clone());
        let Part::Target { arm, variables, port, .. } = &unit.part else {
            return Err(unprepared());
        };
        let target = self.manifest.spec.targets.get(*arm).ok_or_else(unprepared)?;
        let local = target.local.as_ref().ok_or_else(unprepared)?;
        let mut environment = Environment::default();
        environment.set("PORT", &port.to_string());
        environment.set_connections(variables, &self.password);
        environment.set_declared(&target.env, &self.manifest.objects);
        let words = local.command.iter().chain(&target.args);
        let command = words.map(|word| environment.expand(word).into()).collect();
        let folder = &self.arms.get(*arm).ok_or_else(unprepared)?.folder;
        Ok(self.spawner.spawn(Order {
            name: &unit.name,
            unit: &unit.uid,
            command,
            environment,
            folder,
            cpus: &self.layout.target,
            account: None,
            pid_file: Some(&unit.pid_file),
            quit: false,
            apart: false,
        })?)
    }

    fn store(&mut self, mut conclusion: Conclusion, now: Timestamp) -> Result<(), ExecuteError> {
        let Some(snapshot) = &self.snapshot else { return Ok(()) };
        if self.trials.iter().any(|trial| trial.slot == conclusion.slot) {
            return Ok(());
        }
        conclusion.placement.shared_cpus.clone_from(&self.layout.shared);
        if conclusion.placement.target_image.is_none()
            && let Some(arm) = self.arms.get(conclusion.slot.arm as usize)
        {
            // The target is gone by now. What really ran was read before, unless it ended by itself.
            let ran = self.ran.get(&conclusion.slot).cloned();
            conclusion.placement.target_image = ran.or_else(|| self.programs.identify(&arm.program).ok());
        }
        let generator = conclusion.generator.as_ref().map(|(_, name)| self.record(name));
        let mut sampler = conclusion.sampler.as_ref().map(|(_, name)| self.record(name));
        if let Some(Ok(sampler)) = &mut sampler {
            attribute_kills(sampler, &conclusion.outcome);
        }
        let now = UnixNanos(i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX));
        let (record, mut summary) = conclude(snapshot, &conclusion, generator, sampler, now);
        summary.notes.extend(self.notes.iter().cloned());
        self.trials.push(summary);
        self.folder.write_trial(&conclusion.record_name, &record, &self.trials)?;
        self.records.push(record);
        Ok(())
    }

    fn delete(&mut self, key: UnitKey, uid: &str) {
        if key.role == Role::Target {
            self.take_last_reading(key);
            self.identify(key);
        }
        let Some(unit) = self.units.iter_mut().find(|unit| unit.key == key && unit.uid == uid) else {
            return;
        };
        unit.deleting = true;
        match &mut unit.part {
            Part::Postgres(server) => server.ask_to_end(),
            Part::Sampler(process) => process.ask_to_end(Signal::TERM),
            Part::Target { process, .. } | Part::Generator { process, .. } => {
                if let Some(process) = process {
                    process.ask_to_end(Signal::TERM);
                }
            }
        }
    }

    /// Logs stay in the run's folder: those of a trial that failed are pointed at. The target's comes
    /// first, which may be gone already.
    fn point_at_logs(&mut self, unit: UnitKey, name: &str) {
        let target = self.snapshot.as_ref().map(|snapshot| UnitKey { role: Role::Target, ..unit }.name(snapshot));
        for name in target.iter().map(String::as_str).chain([name]) {
            let log = self.spawner.log(name);
            let says_something = fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
            if says_something && !self.kept_logs.contains(&log) {
                self.kept_logs.push(log);
            }
        }
    }

    /// Remembers which program a target really was: its command may be a script that became another
    /// one.
    fn identify(&mut self, key: UnitKey) {
        let target = self.units.iter_mut().find(|unit| unit.key == key);
        let Some(process) = target.and_then(LocalUnit::process) else { return };
        let link = format!("/proc/{}/exe", process.id().as_raw_nonzero());
        if let Ok(program) = fs::read_link(link)
            && let Ok(identity) = self.programs.identify(&program)
        {
            self.ran.insert(key.slot, identity);
        }
    }

    /// Tells the sampler that the windows are over, so that it reads private memory once, and
    /// gives it a moment. It says nothing when it has, so the moment is always waited for, unless
    /// its log grows.
    fn take_last_reading(&self, key: UnitKey) {
        let sampler = self.units.iter().find(|unit| {
            unit.key.slot == key.slot
                && matches!(unit.state, UnitState::Running { .. })
                && matches!(unit.part, Part::Sampler(_))
        });
        let Some((Part::Sampler(process), name)) = sampler.map(|unit| (&unit.part, &unit.name)) else {
            return;
        };
        let log = self.spawner.log(name);
        let length = || fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let before = length();
        process.tell(Signal::USR1);
        let told = Instant::now();
        while told.elapsed() < LAST_READING && length() == before {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Without a cgroup the sampler counts kills for memory of the whole machine. Whether one of them
/// was the target's is known here: its parent sees how it ended.
fn attribute_kills(sampler: &mut SamplerRecord, outcome: &Outcome) {
    if matches!(outcome, Outcome::LostToTarget(TargetLoss::OomKilled, _)) {
        return;
    }
    for series in sampler.series.iter_mut().filter(|series| series.oom_kills > 0) {
        sampler.notes.push(format!(
            "{} process(es) of this machine were killed for memory meanwhile; none is known to be of {}",
            series.oom_kills, series.name
        ));
        series.oom_kills = 0;
    }
}
