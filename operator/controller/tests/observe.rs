//! From caches to what the planner sees.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "fixtures are code of tests, too")]

mod support;

use gaugeblock_controller::{
    cache::Caches,
    observe::{Installation, ObserveError, observe},
};
use gaugeblock_crds::{BenchmarkRun, names};
use gaugeblock_measurement::{Outcome, UnixNanos, frame};
use gaugeblock_planner::{
    Observed, Role, Slot, TrialSummary,
    observed::{Claim, ClusterView, Place},
    pods,
};
use kube::{
    Resource,
    runtime::{
        reflector::{self, Store},
        watcher::Event,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use support::{OTHER, UID, lease, snapshot, spec};

#[test]
fn a_new_run_sees_the_cluster_and_nothing_of_its_own() {
    let seen = World::default().node("node-b").pool("default").look().unwrap();
    assert_eq!((seen.run.name.as_str(), seen.run.uid.as_str()), ("todo", UID));
    assert_eq!((seen.snapshot.as_ref(), seen.result.as_ref()), (None, None));
    assert!(seen.units.is_empty() && seen.trials.is_empty());
    let cluster = cluster(&seen);
    assert_eq!(cluster.nodes[0].name, "node-b");
    assert!(cluster.pool.is_some());
    assert_eq!(cluster.measuring_image, "gaugeblock:1");
}

#[test]
fn a_pool_of_another_name_is_not_the_pool() {
    let seen = World::default().pool("other").look().unwrap();
    assert_eq!(cluster(&seen).pool, None);
}

#[test]
fn claims_are_seen_whoever_holds_them_and_other_leases_are_not() {
    let mut election = lease("somebody", "x");
    election["metadata"]["labels"]["gaugeblock.dev/role"] = json!("leader");
    let seen = World::default().lease(lease(UID, "node-b")).lease(lease(OTHER, "node-c")).lease(election).look();
    let mut claims = cluster(&seen.unwrap()).claims.clone();
    claims.sort_by(|one, other| one.node.cmp(&other.node));
    let claim = |node: &str, holder: &str| Claim { node: node.into(), holder: holder.into() };
    assert_eq!(claims, [claim("node-b", UID), claim("node-c", OTHER)]);
}

#[test]
fn those_who_wait_for_the_same_pool_are_seen() {
    let seen = World::default()
        .run("waits", "1", json!({ "priority": 5 }), "")
        .run("elsewhere", "2", json!({ "pool": "other" }), "")
        .run("suspended", "3", json!({ "suspend": true }), "")
        .run("cancelled", "4", json!({ "cancel": true }), "")
        .run("finished", "5", json!({}), "Finished")
        .run("failed", "6", json!({}), "Failed")
        .run("holds", OTHER, json!({}), "")
        .lease(lease(OTHER, "node-b"))
        .look()
        .unwrap();
    let waiting = &cluster(&seen).waiting;
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].uid.as_str(), waiting[0].priority), ("1", 5));
}

#[test]
fn a_run_that_cannot_be_read_keeps_nobody_from_anything() {
    let mut world = World::default();
    world.runs.push(json!({ "metadata": { "name": "bad", "namespace": "team", "uid": "9" }, "spec": 1 }));
    assert!(cluster(&world.look().unwrap()).waiting.is_empty());
}

