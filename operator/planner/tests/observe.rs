//! Every row of the table of failures: what the API shows, and what the planner is told.

// Fixtures are code of tests, too.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use gaugeblock_crds::names;
use gaugeblock_measurement::plan::Watch;
use gaugeblock_planner::{Role, Slot, Unit, UnitKey, UnitState, Waiting, observe, observed::FailureKind};
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

#[test]
fn what_the_api_shows_becomes_what_the_planner_sees() {
    for (case, status, expected) in [
        ("nothing yet", json!({ "phase": "Pending" }), starting()),
        ("making the container", waiting("ContainerCreating", ""), starting()),
        ("behind our gate", condition("PodScheduled", "False", "SchedulingGated", ""), starting()),
        (
            "no node",
            condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available: 1 Insufficient cpu."),
            pending(Waiting::Node("0/2 nodes are available: 1 Insufficient cpu.".into())),
        ),
        (
            "pull policy Never",
            waiting("ErrImageNeverPull", "image \"x\" is not present"),
            pending(Waiting::Image("ErrImageNeverPull: image \"x\" is not present".into())),
        ),
        ("first failure of a pull", waiting("ErrImagePull", "no such host"), starting()),
        (
            "pull failed again",
            waiting("ImagePullBackOff", "Back-off pulling image \"x\""),
            pending(Waiting::Image("ImagePullBackOff: Back-off pulling image \"x\"".into())),
        ),
        (
            "bad name of an image",
            waiting("InvalidImageName", "couldn't parse"),
            pending(Waiting::Image("InvalidImageName: couldn't parse".into())),
        ),
        (
            "missing Secret",
            waiting("CreateContainerConfigError", "secret \"s\" not found"),
            pending(Waiting::Config("CreateContainerConfigError: secret \"s\" not found".into())),
        ),
        (
            "command not found, tried again",
            waiting("RunContainerError", "no such file"),
            pending(Waiting::Start("RunContainerError: no such file".into())),
        ),
        ("crashing", waiting("CrashLoopBackOff", ""), pending(Waiting::Start("CrashLoopBackOff".into()))),
        (
            "command not found",
            terminated(128, "StartError", "exec: \"nope\": not found"),
            failed(
                FailureKind::StartError,
                Some(128),
                "container target could not be started: exec: \"nope\": not found",
            ),
        ),
        (
            "killed for memory",
            terminated(137, "OOMKilled", ""),
            failed(FailureKind::OomKilled, Some(137), "container target was killed for memory (exit code 137)"),
        ),
        (
            "killed for memory, and the API does not say so",
            terminated(137, "Error", ""),
            failed(FailureKind::Exited, Some(137), "container target ended with exit code 137"),
        ),
        ("ended well", terminated(0, "Completed", ""), UnitState::Succeeded),
        (
            "ended badly",
            terminated(3, "Error", "boom\n"),
            failed(FailureKind::Exited, Some(3), "container target ended with exit code 3: boom"),
        ),
        (
            "exclusive CPUs gone",
            json!({ "phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed" }),
            failed(FailureKind::AdmissionRefused, None, "UnexpectedAdmissionError: Allocate failed"),
        ),
        (
            "no room on the node",
            json!({ "phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough" }),
            failed(FailureKind::AdmissionRefused, None, "OutOfcpu: Node didn't have enough"),
        ),
        (
            "deadline of the pod",
            with(
                terminated(137, "Error", ""),
                &json!({ "phase": "Failed", "reason": "DeadlineExceeded", "message": "too long" }),
            ),
            failed(FailureKind::DeadlineExceeded, None, "DeadlineExceeded: too long"),
        ),
        (
            "evicted, with misleading container states",
            with(
                terminated(0, "Completed", ""),
                &json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }),
            ),
            failed(FailureKind::Lost, None, "Evicted: low on memory"),
        ),
        (
            "the node shuts down",
            json!({ "phase": "Failed", "reason": "Terminated", "message": "node shutdown" }),
            failed(FailureKind::Lost, None, "Terminated: node shutdown"),
        ),
        (
            "the runtime lost it",
            terminated(137, "ContainerStatusUnknown", "could not be located"),
            failed(FailureKind::Lost, Some(137), "the end of container target was not seen: could not be located"),
        ),
        (
            "killed for memory before, running again",
            with_container(&json!({ "state": { "running": {} }, "ready": true, "restartCount": 1,
                "lastState": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } })),
            failed(FailureKind::OomKilled, Some(137), "container target was killed for memory (exit code 137)"),
        ),
        (
            "running before its phase says so",
            with(running(false), &json!({ "phase": "Pending" })),
            UnitState::Running { ready: true },
        ),
    ] {
        assert_eq!(seen(&pod("target", status)).state, expected, "{case}");
    }
}

