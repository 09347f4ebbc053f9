//! One scenario: settle, warm up, measure, drain, quiesce.

use std::collections::BTreeMap;

use gaugeblock_measurement::generator::{GeneratorFailure, ScenarioRecord};

use crate::{
    clock::{self, MILLISECOND, SECOND, WallClock},
    control::Control,
    crew::{self, Stage},
    progress::{Phase, Progress},
    record::{self, Surroundings},
    settle::{NotSettled, Reading, Sessions},
    tally::Times,
    watch::{Halt, Watch},
    workload::Workload,
};

/// How long before the window the counters of dependencies are read: inside the discarded time, so
/// that the reading disturbs nothing that counts.
const READ_BEFORE: u64 = 250 * MILLISECOND;

/// What came of a scenario.
#[derive(Debug)]
pub struct Played {
    /// What was measured, when the window had begun.
    pub record: Option<ScenarioRecord>,
    /// Why everything ends here, if it does.
    pub failure: Option<GeneratorFailure>,
}

/// Plays scenario number `index` of the plan.
pub fn play(
    workload: &Workload,
    index: usize,
    environment: &dyn Fn(&str) -> Option<String>,
    progress: &mut dyn FnMut(&Progress),
    watch: &Watch,
) -> Result<Played, rustix::io::Errno> {
    let Some(plan) = workload.plan.scenarios.get(index) else {
        return Ok(Played { record: None, failure: None });
    };
    let failed = |failure| Ok(Played { record: None, failure: Some(failure) });
    let mut telling = Telling::new(&plan.name, progress);
    if !plan.settle.is_empty() {
        telling.say(Phase::Settle, 0, 0, (0, 0));
    }
    let (mut sessions, settled) = match Sessions::settle(&plan.settle, environment, watch) {
        Ok(settled) => settled,
        Err(NotSettled::Failed(failure)) => return failed(failure),
        Err(NotSettled::Halted(halt)) => return failed(halt.failure(&plan.name)),
    };

    let jobs = crew::jobs(workload, index, plan);
    let control = Control::new(jobs.len() as u32);
    let wall = WallClock::read();
    let mut halted: Option<Halt> = None;
    let mut before: Option<(Reading, u64)> = None;
    let read_at = |times: &Times| times.open.saturating_sub(READ_BEFORE.min(plan.discard / 2));
    let crewed = crew::run(jobs, &control, plan, |stage| {
        let now = clock::monotonic();
        if let (None, Err(halt)) = (halted, watch.check(now)) {
            halted = Some(halt);
            control.stop();
        }
        match stage {
            Stage::Connecting => telling.say(Phase::Connect, 0, 0, control.totals()),
            Stage::Loading(times) => {
                if before.is_none() && now >= read_at(times) && now < times.open {
                    let answers = control.totals().0;
                    before = sessions.read().map(|reading| (reading, answers));
                }
                let (phase, since, until) = phase(times, plan.warm_up, now);
                telling.say(phase, now.saturating_sub(since), until - since, control.totals());
            }
        }
    })?;
    let gone = control.is_target_gone().then(|| GeneratorFailure::TargetGone { scenario: plan.name.clone() });
    let failure = gone.or(halted.map(|halt| halt.failure(&plan.name)));
    let dependency_counters = match (before, sessions.read()) {
        (Some((before, answers)), Some(after)) => {
            let mut counted = after.since(&before);
            counted.insert("requests".to_owned(), (control.totals().0 - answers) as f64);
            counted
        }
        _ => BTreeMap::new(),
    };
    drop(sessions);
    let began = |crewed: &crew::Crewed| crewed.works.iter().any(|work| work.ended > crewed.times.open);
    let surroundings = Surroundings { settled, dependency_counters, stopped: failure.is_some() };
    let record = crewed.filter(began).map(|crewed| record::assemble(plan, crewed, surroundings, wall));
    if failure.is_some() || plan.quiesce == 0 {
        return Ok(Played { record, failure });
    }
    let began = clock::monotonic();
    let (_, quiet) = watch.quiet(plan.quiesce, |now| {
        telling.say(Phase::Quiesce, now - began, plan.quiesce, (0, 0));
    });
    Ok(Played { record, failure: quiet.err().map(|halt| halt.failure(&plan.name)) })
}

/// The phase at `now`, with its beginning and its end (monotonic ns).
fn phase(times: &Times, warm_up: u64, now: u64) -> (Phase, u64, u64) {
    let warm = times.start + warm_up;
    if now < warm {
        (Phase::WarmUp, times.start, warm)
    } else if now < times.open {
        (Phase::Discard, warm, times.open)
    } else if now < times.close {
        (Phase::Measure, times.open, times.close)
    } else {
        (Phase::Drain, times.close, times.end)
    }
}

/// Says how far a scenario is: at once when the phase changes, else once a second.
struct Telling<'a> {
    scenario: &'a str,
    progress: &'a mut dyn FnMut(&Progress),
    said: Option<(Phase, u64, u64)>,
}

impl<'a> Telling<'a> {
    fn new(scenario: &'a str, progress: &'a mut dyn FnMut(&Progress)) -> Self {
        Self { scenario, progress, said: None }
    }

    fn say(&mut self, phase: Phase, elapsed: u64, of: u64, (answers, errors): (u64, u64)) {
        let now = clock::monotonic();
        let mut rate = 0.0;
        if let Some((before, at, had)) = self.said {
            if before == phase && now < at + SECOND {
                return;
            }
            let seconds = (now - at) as f64 / SECOND as f64;
            rate = answers.saturating_sub(had) as f64 / seconds.max(1e-3);
        }
        self.said = Some((phase, now, answers));
        (self.progress)(&Progress {
            at: clock::wall(),
            phase,
            scenario: Some(self.scenario.to_owned()),
            seconds: elapsed as f64 / SECOND as f64,
            of_seconds: of as f64 / SECOND as f64,
            answers,
            errors,
            rate,
        });
    }
}
