//! Verbs for tests that run studies on the real cluster: install, apply, watch, read what was stored.

#![allow(dead_code, reason = "each test binary uses some of them")]

use std::{sync::Once, time::Duration};

use gaugeblock_measurement::{TrialRecord, frame};
use gaugeblock_planner::{Snapshot, TrialSummary};
use gaugeblock_tests::{
    cluster::{Cluster, Options},
    images,
};
use serde_json::{Value, json};

const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/definitions");
const OPERATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/operator.yaml");
const POOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/pool.yaml");
pub const OPERATOR_NAMESPACE: &str = "gaugeblock-system";
pub const LABEL_RUN_UID: &str = "gaugeblock.dev/run-uid";

/// The shared cluster with the operator of this tree on it.
pub fn installed() -> Option<&'static Cluster> {
    let images = images::build_here().expect("the images");
    let cluster = Cluster::shared(&Options { nodes: true, images, keep: false })?;
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let apply = |path| {
            cluster
                .kubectl_text(&["apply", "--server-side", "--force-conflicts", "--filename", path])
                .expect("an installation")
        };
        apply(DEFINITIONS);
        apply(OPERATOR);
        let rollout =
            ["rollout", "status", "deployment/gaugeblock-operator", "--namespace", OPERATOR_NAMESPACE, "--timeout=90s"];
        cluster.kubectl_text(&rollout).expect("a running operator");
        apply(POOL);
    });
    Some(cluster)
}

/// A run under construction.
pub struct Study {
    pub object: Value,
}

/// Two arms of the reference target, no dependency, one open scenario.
pub fn study(name: &str) -> Study {
    Study {
        object: json!({
            "apiVersion": "gaugeblock.dev/v1alpha1",
            "kind": "BenchmarkRun",
            "metadata": { "name": name },
            "spec": {
                "pool": "bench",
                "targets": [arm("baseline", &[]), arm("candidate", &[])],
                "scenarios": [ {
                    "name": "json",
                    "http": {
                        "requests": [ { "name": "json", "path": "/json" } ],
                        "load": { "open": { "rate": 200, "connections": 16 } },
                        "warmUp": "500ms",
                        "measure": "2s",
                    },
                } ],
                "repetitions": { "blocks": 4, "idle": "500ms" },
                // The system node has no exclusive CPU to give: the control plane lives there.
                "generator": { "resources": { "cpu": "300m", "memory": "64Mi" } },
            },
        }),
    }
}

/// An arm of the reference target.
pub fn arm(name: &str, arguments: &[&str]) -> Value {
    json!({
        "name": name,
        "image": images::REFERENCE_TARGET,
        "args": arguments,
        "readiness": { "path": "/health", "timeout": "30s" },
        "resources": { "cpu": "1", "memory": "128Mi" },
    })
}

impl Study {
    /// Changes one place of the object.
    pub fn with(mut self, path: &str, value: Value) -> Self {
        let (parent, last) = path.rsplit_once('/').expect("a path");
        let parent = self.object.pointer_mut(parent).unwrap_or_else(|| panic!("no {path}"));
        match parent {
            Value::Array(list) => list[last.parse::<usize>().expect("an index")] = value,
            parent => parent[last] = value,
        }
        self
    }

    /// Applies it.
    pub fn apply(&self, cluster: &Cluster, namespace: &str) {
        let mut object = self.object.clone();
        object["metadata"]["namespace"] = json!(namespace);
        cluster.apply(&object.to_string()).unwrap_or_else(|error| panic!("{error:#}"));
    }
}

/// The run once its condition `Finished` stands, by `kubectl wait` as a user would.
pub fn finished(cluster: &Cluster, namespace: &str, name: &str, deadline: Duration) -> Value {
    let time_out = format!("--timeout={}s", deadline.as_secs());
    let run = format!("brun/{name}");
    let waited =
        cluster.kubectl(&["wait", "--for=condition=Finished", &run, "--namespace", namespace, &time_out]).unwrap();
    let object = get(cluster, namespace, name);
    assert!(waited.status.success(), "{name} did not finish: {:#}", object["status"]);
    object
}

pub fn get(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    cluster.get(&["benchmarkrun", name, "--namespace", namespace]).unwrap()
}

/// Status, reason and message of a condition; empty when it is not there.
pub fn condition(run: &Value, kind: &str) -> (String, String, String) {
    let conditions = run["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// Pods of the run, wherever they are.
pub fn pods(cluster: &Cluster, uid: &str) -> Vec<Value> {
    let selector = format!("--selector={LABEL_RUN_UID}={uid}");
    cluster.get(&["pods", "--all-namespaces", &selector]).unwrap()["items"].as_array().cloned().unwrap_or_default()
}

/// Holders of claims on nodes.
pub fn claims(cluster: &Cluster) -> Vec<String> {
    let leases = cluster.get(&["leases", "--namespace", OPERATOR_NAMESPACE]).unwrap();
    let holders = leases["items"].as_array().into_iter().flatten();
    holders.filter_map(|lease| lease["spec"]["holderIdentity"].as_str().map(str::to_owned)).collect()
}

pub fn uid(run: &Value) -> String {
    run["metadata"]["uid"].as_str().expect("a UID").to_owned()
}

/// The run's stored trials, in the order in which they ended.
pub fn trials(cluster: &Cluster, namespace: &str, uid: &str) -> Vec<(TrialRecord, TrialSummary)> {
    let selector = format!("--selector={LABEL_RUN_UID}={uid},gaugeblock.dev/role=trial-record");
    let maps = cluster.get(&["configmaps", "--namespace", namespace, &selector]).unwrap();
    let mut trials: Vec<(TrialRecord, TrialSummary)> = maps["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|map| {
            let data = |key: &str| map["data"][key].as_str().unwrap_or_default().to_owned();
            let record = frame::unpack(&data("record")).expect("a whole record");
            (record, serde_json::from_str(&data("summary")).expect("a summary"))
        })
        .collect();
    trials.sort_by_key(|(_, summary)| summary.ended);
    trials
}

/// The run's frozen plan.
pub fn snapshot(cluster: &Cluster, namespace: &str, uid: &str) -> Snapshot {
    let selector = format!("--selector={LABEL_RUN_UID}={uid}");
    let maps = cluster.get(&["configmaps", "--namespace", namespace, &selector]).unwrap();
    let packed = maps["items"].as_array().into_iter().flatten().find_map(|map| map["data"]["snapshot"].as_str());
    frame::unpack(packed.expect("a frozen plan")).expect("a whole plan")
}

/// Events about the run: reason and note.
pub fn events(cluster: &Cluster, namespace: &str, name: &str) -> Vec<(String, String)> {
    let events = cluster.get(&["events.events.k8s.io", "--namespace", namespace]).unwrap();
    let about = events["items"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    about
        .iter()
        .filter(|event| event["regarding"]["name"] == name)
        .map(|event| (text(&event["reason"]), text(&event["note"])))
        .collect()
}
