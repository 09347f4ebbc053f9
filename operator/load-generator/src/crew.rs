//! The worker threads of one scenario, started together and watched.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use gaugeblock_measurement::plan::{LoadPlan, ScenarioPlan};
use rustix::io::Errno;

use crate::{
    clock::{self, MILLISECOND},
    control::Control,
    tally::Times,
    worker::{Job, Work, Worker},
    workload::Workload,
};

/// Time between two looks at the workers.
const LOOK: Duration = Duration::from_millis(20);
/// From the moment all are ready until the load begins: time for all to be told.
const LEAD: u64 = 3 * MILLISECOND;

/// What a crew did.
#[derive(Debug)]
pub struct Crewed {
    /// When; `close` and `end` as planned, also when stopped before.
    pub times: Times,
    /// What each worker measured.
    pub works: Vec<Work>,
}

/// Where the crew is when it is looked at.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// Opening connections.
    Connecting,
    /// Loading, at these times.
    Loading(&'a Times),
}

/// The jobs of a scenario's workers. There are never more workers than connections.
pub fn jobs<'a>(workload: &'a Workload, index: usize, scenario: &ScenarioPlan) -> Vec<Job<'a>> {
    let plan = &workload.plan;
    let connections = match scenario.load {
        LoadPlan::Closed { connections } | LoadPlan::Open { connections, .. } => connections,
    };
    let workers = plan.threads.clamp(1, connections.max(1));
    // A thread that owns its CPU stays on it; one that shares it is better moved by the kernel.
    let cpus = if plan.spin { allowed_cpus() } else { Vec::new() };
    let Some(requests) = workload.mixes.get(index) else {
        return Vec::new();
    };
    (0..workers)
        .map(|worker| Job {
            worker,
            workers,
            scenario: index as u64,
            seed: plan.seed,
            target: workload.target,
            requests,
            load: scenario.load.clone(),
            connections: connections / workers + u32::from(worker < connections % workers),
            time_out: scenario.time_out,
            spin: plan.spin,
            cpu: cpus.get(worker as usize).copied(),
        })
        .collect()
}

fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Runs the workers. `look` is called some fifty times a second and may stop them by the control;
/// `None` when they were stopped before the load began.
pub fn run(
    jobs: Vec<Job>,
    control: &Control,
    scenario: &ScenarioPlan,
    mut look: impl FnMut(Stage),
) -> Result<Option<Crewed>, Errno> {
    std::thread::scope(|scope| {
        let (ready_in, ready) = mpsc::channel::<()>();
        let (done_in, done) = mpsc::channel::<()>();
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for job in jobs {
            let (start, started) = mpsc::channel::<Times>();
            let (ready_in, done_in) = (ready_in.clone(), done_in.clone());
            starts.push(start);
            let name = format!("worker-{}", job.worker);
            let work = move || -> Result<Option<Work>, Errno> {
                let mut worker = Worker::new(job, control)?;
                worker.open_all()?;
                let _ = ready_in.send(());
                // Nobody sends when the scenario was stopped.
                let Ok(times) = started.recv() else {
                    return Ok(None);
                };
                let work = worker.load(times);
                let _ = done_in.send(());
                work.map(Some)
            };
            let Ok(thread) = std::thread::Builder::new().name(name).spawn_scoped(scope, work) else {
                control.stop();
                return Err(Errno::AGAIN);
            };
            threads.push(thread);
        }
        drop((ready_in, done_in));
        wait_for(threads.len(), &ready, || look(Stage::Connecting));
        let times = times(clock::monotonic() + LEAD, scenario);
        if !control.is_stopped() {
            for start in &starts {
                let _ = start.send(times);
            }
        }
        drop(starts);
        wait_for(threads.len(), &done, || look(Stage::Loading(&times)));
        let mut works = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(work) => works.extend(work?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok((!works.is_empty()).then_some(Crewed { times, works }))
    })
}

/// Waits for a word of each worker, or until all that could speak have ended.
fn wait_for(count: usize, words: &mpsc::Receiver<()>, mut look: impl FnMut()) {
    let mut heard = 0;
    look();
    while heard < count {
        match words.recv_timeout(LOOK) {
            Ok(()) => heard += 1,
            Err(RecvTimeoutError::Timeout) => look(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
}

fn times(start: u64, scenario: &ScenarioPlan) -> Times {
    let open = start + scenario.warm_up + scenario.discard;
    let close = open + scenario.measure;
    Times { start, open, close, end: close + scenario.drain }
}
