//! A whole plan: ready, idle, the scenarios, idle.

use std::sync::atomic::AtomicBool;

use gaugeblock_measurement::{
    GeneratorRecord, RECORD_VERSION, Span,
    generator::{GeneratorFailure, Ready},
    identity::Program,
};

use crate::{
    clock::{self, SECOND},
    progress::{Phase, Progress},
    ready::{self, NotReady},
    scenario,
    watch::Watch,
    workload::Workload,
};

/// Environment variable that names the node, as far as the program is told.
pub const NODE_VARIABLE: &str = "GAUGEBLOCK_NODE";

/// The machine refused something that the generator cannot do without.
#[derive(Debug, thiserror::Error)]
#[error("failed to start the worker threads")]
pub struct RunError(#[from] rustix::io::Errno);

/// Carries a plan out.
///
/// `environment` gives passwords and the node's name, `progress` is told how far the work is,
/// `stop` ends it early. Whatever the target does, the result is a record: what was measured until
/// the failure, and the failure.
///
/// # Errors
/// Only when the machine gives no epoll descriptor or no thread.
pub fn run(
    workload: &Workload,
    environment: &dyn Fn(&str) -> Option<String>,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<GeneratorRecord, RunError> {
    let plan = &workload.plan;
    let began = clock::monotonic();
    let watch = Watch::new(stop, began.saturating_add(plan.deadline));
    let mut record = GeneratorRecord {
        version: RECORD_VERSION,
        program: Program { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        trial: plan.trial.clone(),
        seed: plan.seed,
        node: environment(NODE_VARIABLE),
        cpus_allowed: cpus_allowed(),
        started: clock::wall(),
        ended: clock::wall(),
        ready: None,
        idle_before: None,
        scenarios: Vec::new(),
        idle_after: None,
        failure: None,
    };
    record.failure = phases(workload, environment, progress, &watch, &mut record)?;
    record.ended = clock::wall();
    Ok(record)
}

/// One phase after the other, until the end or the first failure.
fn phases(
    workload: &Workload,
    environment: &dyn Fn(&str) -> Option<String>,
    progress: &mut dyn FnMut(&Progress),
    watch: &Watch,
    record: &mut GeneratorRecord,
) -> Result<Option<GeneratorFailure>, RunError> {
    let plan = &workload.plan;
    let name = |index: usize| match plan.scenarios.get(index) {
        Some(scenario) => scenario.name.as_str(),
        None => "",
    };
    match await_ready(workload, progress, watch) {
        Ok(ready) => record.ready = Some(ready),
        Err(NotReady::Never(last)) => return Ok(Some(GeneratorFailure::NeverReady { last })),
        Err(NotReady::Halted(halt)) => return Ok(Some(halt.failure(name(0)))),
    }
    let (span, quiet) = be_quiet(Phase::IdleBefore, plan.idle_before, progress, watch);
    record.idle_before = span;
    if let Err(halt) = quiet {
        return Ok(Some(halt.failure(name(0))));
    }
    for index in 0..plan.scenarios.len() {
        let played = scenario::play(workload, index, environment, progress, watch)?;
        record.scenarios.extend(played.record);
        if played.failure.is_some() {
            return Ok(played.failure);
        }
    }
    let (span, quiet) = be_quiet(Phase::IdleAfter, plan.idle_after, progress, watch);
    record.idle_after = span;
    let last = plan.scenarios.len().saturating_sub(1);
    Ok(quiet.err().map(|halt| halt.failure(name(last))))
}

fn await_ready(workload: &Workload, progress: &mut dyn FnMut(&Progress), watch: &Watch) -> Result<Ready, NotReady> {
    let began = clock::monotonic();
    let time_out = workload.plan.ready.time_out;
    ready::wait(&workload.plan, workload.target, watch, |now| {
        progress(&moment(Phase::Ready, now - began, time_out));
    })
}

fn be_quiet(
    phase: Phase,
    nanos: u64,
    progress: &mut dyn FnMut(&Progress),
    watch: &Watch,
) -> (Option<Span>, Result<(), crate::watch::Halt>) {
    if nanos == 0 {
        return (None, Ok(()));
    }
    let began = clock::monotonic();
    let (span, quiet) = watch.quiet(nanos, |now| {
        progress(&moment(phase, now.saturating_sub(began), nanos));
    });
    (Some(span), quiet)
}

fn moment(phase: Phase, elapsed: u64, of: u64) -> Progress {
    Progress {
        at: clock::wall(),
        phase,
        scenario: None,
        seconds: elapsed as f64 / SECOND as f64,
        of_seconds: of as f64 / SECOND as f64,
        answers: 0,
        errors: 0,
        rate: 0.0,
    }
}

/// As in `/proc/self/status`; empty where that cannot be read.
fn cpus_allowed() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}
