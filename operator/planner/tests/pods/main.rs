//! The pods of a run: what is in them, and what never is.

// Fixtures are code of tests, too.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, clippy::wildcard_imports)]

mod exclusive;
mod fixtures;

use fixtures::*;
use gaugeblock_crds::names;
use gaugeblock_measurement::{GeneratorPlan, plan::PLAN_VARIABLE};
use gaugeblock_planner::{
    Role, Slot, UnitKey, UnitPlan, UnitSpec,
    pods::{self, PodError},
};
use k8s_openapi::api::core::v1::Container;
use serde_json::json;

#[test]
fn all_pods_look_as_they_did() {
    let run = run_of(&target(json!({})));
    let (target, postgres, sampler, generator) =
        (target_pod(&run), build(&run, postgres_plan(json!({}))), sampler_pod(&run), generator_pod(&run));
    insta::assert_yaml_snapshot!("target", target);
    insta::assert_yaml_snapshot!("postgres", postgres);
    insta::assert_yaml_snapshot!("sampler", sampler);
    insta::assert_yaml_snapshot!("generator", generator);
}

#[test]
fn the_same_plan_gives_the_same_pod() {
    let run = run_of(&target(json!({})));
    assert_eq!(target_pod(&run), target_pod(&run));
}

#[test]
fn every_pod_keeps_the_ground_rules() {
    let run = run_of(&target(json!({})));
    for pod in [target_pod(&run), build(&run, postgres_plan(json!({}))), sampler_pod(&run), generator_pod(&run)] {
        let name = pod.metadata.name.clone().unwrap();
        assert!(name.len() <= 63, "{name}");
        let spec = spec(&pod);
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"), "{name}");
        assert_eq!(spec.enable_service_links, Some(false), "{name}");
        assert_eq!(spec.automount_service_account_token, Some(false), "{name}");
        assert_eq!(spec.active_deadline_seconds, Some(301), "{name}: rounded up");
        assert_eq!(spec.node_name, None, "{name}: placed by affinity");
        assert_eq!(spec.share_process_namespace, None, "{name}");
        assert_eq!(spec.dns_policy.as_deref(), Some("Default"), "{name}");
        assert_eq!(nodes_allowed(&pod), ["bench-1"], "{name}");
        let tolerations = spec.tolerations.clone().unwrap();
        assert!(tolerations.iter().any(|one| one.value.as_deref() == Some("bench")), "{name}");
        let labels = pod.metadata.labels.clone().unwrap();
        assert_eq!(labels[names::LABEL_RUN_UID], UID, "{name}");
        assert_eq!(labels[names::LABEL_MANAGED_BY], names::MANAGED_BY, "{name}");
        assert_eq!(labels["sidecar.istio.io/inject"], "false", "{name}");
        let annotations = pod.metadata.annotations.clone().unwrap();
        assert_eq!(annotations["linkerd.io/inject"], "disabled", "{name}");
        assert_eq!(annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"], "false");
        assert_eq!(annotations["karpenter.sh/do-not-disrupt"], "true", "{name}");
        assert_eq!(annotations[names::ANNOTATION_RUN], "team/todo", "{name}");
        for value in labels.values() {
            assert!(value.len() <= 63, "{name}: {value}");
        }
        let security = spec.security_context.clone().unwrap();
        assert_eq!(security.run_as_non_root, Some(true), "{name}");
        assert_eq!(security.seccomp_profile.unwrap().type_, "RuntimeDefault", "{name}");
        for container in &spec.containers {
            let security = container.security_context.clone().unwrap();
            assert_eq!(security.allow_privilege_escalation, Some(false), "{name}");
            assert_eq!(security.capabilities.unwrap().drop, Some(vec!["ALL".into()]), "{name}");
            assert!(container.liveness_probe.is_none(), "{name}");
            assert!(container.readiness_probe.is_none(), "{name}: a probe disturbs");
        }
    }
}

#[test]
fn all_but_the_sampler_belong_to_the_run() {
    let run = run_of(&target(json!({})));
    for pod in [target_pod(&run), build(&run, postgres_plan(json!({}))), generator_pod(&run)] {
        assert_eq!(pod.metadata.namespace.as_deref(), Some("team"));
        let owner = &pod.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((owner.uid.as_str(), owner.kind.as_str()), (UID, "BenchmarkRun"));
        assert_eq!((owner.controller, owner.block_owner_deletion), (Some(false), Some(false)));
        assert_eq!(spec(&pod).host_pid, None);
    }
    let sampler = sampler_pod(&run);
    assert_eq!(sampler.metadata.namespace.as_deref(), Some("gaugeblock-system"));
    assert_eq!(sampler.metadata.owner_references, None);
    assert_eq!(spec(&sampler).host_pid, Some(true));
}

#[test]
fn targets_and_generators_wait_behind_the_gate() {
    let run = run_of(&target(json!({})));
    for pod in [target_pod(&run), generator_pod(&run)] {
        let gates = spec(&pod).scheduling_gates.clone().unwrap();
        assert_eq!(gates[0].name, names::GATE_SAMPLER);
    }
    for pod in [build(&run, postgres_plan(json!({}))), sampler_pod(&run)] {
        assert_eq!(spec(&pod).scheduling_gates, None);
    }
}

#[test]
fn no_secret_stands_in_a_pod() {
    let run = run_of(&target(json!({})));
    for pod in [target_pod(&run), generator_pod(&run), build(&run, postgres_plan(json!({})))] {
        let container = &spec(&pod).containers[0];
        let password = container.env.iter().flatten().find(|one| one.name.ends_with("PASSWORD"));
        let source = password.unwrap().value_from.clone().unwrap().secret_key_ref.unwrap();
        assert_eq!(source.name, run.credentials_name());
    }
}

#[test]
fn the_users_own_variables_win_and_may_refer_to_ours() {
    let run = run_of(&target(json!({
        "env": [{ "name": "PGHOST", "value": "elsewhere" }, { "name": "URL", "value": "http://x:$(PORT)" }],
        "podTemplate": { "spec": { "containers": [
            { "name": "target", "env": [{ "name": "URL", "value": "old" }, { "name": "MORE", "value": "1" }] }
        ] } }
    })));
    let names: Vec<_> = env(&target_pod(&run)).into_iter().collect();
    assert_eq!(
        names,
        [
            ("PORT".into(), "8080".into()),
            ("PGPASSWORD".into(), "<secret>".into()),
            ("MORE".into(), "1".into()),
            ("PGHOST".into(), "elsewhere".into()),
            ("URL".into(), "http://x:$(PORT)".into()),
        ]
    );
}

#[test]
fn a_template_is_completed_and_not_replaced() {
    let run = run_of(&target(json!({
        "podTemplate": {
            "metadata": { "labels": { "team": "a", "gaugeblock.dev/role": "mine" },
                          "annotations": { "sidecar.istio.io/inject": "true" } },
            "spec": {
                "nodeName": "somewhere",
                "restartPolicy": "Always",
                "automountServiceAccountToken": true,
                "serviceAccountName": "reader",
                "dnsPolicy": "ClusterFirst",
                "securityContext": { "runAsNonRoot": false },
                "hostAliases": [{ "ip": "10.0.0.1", "hostnames": ["old"] }],
                "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        { "matchExpressions": [{ "key": "disk", "operator": "In", "values": ["ssd"] }] },
                        { "matchExpressions": [{ "key": "disk", "operator": "In", "values": ["nvme"] }] }
                    ] } } },
                "volumes": [{ "name": "scratch", "emptyDir": { "sizeLimit": 65_536 } }],
                "containers": [
                    { "name": "proxy", "image": "proxy:1" },
                    { "name": "target", "image": "ignored:1",
                      "livenessProbe": { "httpGet": { "path": "/", "port": 8080 } },
                      "volumeMounts": [{ "name": "scratch", "mountPath": "/tmp" }] }
                ]
            }
        }
    })));
    let pod = target_pod(&run);
    let spec = spec(&pod);
    let names: Vec<_> = spec.containers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["target", "proxy"]);
    let target = &spec.containers[0];
    assert_eq!(target.image.as_deref(), Some("example/todo:1"));
    assert_eq!(target.liveness_probe, None);
    assert_eq!(target.volume_mounts.as_ref().unwrap()[0].mount_path, "/tmp");
    assert_eq!(
        spec.containers[1],
        Container { name: "proxy".into(), image: Some("proxy:1".into()), ..Container::default() }
    );
    assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
    assert_eq!(spec.node_name, None);
    assert_eq!(spec.automount_service_account_token, Some(true), "it was asked for");
    assert_eq!(spec.dns_policy.as_deref(), Some("ClusterFirst"));
    assert_eq!(spec.security_context.as_ref().unwrap().run_as_non_root, Some(false));
    assert_eq!(spec.host_aliases.as_ref().unwrap().len(), 2);
    let labels = pod.metadata.labels.as_ref().unwrap();
    assert_eq!((labels["team"].as_str(), labels[names::LABEL_ROLE].as_str()), ("a", "target"));
    let annotations = pod.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations["sidecar.istio.io/inject"], "true", "measured with its mesh");
    assert_eq!(nodes_allowed(&pod), ["bench-1", "bench-1"], "in each alternative");
}

