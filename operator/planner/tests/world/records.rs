//! Records as a quiet machine would give them.

use std::collections::BTreeMap;

use gaugeblock_measurement::{
    GeneratorRecord, Histogram, RECORD_VERSION, SamplerRecord, Span, TrialId, UnixNanos,
    fingerprint::Fingerprint,
    generator::{Arrivals, Offered, Ready, RequestRecord, ScenarioRecord},
    identity::Program,
    limit::{Limit, LimitedBy},
    sampler::{ContainerSeries, Driver, End, Exclusivity, Source, Start},
};

const SECOND: i64 = 1_000_000_000;
const REQUESTS: u64 = 2_000;

fn at(seconds: i64) -> UnixNanos {
    UnixNanos(1_793_000_000 * SECOND + seconds * SECOND)
}

fn span(start: i64, end: i64) -> Span {
    Span { start: at(start), end: at(end) }
}

/// A noise of some tenths of a per cent that depends on block and arm alone.
fn noise(id: &TrialId) -> f64 {
    let mixed = gaugeblock_planner::order::mix(u64::from(id.block) * 31 + id.arm.len() as u64);
    1.0 + ((mixed % 1_000) as f64 / 1_000.0 - 0.5) * 0.006
}

/// Four seconds at 500 requests a second, all answered in a millisecond.
pub fn generator(id: &TrialId) -> GeneratorRecord {
    let mut response = Histogram::new();
    response.record_n((1e6 * noise(id)) as u64, REQUESTS);
    let requests = vec![RequestRecord {
        name: "all".into(),
        sent: REQUESTS,
        correct: REQUESTS,
        service: response.clone(),
        response,
        ..RequestRecord::default()
    }];
    let scenario = ScenarioRecord {
        name: "json".into(),
        scenario_hash: "1234".into(),
        offered: Offered::Open { rate: 500.0, connections: 32, arrivals: Arrivals::Constant },
        warm_up: span(3, 6),
        window: span(6, 10),
        drained: span(10, 10),
        requests,
        achieved_rate: 500.0,
        lateness: Histogram::new(),
        connections_peak: 32,
        connections_opened: 0,
        mean_in_flight: 0.5,
        generator_cpu_seconds: vec![0.4],
        steady: None,
        limit: Limit { by: LimitedBy::Unknown, evidence: Vec::new() },
        settled: Vec::new(),
        dependency_counters: BTreeMap::new(),
        timeline: Vec::new(),
    };
    GeneratorRecord {
        version: RECORD_VERSION,
        program: Program::default(),
        trial: id.clone(),
        seed: 1,
        node: None,
        cpus_allowed: "0".into(),
        started: at(0),
        ended: at(13),
        ready: Some(Ready { at: at(1), attempts: 3 }),
        idle_before: Some(span(1, 3)),
        scenarios: vec![scenario],
        idle_after: Some(span(11, 13)),
        failure: None,
    }
}

/// A target that costs `cost` CPU seconds a request and holds 20 MiB.
pub fn sampler(id: &TrialId, cost: f64) -> SamplerRecord {
    let samples: i64 = 150;
    let tenth = |i: i64| UnixNanos(at(0).0 + i * SECOND / 10);
    let busy = |i: i64| (i - 60).clamp(0, 40) as f64 / 40.0;
    let target = ContainerSeries {
        name: "target".into(),
        target: true,
        at: (0..samples).map(tenth).collect(),
        cpu: (0..samples).map(|i| (busy(i) * cost * noise(id) * REQUESTS as f64 * 1e9) as u64).collect(),
        anonymous: (0..samples).map(|_| (20.0 * 1_048_576.0 * noise(id)) as u64).collect(),
        ..ContainerSeries::default()
    };
    let proof = Exclusivity { at: at(5), target_cpus: "1".into(), exclusive: true, ..Exclusivity::default() };
    SamplerRecord {
        version: RECORD_VERSION,
        program: Program::default(),
        trial: id.clone(),
        node: Some("node-b".into()),
        target_uid: "uid".into(),
        source: Source::CgroupV1(Driver::Cgroupfs),
        interval: 100_000_000,
        started: at(-1),
        ended: at(14),
        end: End::TargetGone,
        starts: vec![Start {
            watched: true,
            process: at(0),
            listening: Some(UnixNanos(at(0).0 + 50_000_000)),
            answering: Some(UnixNanos(at(0).0 + 52_000_000)),
            poll: 1_000_000,
        }],
        series: vec![target],
        cpus: Vec::new(),
        exclusivity: vec![proof.clone(), proof],
        speed: Vec::new(),
        fingerprint: Fingerprint::default(),
        notes: Vec::new(),
    }
}
