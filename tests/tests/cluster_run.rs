//! The main job on the real cluster, by `kubectl apply` only: from a manifest to a verdict.

mod study;

use std::time::Duration;

use gaugeblock_planner::compare;
use gaugeblock_tests::{images, wait};
use serde_json::{Value, json};
use study::{arm, claims, condition, events, finished, get, installed, pods, snapshot, study, trials, uid};

const SCHEMA: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: items-schema }
data:
  schema.sql: |
    CREATE TABLE items (id int PRIMARY KEY, title text NOT NULL, body text NOT NULL);
    INSERT INTO items SELECT i, 'title ' || i, repeat('body ', 20) FROM generate_series(1, 1000) AS i;
"#;

/// Two arms beside a Postgres, at a rate that the shared CPU carries.
fn versus(name: &str, candidate: &str, blocks: i32) -> study::Study {
    let postgres = json!({
        "image": images::POSTGRES,
        "initSql": [ { "name": "items-schema", "key": "schema.sql" } ],
        "resources": { "cpu": "700m", "memory": "256Mi" },
    });
    let request = json!({ "name": "row", "path": "/rows/{{id}}", "parameters": { "id": { "range": { "from": 1, "to": 1000 } } } });
    let scenario = json!({
        "name": "row",
        "http": {
            "requests": [request],
            "load": { "open": { "rate": 150, "connections": 16 } },
            "warmUp": "1s",
            "measure": "4s",
        },
    });
    study(name)
        .with("/spec/targets/0", arm("baseline", &["--cpu-per-request=1ms"]))
        .with("/spec/targets/1", arm("candidate", &[candidate]))
        .with("/spec/dependencies", json!([ { "name": "db", "postgres": postgres } ]))
        .with("/spec/scenarios/0", scenario)
        .with("/spec/repetitions", json!({ "blocks": blocks, "idle": "1s" }))
        // The load generator shares its CPU with the control plane here: latency is shown, and decides nothing.
        .with("/spec/comparison", json!({ "metrics": [ { "metric": "latency_p50", "gate": false } ] }))
}

fn row<'a>(run: &'a Value, metric: &str) -> &'a Value {
    let rows = run["status"]["results"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no row of {metric}"))
}

/// Case 8, too: both are applied at once on one node; never are two measuring, and the first comes
/// first.
#[test]
fn a_fifth_more_cpu_per_request_is_found_and_the_same_image_is_no_regression() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "run-versus";
    cluster.new_namespace(namespace).unwrap();
    cluster.feed(&["apply", "--namespace", namespace, "--filename=-"], SCHEMA).unwrap();
    versus("slower", "--cpu-per-request=1200us", 12).apply(cluster, namespace);
    let slower = uid(&get(cluster, namespace, "slower"));
    wait::until("the first run's claim", Duration::from_secs(30), || {
        Ok(claims(cluster).contains(&slower).then_some(()))
    })
    .unwrap();
    versus("same", "--cpu-per-request=1ms", 6).apply(cluster, namespace);

    let target = wait::until("a running target", Duration::from_secs(60), || {
        let running = |pod: &Value| {
            pod["metadata"]["labels"]["gaugeblock.dev/role"] == "target"
                && pod["status"]["containerStatuses"][0]["state"]["running"].is_object()
        };
        Ok(pods(cluster, &slower).into_iter().find(running))
    })
    .unwrap();
    assert_eq!(get(cluster, namespace, "same")["status"]["phase"], "Queued", "one at a time");
    if !cluster.is_foreign() {
        exclusive_in_the_kernel(cluster, &target, &pods(cluster, &slower));
    }

    let run = finished(cluster, namespace, "slower", Duration::from_secs(900));
    assert_eq!(run["status"]["verdict"], "Regressed", "{:#}", run["status"]);
    let cpu = row(&run, "cpu_per_request");
    assert_eq!((&cpu["verdict"], &cpu["gate"]), (&json!("Regressed"), &json!(true)), "{cpu:#}");
    assert_eq!(condition(&run, "Finished").1, "Regressed");
    assert_eq!(condition(&run, "Complete").0, "True", "a run that finds a regression completed");
    assert_eq!(condition(&run, "Failed").0, "");
    assert_eq!(condition(&run, "CPUPinned").0, "True");
    nothing_is_left(cluster, &slower);
    reads_well(cluster, namespace, &run);
    recomputes(cluster, namespace, &run);

    let run = finished(cluster, namespace, "same", Duration::from_secs(900));
    let gates = run["status"]["results"].as_array().unwrap().iter().filter(|row| row["gate"] == true);
    let regressed: Vec<_> = gates.filter(|row| row["verdict"] == "Regressed").collect();
    assert!(regressed.is_empty(), "{regressed:#?}");
    assert_eq!(condition(&run, "Complete").0, "True", "{:#}", run["status"]);
    recomputes(cluster, namespace, &run);
    cluster.delete_namespace(namespace).unwrap();
}

