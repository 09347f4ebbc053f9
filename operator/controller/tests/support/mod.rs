//! A scripted API server, and a run to try things with.

#![allow(dead_code, clippy::needless_pass_by_value, reason = "each test binary uses a part of it")]

use std::time::Duration;

use gaugeblock_controller::identity::RunRef;
use gaugeblock_crds::{BenchmarkRunSpec, BenchmarkRunStatus};
use gaugeblock_planner::{
    Observed, Role, RunView, Slot, Snapshot, UnitKey, UnitPlan, UnitSpec,
    observed::{ClusterView, Place},
};
use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// UID of the run.
pub const UID: &str = "6f1e7a52-0d4c-4a3b-9f57-1b8a5c1d2e3f";
/// UID of another run.
pub const OTHER: &str = "00000000-0000-0000-0000-000000000000";

/// A request that the server saw.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method.
    pub method: Method,
    /// Path with query.
    pub path: String,
    /// Body, `null` when there is none.
    pub body: Value,
    /// Type of the body.
    pub content_type: String,
}

/// What the server answers.
pub struct Answer(u16, Vec<u8>);

/// Answers with an object.
pub fn ok(object: Value) -> Answer {
    Answer(200, object.to_string().into_bytes())
}

/// Answers with a log.
pub fn log(text: &str) -> Answer {
    Answer(200, text.as_bytes().to_vec())
}

/// Answers with what was sent, as a creation does.
pub fn created() -> Answer {
    Answer(201, Vec::new())
}

/// Refuses.
pub fn no(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    Answer(code, status.to_string().into_bytes())
}

/// There is no such object.
pub fn not_found() -> Answer {
    no(404, "NotFound", "not found")
}

/// There is one of this name.
pub fn exists() -> Answer {
    no(409, "AlreadyExists", "already exists")
}

/// It is not the one that was meant.
pub fn conflict() -> Answer {
    no(409, "Conflict", "the UID in the precondition differs")
}

/// A server that gives these answers in this order, to whatever is asked, and then is gone.
pub fn server(answers: Vec<Answer>) -> (Client, JoinHandle<Vec<Asked>>) {
    let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        for Answer(code, answer) in answers {
            let next = tokio::time::timeout(Duration::from_secs(5), handle.next_request()).await;
            let Ok(Some((request, send))) = next else { break };
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let answer = if code == 201 { body.to_vec() } else { answer };
            let header = head.headers.get(http::header::CONTENT_TYPE);
            seen.push(Asked {
                method: head.method,
                path: head.uri.to_string(),
                body: serde_json::from_slice(&body).unwrap_or_default(),
                content_type: header.map_or("", |value| value.to_str().unwrap()).to_owned(),
            });
            send.send_response(Response::builder().status(code).body(Body::from(answer)).unwrap());
        }
        seen
    });
    (Client::new(service, "default"), seen)
}

/// The run as it is named.
pub fn run() -> RunRef {
    RunRef { namespace: "team".into(), name: "todo".into(), uid: UID.into() }
}

/// Its spec.
pub fn spec() -> BenchmarkRunSpec {
    serde_json::from_value(json!({
        "targets": [{ "name": "first", "image": "todo:1" }, { "name": "second", "image": "todo:2" }],
        "dependencies": [{ "name": "db", "postgres": { "image": "postgres:17" } }],
        "scenarios": [{ "name": "get", "http": {
            "requests": [{ "name": "one", "path": "/" }],
            "load": { "open": { "rate": 100 } }
        } }],
    }))
    .unwrap()
}

/// Its frozen plan.
pub fn snapshot() -> Snapshot {
    Snapshot::freeze("team", "todo", UID, &spec(), None, Some("gaugeblock:1"))
}

/// What is observed of it: nothing but its plan.
pub fn observed() -> Observed {
    Observed {
        run: RunView {
            namespace: "team".into(),
            name: "todo".into(),
            uid: UID.into(),
            generation: 1,
            created: Timestamp::UNIX_EPOCH,
            deleting: false,
            spec: spec(),
            status: BenchmarkRunStatus::default(),
        },
        place: Place::Cluster(ClusterView {
            measuring_image: "gaugeblock:1".into(),
            operator_namespace: "gaugeblock-system".into(),
            ..ClusterView::default()
        }),
        snapshot: Some(snapshot()),
        has_credentials: true,
        result: None,
        units: Vec::new(),
        trials: Vec::new(),
    }
}

/// The unit of this role in the first trial.
pub fn key(role: Role) -> UnitKey {
    UnitKey { slot: Slot { block: 0, attempt: 0, arm: 0, stage: 0 }, role }
}

/// A target to create.
pub fn target() -> UnitSpec {
    let key = key(Role::Target);
    UnitSpec {
        key,
        name: key.name(&snapshot()),
        plan: UnitPlan::Target { arm: 0, hosts: Vec::new(), variables: Vec::new() },
        node: Some("node-b".into()),
        deadline: Duration::from_mins(1),
    }
}

/// Metadata of an object of the run with this UID.
pub fn of(uid: &str, name: &str) -> Value {
    json!({
        "name": name, "namespace": "team", "uid": "object-uid", "resourceVersion": "7",
        "labels": { "gaugeblock.dev/run-uid": uid },
    })
}

/// A claim that this run holds.
pub fn lease(holder: &str, node: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": gaugeblock_crds::names::node_claim(node), "namespace": "gaugeblock-system",
            "uid": "lease-uid", "resourceVersion": "7",
            "labels": { "gaugeblock.dev/run-uid": holder, "gaugeblock.dev/role": "claim" },
            "annotations": { "gaugeblock.dev/node": node, "gaugeblock.dev/run": "team/todo" },
        },
        "spec": { "holderIdentity": holder },
    })
}
