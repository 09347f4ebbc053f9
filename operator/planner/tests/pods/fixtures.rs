//! A run, its units and their pods.

use std::time::Duration;

use gaugeblock_crds::{BenchmarkPoolSpec, BenchmarkRunSpec, dependency::Postgres};
use gaugeblock_measurement::{
    GeneratorPlan, SamplerPlan, TrialId,
    plan::{ReadyProbe, Watch},
};
use gaugeblock_planner::{
    Role, Slot, Snapshot, UnitKey, UnitPlan, UnitSpec,
    action::{Variable, VariableValue},
    observed::ClusterView,
    pods::{self, PodError},
};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use serde_json::{Value, json};

pub const UID: &str = "6f1e7a52-0d4c-4a3b-9f57-1b8a5c1d2e3f";

pub fn target(more: Value) -> Value {
    let mut target = json!({ "name": "first", "image": "example/todo:1" });
    target.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    target
}

pub fn run_of(target: &Value) -> Snapshot {
    let spec: BenchmarkRunSpec = serde_json::from_value(json!({
        "targets": [target],
        "dependencies": [{ "name": "db", "postgres": { "image": "postgres:17" } }],
        "scenarios": [{ "name": "get", "http": {
            "requests": [{ "name": "one", "path": "/" }],
            "load": { "open": { "rate": 100 } }
        } }],
    }))
    .unwrap();
    let pool: BenchmarkPoolSpec = serde_json::from_value(json!({
        "nodeSelector": { "gaugeblock.dev/pool": "bench" },
        "tolerations": [{ "key": "gaugeblock.dev/dedicated", "value": "bench", "effect": "NoSchedule" }],
        "generator": {
            "nodeSelector": { "gaugeblock.dev/pool": "load" },
            "tolerations": [
                { "key": "gaugeblock.dev/dedicated", "value": "load" },
                { "key": "gaugeblock.dev/dedicated", "value": "bench" }
            ]
        }
    }))
    .unwrap();
    Snapshot::freeze("team", "todo", UID, &spec, Some(&pool), Some("gaugeblock:1"))
}

pub fn cluster() -> ClusterView {
    ClusterView {
        measuring_image: "gaugeblock:2".into(),
        operator_namespace: "gaugeblock-system".into(),
        ..ClusterView::default()
    }
}

pub fn unit(run: &Snapshot, plan: UnitPlan) -> UnitSpec {
    let role = match &plan {
        UnitPlan::Postgres { .. } => Role::Dependency(0),
        UnitPlan::Target { .. } => Role::Target,
        UnitPlan::Sampler(_) => Role::Sampler,
        UnitPlan::Generator { .. } => Role::Generator,
    };
    let key = UnitKey { slot: Slot { block: 2, attempt: 1, arm: 0, stage: 0 }, role };
    UnitSpec { key, name: key.name(run), plan, node: Some("bench-1".into()), deadline: Duration::from_millis(300_500) }
}

pub fn try_build(run: &Snapshot, plan: UnitPlan) -> Result<Pod, PodError> {
    pods::build(run, &unit(run, plan), &cluster())
}

pub fn build(run: &Snapshot, plan: UnitPlan) -> Pod {
    try_build(run, plan).unwrap()
}

pub fn password() -> Vec<Variable> {
    vec![Variable { name: "PGPASSWORD".into(), value: VariableValue::Password }]
}

pub fn target_plan() -> UnitPlan {
    UnitPlan::Target { arm: 0, hosts: vec![("db".into(), "198.18.2.7".into())], variables: password() }
}

pub fn target_pod(run: &Snapshot) -> Pod {
    build(run, target_plan())
}

pub fn postgres_plan(more: Value) -> UnitPlan {
    let mut postgres = json!({ "image": "postgres:17", "resources": { "cpu": "500m", "memory": "256Mi" } });
    postgres.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let postgres: Postgres = serde_json::from_value(postgres).unwrap();
    UnitPlan::Postgres { dependency: "db".into(), postgres: Box::new(postgres) }
}

pub fn trial() -> TrialId {
    TrialId { run_uid: UID.into(), block: 2, arm: "first".into(), stage: 0, attempt: 1 }
}

pub fn ready() -> ReadyProbe {
    ReadyProbe { path: "/".into(), status: 200, time_out: 1 }
}

pub fn sampler_pod(run: &Snapshot) -> Pod {
    let plan = SamplerPlan {
        version: 1,
        trial: trial(),
        target: Watch::Pod { name: "target".into(), uid: "some-uid".into() },
        others: vec![],
        container: "target".into(),
        port: 8080,
        ready: ready(),
        interval: 1,
        start_poll: 1,
        appear_time_out: 1,
        deadline: 1,
    };
    build(run, UnitPlan::Sampler(Box::new(plan)))
}

pub fn generator_plan() -> GeneratorPlan {
    GeneratorPlan {
        version: 1,
        trial: trial(),
        seed: 7,
        target: String::new(),
        host: "first".into(),
        threads: 1,
        spin: true,
        ready: ready(),
        idle_before: 1,
        scenarios: vec![],
        idle_after: 1,
        deadline: 1,
    }
}

pub fn generator_pod(run: &Snapshot) -> Pod {
    let plan = Box::new(generator_plan());
    build(run, UnitPlan::Generator { plan, variables: password() })
}

pub fn spec(pod: &Pod) -> &PodSpec {
    pod.spec.as_ref().unwrap()
}

pub fn nodes_allowed(pod: &Pod) -> Vec<String> {
    let affinity = spec(pod).affinity.clone().unwrap().node_affinity.unwrap();
    let terms = affinity.required_during_scheduling_ignored_during_execution.unwrap();
    let fields = terms.node_selector_terms.into_iter().map(|term| term.match_fields.unwrap());
    fields
        .map(|fields| {
            assert_eq!((fields[0].key.as_str(), fields[0].operator.as_str()), ("metadata.name", "In"));
            fields[0].values.clone().unwrap().remove(0)
        })
        .collect()
}

pub fn env(pod: &Pod) -> Vec<(String, String)> {
    let env = spec(pod).containers[0].env.clone().unwrap_or_default();
    env.into_iter().map(|one| (one.name, one.value.unwrap_or_else(|| "<secret>".into()))).collect()
}

/// Undoes the kubelet's escape, for a value without references to variables.
pub fn as_the_kubelet(value: &str) -> String {
    value.replace("$$", "$")
}
