//! How a run is told: its status, and what becomes of one that cannot be read.

#![allow(clippy::unwrap_used, reason = "fixtures are code of tests, too")]

mod support;

use gaugeblock_controller::{
    identity::Guarded,
    malformed,
    status::{self, Wrote},
};
use gaugeblock_crds::{
    BenchmarkRunStatus,
    condition::Reason,
    status::{LONGEST_MESSAGE, Phase},
};
use http::Method;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;
use support::{UID, no, not_found, of, ok, run, server};

#[tokio::test]
async fn a_status_is_applied_by_a_manager_of_its_own_to_this_very_run() {
    let (client, seen) = server(vec![ok(json!({ "metadata": of(UID, "todo") }))]);
    let status = BenchmarkRunStatus { phase: Phase::Measuring, ..BenchmarkRunStatus::default() };
    assert_eq!(status::write(&client, &run(), &status).await.unwrap(), Wrote::Status);
    drop(client);
    let asked = &seen.await.unwrap()[0];
    assert_eq!(asked.method, Method::PATCH);
    assert!(asked.path.contains("/benchmarkruns/todo/status?"), "{}", asked.path);
    assert!(asked.path.contains("force=true") && asked.path.contains("fieldManager=gaugeblock-status"));
    assert_eq!(asked.content_type, "application/apply-patch+yaml");
    assert_eq!(asked.body["metadata"]["uid"], UID);
    assert_eq!(asked.body["status"]["phase"], "Measuring");
    assert_eq!(asked.body.get("spec"), None);
}

#[tokio::test]
async fn a_run_that_is_gone_has_nobody_to_tell() {
    let (client, _) = server(vec![not_found()]);
    let status = BenchmarkRunStatus::default();
    assert_eq!(status::write(&client, &run(), &status).await.unwrap(), Wrote::Nothing);
}

#[tokio::test]
async fn a_status_that_cannot_be_written_is_an_error() {
    let (client, _) = server(vec![no(500, "InternalError", "etcd is away")]);
    let error = status::write(&client, &run(), &BenchmarkRunStatus::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the API server answered 500: etcd is away");
}

#[test]
fn a_status_is_compared_as_the_api_keeps_it() {
    let condition: Condition = serde_json::from_value(json!({
        "type": "Admitted", "status": "True", "reason": "NodeClaimed", "message": "",
        "lastTransitionTime": "2026-11-01T10:00:00Z",
    }))
    .unwrap();
    let mut precise = condition.clone();
    precise.last_transition_time.0 += SignedDuration::from_millis(250);
    let status = |condition| BenchmarkRunStatus { conditions: vec![condition], ..BenchmarkRunStatus::default() };
    assert_eq!(status::as_read(&status(precise)), status(condition));
}

#[test]
fn a_run_that_cannot_be_read_ends_with_a_reason() {
    let run: Guarded = serde_json::from_value(json!({
        "apiVersion": "gaugeblock.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": { "name": "todo", "generation": 3, "creationTimestamp": "2026-11-01T10:00:00Z" },
        "spec": { "targets": "none" },
    }))
    .unwrap();
    let invalid = run.0.unwrap_err();
    let status = malformed::status(&invalid);
    assert_eq!((status.phase, status.reason), (Phase::Finished, Some(Reason::InvalidSpec)));
    assert_eq!(status.observed_generation, Some(3));
    assert!(status.message.as_ref().unwrap().starts_with("the run cannot be read: "));
    assert!(status.message.as_ref().unwrap().chars().count() <= LONGEST_MESSAGE);
    assert_eq!(status, malformed::status(&invalid), "writing it again changes nothing");
}
