//! The API as a real API server sees it: what it accepts without a warning, and what it refuses,
//! with the message that a person gets to read.

use std::sync::Once;

use gaugeblock_tests::{
    cluster::{Cluster, Options},
    command, wait,
};
use serde_json::{Value, json};

const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/definitions");

fn cluster() -> Option<&'static Cluster> {
    let cluster = Cluster::shared(&Options::default())?;
    static DEFINED: Once = Once::new();
    DEFINED.call_once(|| {
        let arguments = ["apply", "--server-side", "--force-conflicts", "--filename", DEFINITIONS];
        let output = command::output(&mut cluster.kubectl_command(&arguments)).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        assert_eq!(errors, "", "the API server has something to say about our definitions");
        let served = || cluster.kubectl_text(&["get", "benchmarkruns,baselines,benchmarkpools"]).map(Some);
        wait::until("the new kinds to be served", std::time::Duration::from_secs(20), served).unwrap();
    });
    Some(cluster)
}

fn run() -> Value {
    json!({
        "apiVersion": "gaugeblock.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": { "name": "rules", "namespace": "default" },
        "spec": {
            "targets": [
                { "name": "baseline", "image": "shop:1" },
                { "name": "candidate", "image": "shop:2" },
            ],
            "dependencies": [ { "name": "db", "postgres": { "image": "postgres:17" } } ],
            "scenarios": [ scenario("json") ],
        },
    })
}

fn scenario(name: &str) -> Value {
    json!({
        "name": name,
        "http": { "requests": [ { "name": "all", "path": "/json" } ], "load": { "open": { "rate": 500 } } },
    })
}

fn pool() -> Value {
    json!({
        "apiVersion": "gaugeblock.dev/v1alpha1",
        "kind": "BenchmarkPool",
        "metadata": { "name": "rules" },
        "spec": { "nodeSelector": { "gaugeblock.dev/pool": "bench" } },
    })
}

fn baseline() -> Value {
    json!({
        "apiVersion": "gaugeblock.dev/v1alpha1",
        "kind": "Baseline",
        "metadata": { "name": "rules", "namespace": "default" },
        "spec": { "target": { "name": "shop", "image": "shop:1" } },
    })
}

/// An object with one place changed; `null` removes it.
fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("no {path}"));
    match (parent, value) {
        (Value::Array(list), value) => list[last.parse::<usize>().unwrap()] = value,
        (Value::Object(map), Value::Null) => drop(map.remove(last)),
        (Value::Object(map), value) => drop(map.insert(last.into(), value)),
        (other, _) => panic!("{path} is in {other}"),
    }
    object
}

fn dry_run(cluster: &Cluster, object: &Value) -> Result<String, String> {
    let mut kubectl = cluster.kubectl_command(&["create", "--dry-run=server", "--filename=-"]);
    let output = command::output_with_input(&mut kubectl, object.to_string().as_bytes()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(errors) } else { Err(errors) }
}

fn accepts(cluster: &Cluster, what: &str, object: &Value) {
    match dry_run(cluster, object) {
        Ok(warnings) => assert_eq!(warnings, "", "{what}: accepted with a warning"),
        Err(message) => panic!("{what}: refused: {message}"),
    }
}

fn rejects(cluster: &Cluster, object: &Value, message: &str) {
    match dry_run(cluster, object) {
        Ok(_) => panic!("accepted, though it should say: {message}\n{object}"),
        Err(said) => assert!(said.contains(message), "it should say {message:?}, it says: {said}"),
    }
}

#[test]
fn good_objects_are_accepted_without_a_warning() {
    let Some(cluster) = cluster() else { return };
    accepts(cluster, "the smallest run", &with(run(), "/spec/dependencies", Value::Null));
    accepts(cluster, "a run with a dependency", &run());
    let closed = json!({ "closed": { "connections": 20 } });
    accepts(cluster, "a closed workload", &with(run(), "/spec/scenarios/0/http/load", closed));
    let template = json!({ "spec": { "containers": [ { "name": "side", "image": "side:1", "anything": [1, 2] } ] } });
    accepts(cluster, "a pod template of any shape", &with(run(), "/spec/targets/0/podTemplate", template));
    let named = json!({ "baseline": "candidate", "metrics": [ { "metric": "latency_p50", "scenario": "json", "minimumEffect": "2.5%" } ] });
    accepts(cluster, "a comparison by name", &with(run(), "/spec/comparison", named));
    accepts(cluster, "a pool", &pool());
    accepts(cluster, "a baseline", &baseline());
}

