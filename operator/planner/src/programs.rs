//! The plans of the measuring programs, from the frozen run.

use std::time::Duration;

use gaugeblock_crds::scenario::{Arrivals, Http, Load, Parameter as ApiParameter, Request, Scenario};
use gaugeblock_measurement::{
    GeneratorPlan, SamplerPlan,
    generator::Arrivals as PlanArrivals,
    plan::{Expect, LoadPlan, PLAN_VERSION, Parameter, ReadyProbe, RequestPlan, ScenarioPlan, Settle, Watch},
};
use sha2::{Digest as _, Sha256};

use crate::{
    observed::{Slot, Unit},
    order,
    snapshot::Snapshot,
};

/// Thrown away between warm-up and window: the load's own start must be over.
pub const DISCARD: Duration = Duration::from_secs(2);
/// Quiet time after a scenario, in which the target's own work in the background can end.
pub const QUIESCE: Duration = Duration::from_secs(1);
/// Between two samples: 10 Hz cost a fifth of a per cent of a core.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Between two looks while a target starts: 1 ms gives an error of 4 ms at the 95th percentile.
pub const START_POLL: Duration = Duration::from_millis(1);
/// What a trial may take beyond its planned time before it counts as stuck.
pub const SLACK: Duration = Duration::from_secs(60);
/// Name of the environment variable with the password of dependencies.
pub const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// The generator's plan for one stage of one trial. The target's address is not known yet.
pub fn generator(snapshot: &Snapshot, slot: Slot, dependencies: &[&Unit], local: bool) -> GeneratorPlan {
    let spec = &snapshot.spec;
    let target = &spec.targets[slot.arm as usize];
    let cpus = spec.generator.resources.cpu.value().unwrap_or(1.0);
    let idle = spec.repetitions.idle.nanos();
    let settle = settle(snapshot, dependencies);
    GeneratorPlan {
        version: PLAN_VERSION,
        trial: slot.trial_id(snapshot),
        seed: order::block_seed(snapshot.seed, slot.block),
        target: String::new(),
        host: target.name.clone(),
        threads: (cpus.floor() as u32).max(1),
        spin: !local && spec.generator.resources.cpu.is_whole(),
        ready: ready(snapshot, slot),
        idle_before: idle,
        scenarios: scenarios(snapshot, slot)
            .filter_map(|scenario| Some(plan_of(scenario, scenario.http.as_ref()?, &settle)))
            .collect(),
        idle_after: idle,
        deadline: nanos(trial_time(snapshot, slot) + SLACK),
    }
}

/// The sampler's plan for one stage of one trial.
pub fn sampler(snapshot: &Snapshot, slot: Slot, target: &Unit, dependencies: &[&Unit]) -> SamplerPlan {
    let start = provisioning(snapshot) + readiness(snapshot, slot);
    SamplerPlan {
        version: PLAN_VERSION,
        trial: slot.trial_id(snapshot),
        target: target.watch.clone(),
        others: dependencies.iter().map(|unit| unit.watch.clone()).collect(),
        container: gaugeblock_crds::names::CONTAINER_TARGET.to_owned(),
        port: target.port.unwrap_or_else(|| port(snapshot, slot)),
        ready: ready(snapshot, slot),
        interval: nanos(SAMPLE_INTERVAL),
        start_poll: nanos(START_POLL),
        appear_time_out: nanos(start),
        deadline: nanos(start + trial_time(snapshot, slot) + SLACK),
    }
}

/// Name by which a unit is called in a sampler's record.
pub fn watch_name(watch: &Watch) -> &str {
    match watch {
        Watch::Pod { name, .. } | Watch::ProcessFile { name, .. } => name,
    }
}

/// Port of the target in the manifest.
pub fn port(snapshot: &Snapshot, slot: Slot) -> u16 {
    u16::try_from(snapshot.spec.targets[slot.arm as usize].port).unwrap_or(8080)
}

/// The planned time of one stage of a trial, from the first answer on.
pub fn trial_time(snapshot: &Snapshot, slot: Slot) -> Duration {
    let spec = &snapshot.spec;
    let windows: Duration = scenarios(snapshot, slot)
        .filter_map(|scenario| scenario.http.as_ref())
        .map(|http| length(&http.warm_up) + DISCARD + length(&http.measure) + QUIESCE)
        .sum();
    windows + 2 * length(&spec.repetitions.idle)
}

/// The longest that waiting for answers can add to [`trial_time`].
pub fn waiting_time(snapshot: &Snapshot, slot: Slot) -> Duration {
    scenarios(snapshot, slot).filter_map(|scenario| scenario.http.as_ref()).map(|http| length(&http.timeout)).sum()
}

