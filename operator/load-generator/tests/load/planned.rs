//! Plans for tests, and carrying them out.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use gaugeblock_load_generator::{Phase, Workload, run};
use gaugeblock_measurement::{
    GeneratorPlan, GeneratorRecord, TrialId,
    generator::{Arrivals, RequestRecord, ScenarioRecord},
    plan::{Expect, LoadPlan, PLAN_VERSION, ReadyProbe, RequestPlan, ScenarioPlan},
};

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

static MACHINE: Mutex<()> = Mutex::new(());

/// The machine for one test alone.
pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan under construction: one scenario of `GET /` over one connection for half a second.
#[derive(Clone)]
pub struct Planned(pub GeneratorPlan);

pub fn plan(target: SocketAddr) -> Planned {
    Planned(GeneratorPlan {
        version: PLAN_VERSION,
        trial: TrialId { run_uid: "run".into(), block: 1, arm: "arm".into(), stage: 0, attempt: 0 },
        seed: 7,
        target: target.to_string(),
        host: "target.test".into(),
        threads: 1,
        spin: false,
        ready: ReadyProbe { path: "/ready".into(), status: 200, time_out: 5 * SECOND },
        idle_before: 0,
        scenarios: vec![ScenarioPlan {
            name: "scenario".into(),
            scenario_hash: "hash".into(),
            load: LoadPlan::Closed { connections: 1 },
            warm_up: 0,
            discard: 0,
            measure: 500 * MILLISECOND,
            drain: 2 * SECOND,
            quiesce: 0,
            time_out: 2 * SECOND,
            requests: vec![get("/")],
            settle: vec![],
        }],
        idle_after: 0,
        deadline: 60 * SECOND,
    })
}

/// `GET path`, named by its path, any success being right.
pub fn get(path: &str) -> RequestPlan {
    RequestPlan { name: path.into(), weight: 1, method: "GET".into(), path: path.into(), ..RequestPlan::default() }
}

impl Planned {
    fn scenario(mut self, change: impl FnOnce(&mut ScenarioPlan)) -> Self {
        change(&mut self.0.scenarios[0]);
        self
    }

    pub fn closed(self, connections: u32) -> Self {
        self.scenario(|scenario| scenario.load = LoadPlan::Closed { connections })
    }

    pub fn open(self, rate: u64, connections: u32) -> Self {
        self.scenario(|scenario| {
            scenario.load = LoadPlan::Open { rate_millis: rate * 1_000, connections, arrivals: Arrivals::Constant };
        })
    }

    pub fn warming_up(self, nanos: u64) -> Self {
        self.scenario(|scenario| scenario.warm_up = nanos)
    }

    pub fn measuring(self, nanos: u64) -> Self {
        self.scenario(|scenario| scenario.measure = nanos)
    }

    pub fn draining(self, nanos: u64) -> Self {
        self.scenario(|scenario| scenario.drain = nanos)
    }

    pub fn timing_out_after(self, nanos: u64) -> Self {
        self.scenario(|scenario| scenario.time_out = nanos)
    }

    pub fn asking(self, requests: Vec<RequestPlan>) -> Self {
        self.scenario(|scenario| scenario.requests = requests)
    }

    pub fn expecting(self, expect: Expect) -> Self {
        self.scenario(|scenario| scenario.requests[0].expect = expect)
    }

    pub fn threads(mut self, threads: u32) -> Self {
        self.0.threads = threads;
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    pub fn deadline(mut self, nanos: u64) -> Self {
        self.0.deadline = nanos;
        self
    }

    /// Carries it out.
    pub fn run(&self) -> GeneratorRecord {
        self.run_stopping(|_, _| false)
    }

    /// Carries it out until `stop` says so, which is asked with each word of progress: its phase
    /// and the seconds in it.
    pub fn run_stopping(&self, stop: impl Fn(Phase, f64) -> bool) -> GeneratorRecord {
        let workload = Workload::new(&self.0).unwrap();
        let stopped = AtomicBool::new(false);
        run(
            &workload,
            &|name| std::env::var(name).ok(),
            &mut |progress| stopped.store(stop(progress.phase, progress.seconds), SeqCst),
            &stopped,
        )
        .unwrap()
    }

    /// Carries it out and expects it to have come to its end.
    pub fn measure(&self) -> ScenarioRecord {
        let record = self.run();
        assert_eq!(record.failure, None);
        assert_eq!(record.scenarios.len(), 1);
        record.scenarios.into_iter().next().unwrap()
    }
}

/// The only request of a scenario.
pub fn only(scenario: &ScenarioRecord) -> &RequestRecord {
    assert_eq!(scenario.requests.len(), 1);
    &scenario.requests[0]
}