#[test]
fn contradictions_are_refused_in_words() {
    let Some(cluster) = cluster() else { return };
    let target = json!({ "name": "baseline", "image": "shop:3" });
    rejects(cluster, &with(run(), "/spec/targets/1", target), "target names must be unique");
    let twice = with(run(), "/spec/scenarios", json!([scenario("json"), scenario("json")]));
    rejects(cluster, &twice, "scenario names must be unique");
    let db = json!({ "name": "db", "postgres": { "image": "postgres:17" } });
    rejects(cluster, &with(run(), "/spec/dependencies", json!([db, db])), "dependency names must be unique");
    rejects(
        cluster,
        &with(run(), "/spec/dependencies/0/postgres", Value::Null),
        "name the kind of the dependency: postgres",
    );
    rejects(cluster, &with(run(), "/spec/scenarios/0/http", Value::Null), "name the kind of the scenario: http");
    rejects(
        cluster,
        &with(run(), "/spec/comparison", json!({ "baseline": "nobody" })),
        "comparison.baseline must name one of the targets",
    );
    let elsewhere = json!({ "metrics": [ { "metric": "throughput", "scenario": "nowhere" } ] });
    rejects(
        cluster,
        &with(run(), "/spec/comparison", elsewhere),
        "comparison.metrics[].scenario must name one of the scenarios",
    );
    let both = json!({ "open": { "rate": 1 }, "closed": { "connections": 1 } });
    rejects(cluster, &with(run(), "/spec/scenarios/0/http/load", both), "set exactly one of closed and open");
    rejects(cluster, &with(run(), "/spec/scenarios/0/http/load", json!({})), "set exactly one of closed and open");
    let requests = json!([ { "name": "all", "path": "/a" }, { "name": "all", "path": "/b" } ]);
    rejects(cluster, &with(run(), "/spec/scenarios/0/http/requests", requests), "request names must be unique");
    let port = json!([ { "name": "PORT", "value": "1" } ]);
    rejects(cluster, &with(run(), "/spec/targets/0/env", port), "PORT is set by Gaugeblock from `port`");
    let two = json!([ { "name": "A", "value": "1", "secretKeyRef": { "name": "s", "key": "k" } } ]);
    rejects(
        cluster,
        &with(run(), "/spec/targets/0/env", two),
        "set exactly one of value, secretKeyRef and configMapKeyRef",
    );
    let backwards = json!({ "id": { "range": { "from": 2, "to": 1 } } });
    rejects(
        cluster,
        &with(run(), "/spec/scenarios/0/http/requests/0/parameters", backwards),
        "`from` must not be above `to`",
    );
    let neither = json!({ "id": {} });
    rejects(
        cluster,
        &with(run(), "/spec/scenarios/0/http/requests/0/parameters", neither),
        "set exactly one of range and oneOf",
    );
}

#[test]
fn bounds_and_patterns_are_kept() {
    let Some(cluster) = cluster() else { return };
    let many: Vec<Value> = (0..17).map(|i| json!({ "name": format!("arm-{i}"), "image": "shop:1" })).collect();
    rejects(cluster, &with(run(), "/spec/targets", json!(many)), "must have at most 16 items");
    rejects(cluster, &with(run(), "/spec/targets", json!([])), "should have at least 1 items");
    rejects(cluster, &with(run(), "/spec/targets/0/name", json!("Upper")), "should match");
    rejects(cluster, &with(run(), "/spec/deadline", json!("soon")), "should match");
    rejects(cluster, &with(run(), "/spec/scenarios/0/http/warmUp", json!("5")), "should match");
    rejects(
        cluster,
        &with(run(), "/spec/scenarios/0/http/load/open/rate", json!(0)),
        "should be greater than or equal to 1",
    );
    rejects(cluster, &with(run(), "/spec/comparison", json!({ "errorRate": "2" })), "should match");
    rejects(cluster, &with(run(), "/spec/targets/0/resources", json!({ "cpu": "one" })), "should match");
    rejects(cluster, &with(run(), "/spec/priority", json!(2_000_000)), "should be less than or equal to 1000000");
    rejects(cluster, &with(run(), "/spec/purpose", json!("Fun")), "supported values: \"Gate\", \"Study\"");
    rejects(
        cluster,
        &with(run(), "/spec/scenarios/0/http/requests/0/headers", json!([{ "name": "a", "value": "b\r\nc: d" }])),
        "should match",
    );
    rejects(cluster, &with(pool(), "/spec/nodeSelector", json!({})), "should have at least 1 properties");
}