#[test]
fn a_dependency_is_ready_when_its_probe_says_so() {
    for ready in [false, true] {
        let mut status = running(ready);
        status["containerStatuses"][0]["name"] = json!("dependency");
        let unit = seen(&pod("dependency", status));
        assert_eq!(unit.state, UnitState::Running { ready });
        assert_eq!(unit.key.role, Role::Dependency(1));
    }
}

#[test]
fn our_container_is_the_one_that_counts() {
    let status = json!({ "containerStatuses": [
        { "name": "sidecar", "image": "", "imageID": "", "ready": true, "restartCount": 0,
          "state": { "terminated": { "exitCode": 1 } } },
        { "name": "target", "image": "", "imageID": "docker-pullable://x@sha256:1", "ready": true,
          "restartCount": 2, "state": { "running": {} } },
    ] });
    let unit = seen(&pod("target", status));
    assert_eq!(unit.state, UnitState::Running { ready: true });
    assert_eq!((unit.restarts, unit.image.as_deref()), (2, Some("x@sha256:1")));
}

#[test]
fn a_sidecar_without_its_image_holds_the_pod_up() {
    let status = json!({ "containerStatuses": [
        { "name": "target", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": {} } },
        { "name": "sidecar", "image": "", "imageID": "", "ready": false, "restartCount": 0,
          "state": { "waiting": { "reason": "ImagePullBackOff" } } },
    ] });
    let state = seen(&pod("target", status)).state;
    assert_eq!(state, pending(Waiting::Image("ImagePullBackOff".into())));
}

#[test]
fn a_container_before_ours_that_fails_is_the_failure() {
    let status = json!({
        "phase": "Failed",
        "initContainerStatuses": [{ "name": "migrate", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "terminated": { "exitCode": 2, "reason": "Error" } } }],
        "containerStatuses": [{ "name": "target", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "waiting": { "reason": "PodInitializing" } } }],
    });
    let expected = failed(FailureKind::Exited, Some(2), "container migrate ended with exit code 2");
    assert_eq!(seen(&pod("target", status)).state, expected);
}

#[test]
fn a_disruption_is_told_with_its_reason() {
    let status = condition("DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting");
    let unit = seen(&pod("target", with(running(true), &status)));
    assert_eq!(unit.disrupted.as_deref(), Some("EvictionByEvictionAPI: Eviction API: evicting"));
    let status = condition("DisruptionTarget", "False", "", "");
    assert_eq!(seen(&pod("target", with(running(true), &status))).disrupted, None);
}

#[test]
fn a_pod_says_who_and_where_it_is() {
    let mut pod = pod("load-generator", with(running(true), &json!({ "podIP": "198.18.2.9" })));
    let spec = pod.spec.as_mut().unwrap();
    spec.node_name = Some("node-b".into());
    spec.scheduling_gates = serde_json::from_value(json!([{ "name": names::GATE_SAMPLER }])).unwrap();
    let unit = seen(&pod);
    let slot = Slot { block: 3, attempt: 1, arm: 2, stage: 0 };
    assert_eq!(unit.key, UnitKey { slot, role: Role::Generator });
    assert_eq!((unit.name.as_str(), unit.uid.as_str()), ("some-pod", "some-uid"));
    assert!(unit.gated);
    assert!(!unit.deleting);
    assert_eq!(unit.address.as_deref(), Some("198.18.2.9"));
    assert_eq!(unit.node.as_deref(), Some("node-b"));
    assert_eq!(unit.created.to_string(), "2026-11-01T10:00:00Z");
    assert_eq!(unit.watch, Watch::Pod { name: "load-generator".into(), uid: "some-uid".into() });
    assert_eq!(observe::run_uid(&pod), Some("run-uid"));
}

#[test]
fn a_dependency_is_watched_under_its_name() {
    let mut pod = pod("dependency", running(true));
    pod.spec.as_mut().unwrap().hostname = Some("db".into());
    let unit = seen(&pod);
    assert_eq!(unit.watch, Watch::Pod { name: "db".into(), uid: "some-uid".into() });
}