#[test]
fn a_privileged_target_is_left_as_it_is() {
    let run = run_of(&target(json!({ "podTemplate": { "spec": { "containers": [
        { "name": "target", "securityContext": { "privileged": true } }
    ] } } })));
    let security = spec(&target_pod(&run)).containers[0].security_context.clone().unwrap();
    assert_eq!(security.allow_privilege_escalation, None);
}

#[test]
fn a_misspelt_template_is_refused_by_name() {
    for (template, words) in [
        (json!({ "spec": { "contaners": [] } }), "spec.contaners is no field of a pod template"),
        (
            json!({ "spec": { "containers": [{ "name": "target", "imagePolicy": "x" }] } }),
            "spec.containers[0].imagePolicy is no field",
        ),
        (json!({ "spec": { "containers": "none" } }), "invalid type"),
    ] {
        let run = run_of(&target(json!({ "podTemplate": template })));
        let error = try_build(&run, target_plan()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(error.starts_with("podTemplate of target first: "), "{error}");
    }
}

#[test]
fn a_plan_arrives_as_it_is() {
    let run = run_of(&target(json!({})));
    let mut plan = generator_plan();
    plan.host = "costs $5, $(PORT), $$".into();
    let pod = build(&run, UnitPlan::Generator { plan: Box::new(plan.clone()), variables: vec![] });
    let value = env(&pod).into_iter().find(|(name, _)| name == PLAN_VARIABLE).unwrap().1;
    assert_eq!(serde_json::from_str::<GeneratorPlan>(&as_the_kubelet(&value)).unwrap(), plan);
}

#[test]
fn a_plan_that_no_process_can_be_started_with_is_refused() {
    let run = run_of(&target(json!({})));
    let mut plan = generator_plan();
    plan.host = "x".repeat(140_000);
    let plan = UnitPlan::Generator { plan: Box::new(plan), variables: vec![] };
    let error = try_build(&run, plan).unwrap_err();
    assert!(matches!(error, PodError::PlanTooLarge { .. }), "{error}");
}

#[test]
fn a_generator_learns_its_target_when_it_is_let_go() {
    let run = run_of(&target(json!({})));
    let pod = generator_pod(&run);
    let variable = spec(&pod).containers[0].env.iter().flatten();
    let variable = variable.clone().find(|one| one.name == "GAUGEBLOCK_TARGET").unwrap();
    let field = variable.value_from.as_ref().unwrap().field_ref.as_ref().unwrap();
    assert_eq!(field.field_path, "metadata.annotations['gaugeblock.dev/target']");
}

#[test]
fn a_generator_without_a_node_goes_where_the_pool_says() {
    let run = run_of(&target(json!({})));
    let plan = UnitPlan::Generator { plan: Box::new(generator_plan()), variables: vec![] };
    let mut unit = unit(&run, plan);
    unit.node = None;
    let pod = pods::build(&run, &unit, &cluster()).unwrap();
    let affinity = spec(&pod).affinity.clone().unwrap().node_affinity.unwrap();
    let terms = affinity.required_during_scheduling_ignored_during_execution.unwrap();
    let expression = &terms.node_selector_terms[0].match_expressions.as_ref().unwrap()[0];
    assert_eq!(expression.key, "gaugeblock.dev/pool");
    assert_eq!(expression.values.as_ref().unwrap(), &["load"]);
    assert_eq!(terms.node_selector_terms[0].match_fields, None);
    assert_eq!(spec(&pod).tolerations.clone().unwrap()[0].value.as_deref(), Some("load"));
}

#[test]
fn postgres_gets_its_settings_its_scripts_in_order_and_its_storage() {
    let run = run_of(&target(json!({})));
    let pod = build(
        &run,
        postgres_plan(json!({
            "storage": "Memory",
            "settings": { "shared_buffers": "64MB", "log_line_prefix": "$(x) " },
            "initSql": [
                { "name": "schema", "key": "tables.sql" },
                { "name": "rows", "key": "rows" },
                { "name": "rows", "key": "more.sql.gz" }
            ],
        })),
    );
    let spec = spec(&pod);
    let container = &spec.containers[0];
    assert_eq!(
        container.args.as_ref().unwrap(),
        &["postgres", "-c", "log_line_prefix=$$(x) ", "-c", "shared_buffers=64MB"]
    );
    let volumes = spec.volumes.as_ref().unwrap();
    assert_eq!(volumes[0].empty_dir.as_ref().unwrap().medium.as_deref(), Some("Memory"));
    let sources = volumes[2].projected.as_ref().unwrap().sources.as_ref().unwrap();
    let paths: Vec<_> =
        sources.iter().map(|one| one.config_map.as_ref().unwrap().items.as_ref().unwrap()[0].path.as_str()).collect();
    assert_eq!(paths, ["00-tables.sql", "01-rows.sql", "02-more.sql.gz"]);
    assert_eq!(spec.hostname.as_deref(), Some("db"));
    let resources = container.resources.as_ref().unwrap();
    assert_eq!(resources.requests, resources.limits);
}

#[test]
fn the_longest_names_still_fit() {
    let mut run = run_of(&target(json!({})));
    run.name = format!("{}.{}", "n".repeat(60), "m".repeat(60));
    let slot = Slot { block: 100, attempt: 100, arm: 15, stage: 31 };
    let unit = UnitSpec {
        key: UnitKey { slot, role: Role::Target },
        name: UnitKey { slot, role: Role::Target }.name(&run),
        ..unit(&run, target_plan())
    };
    let pod = pods::build(&run, &unit, &cluster()).unwrap();
    assert!(pod.metadata.name.unwrap().len() <= 63);
    assert!(pod.metadata.labels.unwrap().values().all(|value| value.len() <= 63));
}