#[test]
fn a_run_is_immutable_but_for_its_four_knobs_and_applying_it_again_changes_nothing() {
    let Some(cluster) = cluster() else { return };
    let namespace = format!("rules-{}", std::process::id());
    cluster.kubectl_text(&["create", "namespace", &namespace]).unwrap();
    let manifest = with(run(), "/metadata/namespace", json!(namespace)).to_string();
    let object = ["benchmarkrun", "rules", "--namespace", &namespace];
    cluster.apply(&manifest).unwrap();
    let first = cluster.get(&object).unwrap();
    cluster.apply(&manifest).unwrap();
    let second = cluster.get(&object).unwrap();
    assert_eq!(first["metadata"]["uid"], second["metadata"]["uid"]);
    assert_eq!(second["metadata"]["generation"], 1, "applying the same manifest twice is no change");
    assert_eq!(first["spec"], second["spec"]);

    let patch = |spec: Value| {
        let body = json!({ "spec": spec }).to_string();
        let output = cluster
            .kubectl(&["patch", "benchmarkrun", "rules", "--namespace", &namespace, "--type=merge", "--patch", &body])
            .unwrap();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    };
    let immutable = "a BenchmarkRun is immutable, but for suspend, cancel, priority and ttlSecondsAfterFinished";
    for spec in [
        json!({ "pool": "other" }),
        json!({ "purpose": "Study" }),
        json!({ "deadline": "1h" }),
        json!({ "isolation": "Preferred" }),
        json!({ "dependencies": null }),
        json!({ "repetitions": { "blocks": 8 } }),
        json!({ "comparison": { "errorRate": "5%" } }),
        json!({ "generator": { "resources": { "cpu": "2" } } }),
        json!({ "targets": [ { "name": "baseline", "image": "shop:1" }, { "name": "candidate", "image": "shop:3" } ] }),
        json!({ "targets": [ { "name": "baseline", "image": "shop:1", "podTemplate": { "spec": { "a": 1 } } }, { "name": "candidate", "image": "shop:2" } ] }),
        json!({ "scenarios": [ scenario("other") ] }),
    ] {
        let said = patch(spec.clone()).expect_err("an immutable field was changed");
        assert!(said.contains(immutable), "{spec}: {said}");
    }
    for spec in [
        json!({ "suspend": true }),
        json!({ "suspend": false }),
        json!({ "priority": 5 }),
        json!({ "ttlSecondsAfterFinished": 60 }),
        json!({ "ttlSecondsAfterFinished": null }),
        json!({ "cancel": true }),
    ] {
        patch(spec.clone()).unwrap_or_else(|said| panic!("{spec}: {said}"));
    }
    let said = patch(json!({ "cancel": false })).expect_err("a cancelled run was taken up again");
    assert!(said.contains("a cancelled run cannot be taken up again"), "{said}");
    cluster.kubectl_text(&["delete", "namespace", &namespace, "--wait=false"]).unwrap();
}

#[test]
fn a_baseline_is_immutable() {
    let Some(cluster) = cluster() else { return };
    let name = format!("rules-{}", std::process::id());
    cluster.apply(&with(baseline(), "/metadata/name", json!(name)).to_string()).unwrap();
    let patch = json!({ "spec": { "target": { "name": "shop", "image": "shop:2" } } }).to_string();
    let output = cluster.kubectl(&["patch", "baseline", &name, "--type=merge", "--patch", &patch]).unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a Baseline is immutable: promote a run to make a new one"), "{said}");
    cluster.kubectl_text(&["delete", "baseline", &name]).unwrap();
}

#[test]
fn columns_and_selectable_fields_are_there() {
    let Some(cluster) = cluster() else { return };
    let name = format!("columns-{}", std::process::id());
    cluster.apply(&with(run(), "/metadata/name", json!(name)).to_string()).unwrap();
    let status = json!({ "status": { "phase": "Finished", "verdict": "Regressed", "reason": "Regressed", "progress": "7/12", "node": "node-b" } });
    cluster
        .kubectl_text(&["patch", "brun", &name, "--subresource=status", "--type=merge", "--patch", &status.to_string()])
        .unwrap();
    let table = cluster.kubectl_text(&["get", "brun", &name]).unwrap();
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["NAME", "PHASE", "PROGRESS", "VERDICT", "REASON", "AGE"]);
    let wide = cluster.kubectl_text(&["get", "brun", &name, "--output=wide"]).unwrap();
    for word in ["POOL", "NODE", "node-b", "7/12"] {
        assert!(wide.contains(word), "{wide}");
    }
    let selector = "--field-selector=status.verdict=Regressed,status.phase=Finished";
    assert!(cluster.kubectl_text(&["get", "brun", selector, "--output=name"]).unwrap().contains(&name));
    let none =
        cluster.kubectl_text(&["get", "brun", "--field-selector=status.verdict=NoChange", "--output=name"]).unwrap();
    assert!(!none.contains(&name), "{none}");
    cluster.kubectl_text(&["delete", "brun", &name]).unwrap();
}
