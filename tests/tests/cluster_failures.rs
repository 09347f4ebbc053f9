//! Failures on the real cluster: each has its reason, a next step, one event, and leaves nothing.
//! Numbers are those of the cases that other tools' users reported.

mod study;

use std::time::Duration;

use gaugeblock_measurement::{Outcome, trial::TargetLoss};
use gaugeblock_tests::{cluster::Cluster, wait};
use serde_json::{Value, json};
use study::{arm, claims, condition, events, finished, get, installed, pods, study, trials, uid};

const SOON: Duration = Duration::from_secs(120);

fn fails(cluster: &Cluster, namespace: &str, name: &str, reason: &str) -> Value {
    let run = finished(cluster, namespace, name, SOON);
    let (status, said, message) = condition(&run, "Finished");
    assert_eq!((status.as_str(), said.as_str()), ("True", reason), "{message}");
    assert_eq!(condition(&run, "Failed").1, reason);
    assert_eq!(run["status"]["phase"], "Finished");
    assert_eq!(run["status"]["reason"], reason);
    assert_eq!(pods(cluster, &uid(&run)), Vec::<Value>::new(), "no pod is left");
    assert!(!claims(cluster).contains(&uid(&run)), "no claim is left");
    run
}

fn told_once(cluster: &Cluster, namespace: &str, name: &str, reason: &str, words: &str) {
    let told = wait::until("the event", Duration::from_secs(10), || {
        let told: Vec<_> = events(cluster, namespace, name)
            .into_iter()
            .filter(|(one, note)| one == reason && note.contains(words))
            .collect();
        Ok((!told.is_empty()).then_some(told))
    });
    assert_eq!(told.unwrap().len(), 1, "one event");
}

#[test]
fn case_1_an_image_that_cannot_be_pulled() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "case-1";
    cluster.new_namespace(namespace).unwrap();
    study("pull")
        .with("/spec/targets/0/image", json!("gaugeblock.local/nowhere:1"))
        .with("/spec/targets/1/image", json!("gaugeblock.local/nowhere:1"))
        .apply(cluster, namespace);
    let id = uid(&get(cluster, namespace, "pull"));
    let run = fails(cluster, namespace, "pull", "ImagePullError");
    assert!(run["status"]["message"].as_str().unwrap().contains("nowhere:1"), "{:#}", run["status"]);
    told_once(cluster, namespace, "pull", "ImagePullError", "nowhere:1");
    // The generator waits behind its gate for a target that runs: it never had a container.
    let ran = cluster.get(&["events.events.k8s.io", "--namespace", namespace]).unwrap();
    let started = ran["items"].as_array().unwrap().iter().filter(|event| {
        event["regarding"]["name"].as_str().is_some_and(|name| name.ends_with("-load")) && event["reason"] == "Started"
    });
    assert_eq!(started.count(), 0);
    assert!(trials(cluster, namespace, &id).is_empty());
    cluster.abandon_namespace(namespace).unwrap();
}

#[test]
fn case_2_a_target_killed_for_memory_during_the_load() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "case-2";
    cluster.new_namespace(namespace).unwrap();
    let hungry = arm("candidate", &["--oom-after=100"]);
    study("oom")
        .with("/spec/targets/0", arm("baseline", &["--oom-after=100"]))
        .with("/spec/targets/1", hungry)
        .apply(cluster, namespace);
    let run = fails(cluster, namespace, "oom", "TargetOOMKilled");
    assert!(run["status"].get("verdict").is_none());
    assert!(run["status"].get("results").is_none(), "nothing of that trial is compared: {:#}", run["status"]);
    let stored = trials(cluster, namespace, &uid(&run));
    let (record, _) = stored.last().expect("a stored trial");
    assert!(matches!(record.outcome, Outcome::LostToTarget(TargetLoss::OomKilled, _)), "{:?}", record.outcome);
    let sampler = record.sampler.as_ref().expect("the sampler's record is kept");
    let target = sampler.series.iter().find(|series| series.target).expect("the target's series");
    let highest = target.peak.max(target.anonymous.iter().copied().max()).expect("a peak");
    assert!(highest > 32 << 20, "the peak memory is kept: {highest}");
    cluster.abandon_namespace(namespace).unwrap();
}

