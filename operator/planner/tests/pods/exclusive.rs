//! Whether a target will have its CPUs for itself, foretold from its pod.

use gaugeblock_planner::pods::exclusive_cpus_of;
use serde_json::{Value, json};

use crate::fixtures::{run_of, target};

#[test]
fn whole_cpus_with_equal_limits_are_exclusive() {
    for resources in [json!({ "cpu": "1", "memory": "64Mi" }), json!({ "cpu": "2000m", "memory": "1G" })] {
        let run = run_of(&target(json!({ "resources": resources })));
        assert_eq!(exclusive_cpus_of(&run, 0), Ok(()));
    }
    let native_sidecar = json!([{ "name": "side", "restartPolicy": "Always",
        "resources": { "limits": { "cpu": "100m", "memory": "16Mi" } } }]);
    let run = run_of(&target(json!({
        "podTemplate": { "spec": { "initContainers": native_sidecar } }
    })));
    assert_eq!(exclusive_cpus_of(&run, 0), Ok(()), "a limit alone is its own request");
    let numbers = json!({ "limits": { "cpu": 1, "memory": "64Mi" } });
    let run = run_of(&target(json!({
        "podTemplate": { "spec": { "containers": [{ "name": "target", "resources": numbers }] } }
    })));
    assert_eq!(exclusive_cpus_of(&run, 0), Ok(()));
}

#[test]
fn what_costs_exclusive_cpus_is_said_in_a_sentence() {
    let template = |spec: Value| target(json!({ "podTemplate": { "spec": spec } }));
    let container =
        |resources: Value| template(json!({ "containers": [{ "name": "target", "resources": resources }] }));
    for (target, words) in [
        (target(json!({ "resources": { "cpu": "1500m", "memory": "64Mi" } })), "cpu: 1500m is no whole number"),
        (target(json!({ "resources": { "cpu": "500m", "memory": "64Mi" } })), "cpu: 500m is no whole"),
        (
            container(
                json!({ "requests": { "cpu": "1", "memory": "64Mi" }, "limits": { "cpu": "2", "memory": "64Mi" } }),
            ),
            "container target requests cpu: 1, but its limit is 2",
        ),
        (container(json!({ "requests": { "memory": "64Mi" } })), "container target has no memory limit"),
        (template(json!({ "containers": [{ "name": "side", "image": "side:1" }] })), "container side has no cpu limit"),
        (
            template(json!({ "initContainers": [{ "name": "first", "resources": { "limits": { "cpu": "1" } } }] })),
            "container first has no memory limit",
        ),
        (template(json!({ "resources": { "limits": { "cpu": "2" } } })), "the pod has resources of its own"),
    ] {
        let why = exclusive_cpus_of(&run_of(&target), 0).unwrap_err();
        assert!(why.starts_with(words), "{why}");
    }
}