/// The kernel's CPU sets are the proof, not the spec: nobody but the target may use its CPU.
fn exclusive_in_the_kernel(cluster: &gaugeblock_tests::cluster::Cluster, target: &Value, all: &[Value]) {
    let role = |pod: &Value| pod["metadata"]["labels"]["gaugeblock.dev/role"].as_str().unwrap_or_default().to_owned();
    let node = |pod: &Value| pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    assert_eq!(node(target), "node-b");
    let own = cluster.container_cpus(target, "target").unwrap();
    assert_eq!(own.len(), 1, "one CPU, of its own");
    wait::until("the neighbours to leave the target's CPU", Duration::from_secs(15), || {
        let mut alone = true;
        for pod in all.iter().filter(|pod| node(pod) == "node-b" && role(pod) != "target") {
            let container = pod["spec"]["containers"][0]["name"].as_str().unwrap_or_default().to_owned();
            alone &= !cluster.container_cpus(pod, &container)?.iter().any(|cpu| own.contains(cpu));
        }
        Ok(alone.then_some(()))
    })
    .unwrap();
    for pod in all {
        match role(pod).as_str() {
            "dependency" | "sampler" => assert_eq!(node(pod), "node-b", "beside the target"),
            "load-generator" if !node(pod).is_empty() => assert_eq!(node(pod), "node-a", "elsewhere"),
            _ => {}
        }
    }
    let operator = cluster
        .get(&["pods", "--namespace=gaugeblock-system", "--selector=app.kubernetes.io/name=gaugeblock-operator"])
        .unwrap();
    assert_eq!(operator["items"][0]["spec"]["nodeName"], "node-a", "the operator is no neighbour");
}

fn nothing_is_left(cluster: &gaugeblock_tests::cluster::Cluster, uid: &str) {
    assert_eq!(pods(cluster, uid), Vec::<Value>::new());
    assert!(!claims(cluster).contains(&uid.to_owned()));
}

fn reads_well(cluster: &gaugeblock_tests::cluster::Cluster, namespace: &str, run: &Value) {
    let table = cluster.kubectl_text(&["get", "brun", "slower", "--namespace", namespace]).unwrap();
    let line: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((line[1], line[3], line[4]), ("Finished", "Regressed", "Regressed"), "{table}");
    assert!(line[2].ends_with("/12"), "{table}");
    let summary = run["status"]["summary"].as_str().unwrap();
    // Which of the gates is named first depends on what else moved: more CPU per request is latency, too.
    assert!(summary.contains('%') && summary.contains("is worse"), "{summary}");
    assert!(
        run["status"]["findings"].to_string().contains("cpu_per_request is worse"),
        "{:#}",
        run["status"]["findings"]
    );
    let told: Vec<String> = events(cluster, namespace, "slower").into_iter().map(|(reason, _)| reason).collect();
    for reason in ["NodeClaimed", "PlanFrozen", "Measuring", "Regressed"] {
        assert!(told.iter().any(|one| one == reason), "no event {reason}: {told:?}");
    }
    assert!(run["status"].to_string().len() < 32 * 1024);
    let image = run["status"]["arms"][0]["image"].as_str().unwrap_or_default();
    assert!(image.contains("sha256:"), "the image as the runtime resolved it: {image}");
}

/// The verdict follows from the stored records alone.
fn recomputes(cluster: &gaugeblock_tests::cluster::Cluster, namespace: &str, run: &Value) {
    let stored = trials(cluster, namespace, &uid(run));
    let summaries: Vec<_> = stored.iter().map(|(_, summary)| summary.clone()).collect();
    let snapshot = snapshot(cluster, namespace, &uid(run));
    let again = compare::judge(&snapshot, &summaries, false);
    let verdict = if again.decided { again } else { compare::judge(&snapshot, &summaries, true) }.verdict;
    assert_eq!(run["status"]["verdict"], verdict.as_str());
    for (record, summary) in &stored {
        let (Some(generator), Some(sampler)) = (&record.generator, &record.sampler) else { continue };
        assert_eq!(gaugeblock_measurement::derive::metrics(generator, sampler), summary.metrics);
    }
}