#[test]
fn the_frozen_plan_the_trials_and_the_result_are_read_back() {
    let plan = json!({ "snapshot": frame::pack(&snapshot()).unwrap() });
    let seen = World::default()
        .part(&snapshot().plan_name(), UID, names::ROLE_PLAN, plan)
        .part("second", UID, names::ROLE_TRIAL_RECORD, json!({ "summary": summary(2) }))
        .part("first", UID, names::ROLE_TRIAL_RECORD, json!({ "summary": summary(1) }))
        .part("foreign", OTHER, names::ROLE_TRIAL_RECORD, json!({ "summary": summary(3) }))
        .part(&snapshot().result_name(), UID, names::ROLE_RESULT, json!({}))
        .look()
        .unwrap();
    assert_eq!(seen.snapshot, Some(snapshot()));
    assert_eq!(seen.trials.iter().map(|trial| trial.slot.block).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(seen.result, Some(snapshot().result_name()));
}

#[test]
fn a_damaged_trial_is_an_error_and_not_a_missing_one() {
    let world = World::default().part("t", UID, names::ROLE_TRIAL_RECORD, json!({ "summary": "{" }));
    assert!(matches!(world.look(), Err(ObserveError::Summary { name, .. }) if name == "t"));
    let world = World::default().part(&snapshot().plan_name(), UID, names::ROLE_PLAN, json!({ "snapshot": "x" }));
    assert!(matches!(world.look(), Err(ObserveError::Snapshot { .. })));
}

#[test]
fn a_plan_of_another_version_is_not_followed() {
    let mut later = snapshot();
    later.version += 1;
    let plan = json!({ "snapshot": frame::pack(&later).unwrap() });
    let error = World::default().part(&later.plan_name(), UID, names::ROLE_PLAN, plan).look().unwrap_err();
    assert!(error.to_string().contains("version 2"), "{error}");
}

#[test]
fn pods_become_units_in_the_order_of_the_plan() {
    let seen =
        World::default().pod("b", UID, "target", 2).pod("a", UID, "target", 1).pod("c", OTHER, "target", 0).look();
    let units = seen.unwrap().units;
    let blocks: Vec<_> = units.iter().map(|unit| (unit.key.slot.block, unit.key.role)).collect();
    assert_eq!(blocks, [(1, Role::Target), (2, Role::Target)]);
}

// A world of caches, filled by hand.

#[derive(Default)]
struct World {
    runs: Vec<Value>,
    pods: Vec<Value>,
    config_maps: Vec<Value>,
    nodes: Vec<Value>,
    leases: Vec<Value>,
    pools: Vec<Value>,
}

impl World {
    fn node(mut self, name: &str) -> Self {
        self.nodes.push(json!({ "metadata": { "name": name } }));
        self
    }

    fn pool(mut self, name: &str) -> Self {
        self.pools.push(json!({
            "apiVersion": "gaugeblock.dev/v1alpha1", "kind": "BenchmarkPool",
            "metadata": { "name": name }, "spec": { "nodeSelector": { "a": "b" } },
        }));
        self
    }

    fn lease(mut self, lease: Value) -> Self {
        self.leases.push(lease);
        self
    }

    fn run(mut self, name: &str, uid: &str, more: Value, condition: &str) -> Self {
        let mut run = run(name, uid);
        run["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        if !condition.is_empty() {
            run["status"] = json!({ "conditions": [{
                "type": condition, "status": "True", "reason": "x", "message": "",
                "lastTransitionTime": "2026-11-01T10:00:00Z",
            }] });
        }
        self.runs.push(run);
        self
    }

    fn part(mut self, name: &str, uid: &str, role: &str, data: Value) -> Self {
        let labels = json!({ names::LABEL_RUN_UID: uid, names::LABEL_ROLE: role });
        self.config_maps.push(json!({
            "metadata": { "name": name, "namespace": "team", "labels": labels }, "data": data,
        }));
        self
    }

    fn pod(mut self, name: &str, uid: &str, role: &str, block: u32) -> Self {
        self.pods.push(json!({
            "metadata": { "name": name, "namespace": "team", "uid": name, "labels": {
                names::LABEL_RUN_UID: uid, names::LABEL_ROLE: role, names::LABEL_BLOCK: block.to_string(),
                names::LABEL_ATTEMPT: "0", names::LABEL_ARM: "0", names::LABEL_STAGE: "0",
            } },
            "spec": { "containers": [] },
        }));
        self
    }

    fn look(mut self) -> Result<Observed, ObserveError> {
        let this = run("todo", UID);
        self.runs.push(this.clone());
        let caches = Caches {
            runs: store(self.runs),
            pods: vec![store(self.pods)],
            config_maps: store(self.config_maps),
            nodes: store(self.nodes),
            claims: store(self.leases),
            pools: store(self.pools),
        };
        let installation =
            Installation { operator_namespace: "gaugeblock-system".into(), measuring_image: "gaugeblock:1".into() };
        let this: BenchmarkRun = serde_json::from_value(this).unwrap();
        observe(&caches, &installation, &this, false)
    }
}

fn store<K>(objects: Vec<Value>) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + 'static,
{
    let (reader, mut writer) = reflector::store();
    for object in objects {
        writer.apply_watcher_event(&Event::Apply(serde_json::from_value::<K>(object).unwrap()));
    }
    reader
}

fn run(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "gaugeblock.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": { "name": name, "namespace": "team", "uid": uid, "generation": 1,
                      "creationTimestamp": "2026-11-01T10:00:00Z" },
        "spec": spec(),
    })
}

fn cluster(seen: &Observed) -> &ClusterView {
    match &seen.place {
        Place::Cluster(cluster) => cluster,
        Place::Local => panic!("not on a cluster"),
    }
}

fn summary(block: u32) -> String {
    let summary = TrialSummary {
        slot: Slot { block, attempt: 0, arm: 0, stage: 0 },
        position: 0,
        outcome: Outcome::Complete,
        metrics: vec![],
        scenario_hashes: [].into(),
        exclusive: Some(true),
        cpus: "1".into(),
        limits: vec![],
        speed: vec![],
        image: None,
        started: UnixNanos(1),
        ended: UnixNanos(2),
        notes: vec![],
    };
    serde_json::to_string(&summary).unwrap()
}

/// The label that units carry is the one by which they are found.
#[test]
fn what_is_made_for_a_run_is_found_again() {
    assert_eq!(pods::labels_of_run(&snapshot())[names::LABEL_RUN_UID], UID);
}