#[test]
fn case_7_a_run_deleted_in_any_phase_leaves_nothing() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "case-7";
    cluster.new_namespace(namespace).unwrap();
    let role = |pod: &Value| pod["metadata"]["labels"]["gaugeblock.dev/role"].as_str().unwrap_or_default().to_owned();
    let is_there = |all: &[Value], wanted: &str| all.iter().any(|pod| role(pod) == wanted);
    let runs = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["running"].is_object();
    type Moment<'a> = (&'a str, &'a dyn Fn(&[Value]) -> bool);
    let moments: [Moment; 5] = [
        ("at once", &|_| true),
        ("with its target behind the gate", &|all| is_there(all, "target")),
        ("with its sampler starting", &|all| is_there(all, "sampler")),
        ("measuring", &|all| all.iter().any(|pod| role(pod) == "load-generator" && runs(pod))),
        ("storing its record", &|all| is_there(all, "load-generator") && !is_there(all, "target")),
    ];
    for (index, (moment, has_come)) in moments.iter().enumerate() {
        let name = format!("gone-{index}");
        study(&name).apply(cluster, namespace);
        let id = uid(&get(cluster, namespace, &name));
        wait::until(moment, Duration::from_secs(60), || Ok(has_come(&pods(cluster, &id)).then_some(()))).unwrap();
        cluster.kubectl_text(&["delete", "benchmarkrun", &name, "--namespace", namespace]).unwrap();
        wait::until("pods and claims to be gone", Duration::from_secs(20), || {
            let gone = pods(cluster, &id).is_empty() && !claims(cluster).contains(&id);
            Ok(gone.then_some(()))
        })
        .unwrap_or_else(|error| panic!("deleted {moment}: {error:#}: {:#?}", pods(cluster, &id)));
        let selector = format!("--selector={}={id}", study::LABEL_RUN_UID);
        wait::until("its objects to be collected", Duration::from_secs(30), || {
            let left = cluster.get(&["configmaps,secrets", "--namespace", namespace, &selector])?;
            Ok(left["items"].as_array().is_some_and(Vec::is_empty).then_some(()))
        })
        .unwrap();
    }
    cluster.abandon_namespace(namespace).unwrap();
}

#[test]
fn case_9_the_scheduler_s_own_words_are_in_the_status_at_once() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "case-9";
    cluster.new_namespace(namespace).unwrap();
    let pool = json!({
        "apiVersion": "gaugeblock.dev/v1alpha1", "kind": "BenchmarkPool", "metadata": { "name": "untolerated" },
        "spec": { "nodeSelector": { "gaugeblock.dev/pool": "bench" }, "provisioningTimeout": "5s" },
    });
    cluster.apply(&pool.to_string()).unwrap();
    study("tainted").with("/spec/pool", json!("untolerated")).apply(cluster, namespace);
    let words =
        |run: &Value, wanted: &str| run["status"]["message"].as_str().is_some_and(|message| message.contains(wanted));
    let object = ["benchmarkrun", "tainted", "--namespace", namespace];
    cluster.wait_for(&object, Duration::from_secs(10), |run| words(run, "untolerated taint")).unwrap();
    fails(cluster, namespace, "tainted", "Unschedulable");
    cluster.kubectl_text(&["delete", "benchmarkpool", "untolerated"]).unwrap();

    let full = arm("baseline", &[]);
    let mut many = full.clone();
    many["resources"]["cpu"] = json!("64");
    study("full").with("/spec/purpose", json!("Study")).with("/spec/targets", json!([many])).apply(cluster, namespace);
    let object = ["benchmarkrun", "full", "--namespace", namespace];
    cluster.wait_for(&object, Duration::from_secs(10), |run| words(run, "Insufficient cpu")).unwrap();
    cluster.kubectl_text(&["delete", "benchmarkrun", "full", "--namespace", namespace]).unwrap();
    cluster.abandon_namespace(namespace).unwrap();
}

#[test]
fn case_26_exclusive_cpus_that_cannot_be_had_are_told_before_measuring() {
    let Some(cluster) = installed() else { return };
    let _alone = cluster.bench_node_alone();
    let namespace = "case-26";
    cluster.new_namespace(namespace).unwrap();
    let mut shared = arm("candidate", &[]);
    shared["resources"]["cpu"] = json!("1500m");
    study("fraction").with("/spec/targets/1", shared).apply(cluster, namespace);
    let mut beside = arm("candidate", &[]);
    beside["podTemplate"] = json!({ "spec": { "containers": [ { "name": "side", "image": "gaugeblock.local/busybox:1", "args": ["sleep", "600"] } ] } });
    study("sidecar").with("/spec/targets/1", beside).apply(cluster, namespace);
    for (name, word) in [("fraction", "1500m"), ("sidecar", "side")] {
        let run = fails(cluster, namespace, name, "CPUsNotExclusive");
        let (status, reason, message) = condition(&run, "CPUPinned");
        assert_eq!((status.as_str(), reason.as_str()), ("False", "SharedCPUs"), "{message}");
        assert!(message.contains(word), "{message}");
        assert!(run["status"].get("started").is_none(), "nothing was started");
    }
    cluster.abandon_namespace(namespace).unwrap();
}
