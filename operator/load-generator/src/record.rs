//! From what the workers counted to the scenario's record.

use std::collections::BTreeMap;

use gaugeblock_measurement::{
    Histogram, Span,
    generator::{Offered, RequestRecord, ScenarioRecord, Settled},
    plan::{LoadPlan, ScenarioPlan},
};

use crate::{
    clock::{SECOND, WallClock},
    crew::Crewed,
    limit::{self, View},
    worker::{Usage, Work},
};

/// What surrounds a scenario's load.
#[derive(Debug)]
pub struct Surroundings {
    /// What was done to dependencies before.
    pub settled: Vec<Settled>,
    /// What they counted.
    pub dependency_counters: BTreeMap<String, f64>,
    /// Whether the load was stopped before its time.
    pub stopped: bool,
}

/// The record of a scenario whose window has begun.
pub fn assemble(
    scenario: &ScenarioPlan,
    crewed: Crewed,
    surroundings: Surroundings,
    wall: WallClock,
) -> ScenarioRecord {
    let Crewed { times, works } = crewed;
    let Surroundings { settled, dependency_counters, stopped } = surroundings;
    let ended = works.iter().map(|work| work.ended).max().unwrap_or(times.close);
    let close = if stopped { ended.clamp(times.open, times.close) } else { times.close };
    let seconds = ((close - times.open) as f64 / SECOND as f64).max(1e-9);
    let sum = |part: fn(&Work) -> u64| works.iter().map(part).sum::<u64>();
    let answers = sum(|work| work.tally.answers);
    let mean_in_flight = sum(|work| work.tally.under_way) as f64 / SECOND as f64 / seconds;
    let none_idle = sum(|work| work.none_idle) as f64 / SECOND as f64 / seconds / works.len().max(1) as f64;
    let connections_peak = works.iter().map(|work| work.connections_peak).sum();
    let connections_opened = sum(|work| work.connections_opened);
    let last = works.iter().map(|work| work.tally.last).max().unwrap_or(close);
    let usage: Vec<Usage> = works.iter().map(|work| work.usage).collect();
    let offered = offered(&scenario.load);
    let timeline = timeline(&works);
    let (requests, lateness) = merge(works);
    let mut all = RequestRecord::default();
    for request in &requests {
        all.merge(request);
    }
    let limit = limit::judge(&View {
        offered: &offered,
        seconds,
        intended: all.correct + all.failures(),
        answers,
        usage: &usage,
        lateness: &lateness,
        service_p99: all.service.quantile(0.99),
        none_idle,
        under_way: mean_in_flight,
        connections: connections_peak,
    });
    ScenarioRecord {
        name: scenario.name.clone(),
        scenario_hash: scenario.scenario_hash.clone(),
        offered,
        warm_up: Span { start: wall.at(times.start), end: wall.at(times.open) },
        window: Span { start: wall.at(times.open), end: wall.at(close) },
        drained: Span { start: wall.at(close), end: wall.at(last.max(close)) },
        requests,
        achieved_rate: answers as f64 / seconds,
        lateness,
        connections_peak,
        connections_opened,
        mean_in_flight,
        generator_cpu_seconds: usage.iter().map(|usage| usage.cpu as f64 / SECOND as f64).collect(),
        steady: None,
        limit,
        settled,
        dependency_counters,
        timeline,
    }
}

fn offered(load: &LoadPlan) -> Offered {
    match *load {
        LoadPlan::Closed { connections } => Offered::Closed { connections },
        LoadPlan::Open { rate_millis, connections, arrivals } => {
            Offered::Open { rate: rate_millis as f64 / 1_000.0, connections, arrivals }
        }
    }
}

/// Histograms are merged, never their percentiles.
fn merge(works: Vec<Work>) -> (Vec<RequestRecord>, Histogram) {
    let mut works = works.into_iter().map(|work| work.tally);
    let Some(first) = works.next() else {
        return (Vec::new(), Histogram::new());
    };
    let (mut requests, mut lateness) = (first.requests, first.lateness);
    for tally in works {
        lateness.merge(&tally.lateness);
        for (all, one) in requests.iter_mut().zip(&tally.requests) {
            all.merge(one);
        }
    }
    (requests, lateness)
}

fn timeline(works: &[Work]) -> Vec<[u64; 3]> {
    let length = works.iter().map(|work| work.tally.timeline.len()).max().unwrap_or(0);
    (0..length)
        .map(|second| {
            let rows = works.iter().filter_map(|work| work.tally.timeline.get(second));
            rows.fold([second as u64, 0, 0], |[at, answers, errors], row| [at, answers + row[0], errors + row[1]])
        })
        .collect()
}