#[test]
fn a_pod_with_foreign_labels_is_no_unit() {
    let mut pod = pod("target", running(true));
    pod.metadata.labels.as_mut().unwrap().insert(names::LABEL_BLOCK.into(), "x".into());
    assert_eq!(observe::unit(&pod), None);
    assert_eq!(observe::unit(&Pod::default()), None);
}

#[test]
fn a_deleted_pod_is_being_deleted() {
    let mut pod = pod("target", running(true));
    pod.metadata.deletion_timestamp = pod.metadata.creation_timestamp.clone();
    assert!(seen(&pod).deleting);
}

#[test]
fn a_node_is_usable_when_it_is_ready_and_not_cordoned() {
    let view = observe::node(&node(
        "True",
        json!({
            "taints": [{ "key": "dedicated", "value": "bench", "effect": "NoSchedule" }]
        }),
    ));
    assert_eq!(view.name, "node-b");
    assert!(view.usable);
    assert_eq!(view.taints, [("dedicated".into(), "bench".into(), "NoSchedule".into())]);
    assert!(!observe::node(&node("True", json!({ "unschedulable": true }))).usable);
    assert!(!observe::node(&node("False", json!({}))).usable);
    assert!(!observe::node(&node("Unknown", json!({}))).usable);
}

#[test]
fn what_ran_on_a_lost_node_is_disrupted() {
    let mut pod = pod("target", running(true));
    pod.spec.as_mut().unwrap().node_name = Some("node-b".into());
    let after = |nodes: &[Node]| {
        let mut units = [seen(&pod)];
        observe::mark_lost(&mut units, &nodes.iter().collect::<Vec<_>>());
        units[0].disrupted.clone()
    };
    assert_eq!(after(&[node("True", json!({}))]), None);
    assert_eq!(after(&[node("True", json!({ "unschedulable": true }))]), None, "cordoned, not lost");
    assert_eq!(after(&[node("False", json!({}))]), None, "its kubelet still speaks");
    assert!(after(&[node("Unknown", json!({}))]).unwrap().contains("node-b"));
    assert_eq!(after(&[]).as_deref(), Some("node node-b is gone"));
}

#[test]
fn a_pod_on_a_node_that_is_new_is_not_lost() {
    let mut pod = pod("target", json!({ "phase": "Pending" }));
    pod.spec.as_mut().unwrap().node_name = Some("new".into());
    let mut units = [seen(&pod)];
    observe::mark_lost(&mut units, &[]);
    assert_eq!(units[0].disrupted, None);
}

// Fixtures.

fn pod(role: &str, status: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {
            "name": "some-pod",
            "uid": "some-uid",
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "labels": {
                names::LABEL_RUN_UID: "run-uid",
                names::LABEL_ROLE: role,
                names::LABEL_BLOCK: "3",
                names::LABEL_ATTEMPT: "1",
                names::LABEL_ARM: "2",
                names::LABEL_STAGE: "0",
                names::LABEL_DEPENDENCY: "1",
            },
        },
        "spec": { "containers": [] },
        "status": status,
    }))
    .unwrap()
}

fn seen(pod: &Pod) -> Unit {
    observe::unit(pod).unwrap()
}

fn with_container(more: &Value) -> Value {
    let container = json!({ "name": "target", "image": "", "imageID": "", "ready": false, "restartCount": 0 });
    json!({ "containerStatuses": [with(container, more)] })
}

fn waiting(reason: &str, message: &str) -> Value {
    with_container(&json!({ "state": { "waiting": { "reason": reason, "message": message } } }))
}

fn terminated(code: i32, reason: &str, message: &str) -> Value {
    with_container(&json!({
        "state": { "terminated": { "exitCode": code, "reason": reason, "message": message } }
    }))
}

fn running(ready: bool) -> Value {
    with_container(&json!({ "state": { "running": {} }, "ready": ready }))
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "conditions": [{ "type": type_, "status": status, "reason": reason, "message": message }] })
}

fn with(mut value: Value, more: &Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn starting() -> UnitState {
    pending(Waiting::Starting)
}

fn pending(waiting: Waiting) -> UnitState {
    UnitState::Pending(waiting)
}

fn failed(kind: FailureKind, exit_code: Option<i32>, message: &str) -> UnitState {
    UnitState::Failed { kind, exit_code, message: message.into() }
}

fn node(ready: &str, spec: Value) -> Node {
    serde_json::from_value(json!({
        "metadata": { "name": "node-b", "labels": { "gaugeblock.dev/pool": "bench" } },
        "spec": spec,
        "status": { "conditions": [{ "type": "Ready", "status": ready }] },
    }))
    .unwrap()
}
