//! The protocol gate → UID → sampler → release → record, many trials in a row: no record lost, CPU
//! time and start-up against the truth that the reference target is told to have.
//!
//! `GAUGEBLOCK_PROTOCOL_TRIALS=100` is the long run; its results stand in docs/results.

mod study;

use std::time::Duration;

use gaugeblock_measurement::{MetricName, Outcome};
use serde_json::json;
use study::{arm, finished, installed, study, trials, uid};

/// CPU time that each request burns, by the knob.
const COST: f64 = 0.010;
/// What the server itself adds at so low a rate, where every request wakes it: 60 to 190 µs.
const OWN: f64 = 0.000_1;
/// Start-up delay that the target is told to have.
const DELAY: f64 = 0.300;

#[test]
fn no_record_is_lost_and_cpu_and_start_are_true() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let wanted = std::env::var("GAUGEBLOCK_PROTOCOL_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(6_usize);
    let namespace = "protocol";
    cluster.new_namespace(namespace).unwrap();
    let arguments = ["--cpu-per-request-endpoint=/json=10ms", "--startup-delay=300ms"];
    study("protocol")
        .with("/spec/purpose", json!("Study"))
        .with("/spec/targets", json!([arm("reference", &arguments)]))
        .with("/spec/scenarios/0/http/load/open/rate", json!(40))
        .with("/spec/repetitions", json!({ "blocks": wanted - 1, "idle": "200ms", "voidBlocks": wanted }))
        .apply(cluster, namespace);
    let run = finished(cluster, namespace, "protocol", Duration::from_secs(60 + 30 * wanted as u64));
    let stored = trials(cluster, namespace, &uid(&run));
    let complete: Vec<_> = stored.iter().filter(|(record, _)| record.outcome == Outcome::Complete).collect();
    let others: Vec<_> =
        stored.iter().map(|(record, _)| &record.outcome).filter(|outcome| **outcome != Outcome::Complete).collect();
    assert_eq!(complete.len(), wanted, "{others:?}: {:#}", run["status"]);
    for (record, _) in &stored {
        assert!(record.generator.is_some() && record.sampler.is_some(), "a record was lost: {:?}", record.outcome);
    }
    let all = |metric: MetricName| -> Vec<f64> {
        let mut values: Vec<f64> = complete
            .iter()
            .filter_map(|(_, summary)| {
                summary.metrics.iter().find(|value| value.metric == metric).map(|value| value.value)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        assert_eq!(values.len(), wanted, "{metric} is missing in some trials");
        values
    };
    let cpu = all(MetricName::CpuPerRequest);
    let start = all(MetricName::StartListening);
    let late: Vec<f64> = start.iter().map(|seconds| (seconds - DELAY).abs()).collect();
    let quantile = |values: &[f64], q: f64| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values[((values.len() as f64 * q).ceil() as usize).clamp(1, values.len()) - 1]
    };
    println!(
        "{wanted} trials, {} void: CPU per request {:.3} … {:.3} ms of {:.3}; start-up error p50 {:.2} ms, p95 {:.2} ms, max {:.2} ms",
        others.len(),
        cpu[0] * 1e3,
        cpu[cpu.len() - 1] * 1e3,
        (COST + OWN) * 1e3,
        quantile(&late, 0.5) * 1e3,
        quantile(&late, 0.95) * 1e3,
        quantile(&late, 1.0) * 1e3,
    );
    for value in &cpu {
        assert!((value / (COST + OWN) - 1.0).abs() < 0.02, "CPU per request {value} s, the truth is {} s", COST + OWN);
    }
    // A quantile that far out needs trials to stand on; the sampler shares its CPU with the control
    // plane here.
    let judged = if wanted >= 40 { 0.95 } else { 0.5 };
    assert!(quantile(&late, judged) < 0.005, "start-up errors: {late:?}");
    cluster.abandon_namespace(namespace).unwrap();
}