/// Time allowed until the target answers, from the start of its process.
pub fn readiness(snapshot: &Snapshot, slot: Slot) -> Duration {
    length(&snapshot.spec.targets[slot.arm as usize].readiness.timeout)
}

/// Time that a pod may wait for a node.
pub fn provisioning(snapshot: &Snapshot) -> Duration {
    snapshot.pool.as_ref().map_or(Duration::from_secs(60), |pool| length(&pool.provisioning_timeout))
}

/// Hash of everything that defines a scenario: only trials of equal ones are compared.
pub fn scenario_hash(scenario: &Scenario) -> String {
    let definition = serde_json::to_vec(scenario).unwrap_or_default();
    let sum = Sha256::digest([definition.as_slice(), &nanos(DISCARD).to_le_bytes()].concat());
    sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn scenarios(snapshot: &Snapshot, slot: Slot) -> impl Iterator<Item = &Scenario> {
    let stage = snapshot.stages.get(slot.stage as usize).map(Vec::as_slice).unwrap_or_default();
    stage.iter().filter_map(|index| snapshot.spec.scenarios.get(*index))
}

fn plan_of(scenario: &Scenario, http: &Http, settle: &[Settle]) -> ScenarioPlan {
    ScenarioPlan {
        name: scenario.name.clone(),
        scenario_hash: scenario_hash(scenario),
        load: load(&http.load),
        warm_up: http.warm_up.nanos(),
        discard: nanos(DISCARD),
        measure: http.measure.nanos(),
        drain: http.timeout.nanos(),
        quiesce: nanos(QUIESCE),
        time_out: http.timeout.nanos(),
        requests: http.requests.iter().map(request).collect(),
        settle: settle.to_vec(),
    }
}

fn load(load: &Load) -> LoadPlan {
    let connections = |connections: i32| u32::try_from(connections).unwrap_or(1).max(1);
    match (&load.open, &load.closed) {
        (Some(open), _) => LoadPlan::Open {
            rate_millis: u64::try_from(open.rate).unwrap_or(1) * 1_000,
            connections: connections(open.connections),
            arrivals: match open.arrivals {
                Arrivals::Constant => PlanArrivals::Constant,
                Arrivals::Poisson => PlanArrivals::Poisson,
            },
        },
        (None, closed) => {
            LoadPlan::Closed { connections: connections(closed.as_ref().map_or(1, |closed| closed.connections)) }
        }
    }
}

fn request(request: &Request) -> RequestPlan {
    RequestPlan {
        name: request.name.clone(),
        weight: u32::try_from(request.weight).unwrap_or(1).max(1),
        method: request.method.name().to_owned(),
        path: request.path.clone(),
        headers: request.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect(),
        body: request.body.clone(),
        parameters: request
            .parameters
            .iter()
            .map(|(name, parameter)| (name.clone(), plan_parameter(parameter)))
            .collect(),
        expect: Expect {
            statuses: request.expect.statuses.iter().filter_map(|status| u16::try_from(*status).ok()).collect(),
            length: request.expect.length.and_then(|length| u64::try_from(length).ok()),
            sha256: request.expect.sha256.clone(),
            contains: request.expect.contains.clone(),
        },
    }
}

fn plan_parameter(parameter: &ApiParameter) -> Parameter {
    match &parameter.range {
        Some(range) => Parameter::Range { from: range.from, to: range.to },
        None => Parameter::OneOf(parameter.one_of.clone()),
    }
}

fn settle(snapshot: &Snapshot, units: &[&Unit]) -> Vec<Settle> {
    let dependencies = &snapshot.spec.dependencies;
    dependencies
        .iter()
        .zip(units)
        .filter_map(|(dependency, unit)| {
            let postgres = dependency.postgres.as_ref()?;
            Some(Settle::Postgres {
                dependency: dependency.name.clone(),
                host: unit.address.clone()?,
                port: unit.port.unwrap_or(5432),
                user: postgres.user.clone(),
                database: postgres.database.clone(),
                password_variable: PASSWORD_VARIABLE.to_owned(),
            })
        })
        .collect()
}

fn ready(snapshot: &Snapshot, slot: Slot) -> ReadyProbe {
    let readiness = &snapshot.spec.targets[slot.arm as usize].readiness;
    ReadyProbe {
        path: readiness.path.clone(),
        status: u16::try_from(readiness.status).unwrap_or(200),
        time_out: readiness.timeout.nanos(),
    }
}

fn length(text: &gaugeblock_crds::GoDuration) -> Duration {
    Duration::from_nanos(text.nanos())
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
