//! Every action against an API server that says what a test wants: each write may be repeated, and
//! nothing is touched that is not the run's.

#![allow(clippy::unwrap_used, reason = "fixtures are code of tests, too")]

mod support;

use gaugeblock_controller::execute::{Done, ExecuteError, Executor, Flow, Subject, Written};
use gaugeblock_measurement::{
    Outcome, UnixNanos,
    trial::{Placement, VoidCause},
};
use gaugeblock_planner::{Action, Observed, Role, TrialSummary, UnitPlan, UnitSpec, action::Conclusion};
use http::Method;
use serde_json::{Value, json};
use support::{
    Answer, Asked, OTHER, UID, conflict, created, exists, key, lease, log, no, not_found, observed, of, ok, run,
    server, snapshot, spec, target,
};

/// Executes actions against a server that gives these answers.
async fn execute(actions: &[Action], answers: Vec<Answer>) -> (Result<Done, ExecuteError>, Vec<Asked>) {
    execute_on(&observed(), actions, answers).await
}

async fn execute_on(
    observed: &Observed,
    actions: &[Action],
    answers: Vec<Answer>,
) -> (Result<Done, ExecuteError>, Vec<Asked>) {
    let (client, seen) = server(answers);
    let executor = Executor::new(client, "gaugeblock-system");
    let run = run();
    let subject = Subject { run: &run, observed: Some(observed), status: None };
    let done = executor.execute(subject, actions).await;
    drop(executor);
    (done, seen.await.unwrap())
}

fn create() -> Vec<Action> {
    vec![Action::Create(Box::new(target()))]
}

#[tokio::test]
async fn a_pod_is_created_under_its_name() {
    let (done, seen) = execute(&create(), vec![created()]).await;
    let written = Written::Pod { namespace: "team".into(), name: target().name };
    assert_eq!(done.unwrap().written, [written]);
    assert_eq!(seen[0].method, Method::POST);
    assert!(seen[0].path.starts_with("/api/v1/namespaces/team/pods?"), "{}", seen[0].path);
    assert_eq!(seen[0].body["metadata"]["name"], target().name);
}

#[tokio::test]
async fn a_pod_that_exists_for_this_run_is_the_one() {
    let pod = json!({ "metadata": of(UID, &target().name) });
    let (done, seen) = execute(&create(), vec![exists(), ok(pod)]).await;
    assert_eq!(done.unwrap().flow, Flow::Continue);
    assert_eq!(seen[1].method, Method::GET);
}

#[tokio::test]
async fn a_pod_of_another_run_is_named_and_left_alone() {
    let pod = json!({ "metadata": of(OTHER, &target().name) });
    let (done, seen) = execute(&create(), vec![exists(), ok(pod)]).await;
    let (object, words) = done.unwrap_err().final_words().unwrap();
    assert_eq!(object, format!("Pod team/{}", target().name));
    assert!(words.contains(OTHER), "{words}");
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn a_refusal_carries_the_servers_words() {
    for (code, reason, message) in [
        (403, "Forbidden", "exceeded quota: small, requested: cpu=1, used: cpu=4, limited: cpu=4"),
        (403, "Forbidden", "violates PodSecurity \"restricted:latest\": hostPath volumes"),
        (422, "Invalid", "spec.containers[0].image: Required value"),
        (400, "BadRequest", "admission webhook \"policy\" denied the request: no"),
    ] {
        let (done, _) = execute(&create(), vec![no(code, reason, message)]).await;
        let error = done.unwrap_err();
        assert!(matches!(error, ExecuteError::Refused { .. }), "{error}");
        assert_eq!(error.final_words().unwrap().1, message);
    }
}

#[tokio::test]
async fn a_trouble_of_the_servers_is_no_refusal() {
    for (code, reason) in [(500, "InternalError"), (503, "ServiceUnavailable"), (429, "TooManyRequests")] {
        let (done, seen) = execute(&create(), vec![no(code, reason, "later")]).await;
        assert_eq!(done.unwrap_err().final_words(), None, "{code}");
        assert_eq!(seen.len(), 1, "{code}: the next look is the retry");
    }
}

#[tokio::test]
async fn what_follows_a_failed_action_is_not_executed() {
    let twice = [create(), create()].concat();
    let (done, seen) = execute(&twice, vec![no(500, "InternalError", "later"), created()]).await;
    assert!(done.is_err());
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn a_database_without_its_script_is_not_created() {
    let mut spec = spec();
    let postgres = spec.dependencies[0].postgres.as_mut().unwrap();
    postgres.init_sql = serde_json::from_value(json!([{ "name": "schema", "key": "tables.sql" }])).unwrap();
    let unit = UnitSpec {
        key: key(Role::Dependency(0)),
        plan: UnitPlan::Postgres { dependency: "db".into(), postgres: Box::new(postgres.clone()) },
        ..target()
    };
    let create = [Action::Create(Box::new(unit))];
    let without_key = json!({ "metadata": { "name": "schema" }, "data": { "other.sql": "" } });
    for (answer, words) in [
        (not_found(), "ConfigMap team/schema does not exist"),
        (ok(without_key), "ConfigMap team/schema has no key tables.sql"),
    ] {
        let (done, seen) = execute(&create, vec![answer]).await;
        let (object, message) = done.unwrap_err().final_words().unwrap();
        assert_eq!(object, "the pod of dependency db");
        assert!(message.starts_with(words), "{message}");
        assert_eq!(seen.len(), 1);
    }
    let with_key = json!({ "metadata": { "name": "schema" }, "data": { "tables.sql": "" } });
    let (done, seen) = execute(&create, vec![ok(with_key), created()]).await;
    assert!(done.is_ok());
    assert_eq!(seen[1].method, Method::POST);
}

fn claims(nodes: &[&str]) -> Vec<Action> {
    nodes.iter().map(|node| Action::Claim { node: (*node).into() }).collect()
}

#[tokio::test]
async fn a_node_is_claimed_by_a_lease_that_says_who_and_what() {
    let (done, seen) = execute(&claims(&["node-b"]), vec![created()]).await;
    let name = gaugeblock_crds::names::node_claim("node-b");
    assert_eq!(done.unwrap().written, [Written::Claimed { name: name.clone() }]);
    let lease = &seen[0].body;
    assert!(seen[0].path.contains("/namespaces/gaugeblock-system/leases"));
    assert_eq!(lease["metadata"]["name"], name);
    assert_eq!(lease["spec"]["holderIdentity"], UID);
    assert_eq!(lease["metadata"]["annotations"]["gaugeblock.dev/node"], "node-b");
    assert_eq!(lease["metadata"]["annotations"]["gaugeblock.dev/run"], "team/todo");
    assert_eq!(lease["spec"].get("leaseDurationSeconds"), None, "a claim does not end by time");
}

#[tokio::test]
async fn a_claim_that_the_run_holds_is_no_conflict() {
    let (done, _) = execute(&claims(&["node-b"]), vec![exists(), ok(lease(UID, "node-b"))]).await;
    assert_eq!(done.unwrap().flow, Flow::Continue);
}

#[tokio::test]
async fn losing_a_race_for_a_node_is_no_error_but_ends_the_plan() {
    let plan = [claims(&["node-b"]), vec![Action::Freeze(Box::new(snapshot()))]].concat();
    let (done, seen) = execute(&plan, vec![exists(), ok(lease(OTHER, "node-b"))]).await;
    let done = done.unwrap();
    assert_eq!((done.flow, done.written), (Flow::Replan, vec![]));
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn losing_the_second_node_gives_the_first_one_back() {
    let answers = vec![
        created(),
        exists(),
        ok(lease(OTHER, "node-c")),
        ok(lease(UID, "node-b")),
        ok(json!({ "kind": "Status", "status": "Success" })),
    ];
    let (done, seen) = execute(&claims(&["node-b", "node-c"]), answers).await;
    assert_eq!(done.unwrap().flow, Flow::Replan);
    assert_eq!(seen[4].method, Method::DELETE);
    assert!(seen[4].path.contains("node-b"));
    assert_eq!(seen[4].body["preconditions"], json!({ "uid": "lease-uid", "resourceVersion": "7" }));
}

fn list(items: &[Value]) -> Answer {
    ok(json!({ "kind": "List", "apiVersion": "v1", "metadata": {}, "items": items }))
}

fn gone() -> Answer {
    ok(json!({ "kind": "Status", "status": "Success" }))
}

#[tokio::test]
async fn a_claim_is_kept_while_a_pod_of_the_run_is_left() {
    let pod = json!({ "metadata": of(UID, "left") });
    for answers in [vec![list(std::slice::from_ref(&pod))], vec![list(&[]), list(&[pod])]] {
        let asked = answers.len();
        let (done, seen) = execute(&[Action::Unclaim], answers).await;
        assert_eq!(done.unwrap().flow, Flow::Replan);
        assert_eq!(seen.len(), asked, "nothing was deleted");
        assert!(seen[0].path.contains(&format!("gaugeblock.dev%2Frun-uid%3D{UID}")), "{}", seen[0].path);
    }
}

#[tokio::test]
async fn only_claims_that_the_run_holds_are_given_back() {
    let mut relabelled = lease(OTHER, "node-c");
    relabelled["metadata"]["labels"]["gaugeblock.dev/run-uid"] = json!(UID);
    let leases = list(&[lease(UID, "node-b"), relabelled]);
    let (done, seen) = execute(&[Action::Unclaim], vec![list(&[]), list(&[]), leases, gone()]).await;
    let name = gaugeblock_crds::names::node_claim("node-b");
    assert_eq!(done.unwrap().written, [Written::Unclaimed { name }]);
    assert_eq!(seen.len(), 4);
}

#[tokio::test]
async fn a_claim_that_changed_hands_meanwhile_is_left_alone() {
    let leases = list(&[lease(UID, "node-b")]);
    let (done, _) = execute(&[Action::Unclaim], vec![list(&[]), list(&[]), leases, conflict()]).await;
    assert_eq!(done.unwrap().written, []);
}

fn delete(role: Role) -> Vec<Action> {
    vec![Action::Delete { unit: key(role), name: "pod".into(), uid: "object-uid".into() }]
}

#[tokio::test]
async fn a_pod_is_deleted_by_its_uid() {
    let (done, seen) = execute(&delete(Role::Target), vec![gone()]).await;
    assert!(done.is_ok());
    assert_eq!(seen[0].body["preconditions"], json!({ "uid": "object-uid" }));
    assert_eq!(seen[0].body.get("gracePeriodSeconds"), None, "a container outlives a forced deletion");
}

#[tokio::test]
async fn samplers_are_deleted_where_they_live() {
    let (_, seen) = execute(&delete(Role::Sampler), vec![gone()]).await;
    assert!(seen[0].path.starts_with("/api/v1/namespaces/gaugeblock-system/pods/pod"));
}

#[tokio::test]
async fn a_pod_that_is_gone_or_another_one_counts_as_deleted() {
    for answer in [not_found(), conflict()] {
        let (done, _) = execute(&delete(Role::Target), vec![answer]).await;
        assert_eq!(done.unwrap().flow, Flow::Continue);
    }
}

#[tokio::test]
async fn a_generator_is_told_its_target_and_let_go_in_one_patch() {
    let release = |role, target: Option<&str>| {
        vec![Action::Release { unit: key(role), name: "pod".into(), target: target.map(str::to_owned) }]
    };
    let pod = || ok(json!({ "metadata": of(UID, "pod") }));
    let (done, seen) = execute(&release(Role::Generator, Some("198.18.2.7:8080")), vec![pod()]).await;
    assert!(done.is_ok());
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].method, Method::PATCH);
    assert_eq!(seen[0].content_type, "application/strategic-merge-patch+json");
    let gate = json!({ "schedulingGates": [{ "$patch": "delete", "name": "gaugeblock.dev/sampler" }] });
    let annotations = json!({ "annotations": { "gaugeblock.dev/target": "198.18.2.7:8080" } });
    assert_eq!(seen[0].body, json!({ "spec": gate, "metadata": annotations }));

    let (_, seen) = execute(&release(Role::Target, None), vec![pod()]).await;
    assert_eq!(seen[0].body, json!({ "spec": gate }));

    let (done, _) = execute(&release(Role::Target, None), vec![not_found()]).await;
    assert_eq!(done.unwrap().flow, Flow::Replan, "the next look knows what its absence means");
}

#[tokio::test]
async fn the_plan_is_frozen_once() {
    let freeze = [Action::Freeze(Box::new(snapshot()))];
    let (done, seen) = execute(&freeze, vec![created()]).await;
    assert_eq!(done.unwrap().flow, Flow::Continue);
    assert_eq!(seen[0].body["immutable"], true);
    assert_eq!(seen[0].body["metadata"]["ownerReferences"][0]["uid"], UID);
    let found = json!({ "metadata": of(UID, &snapshot().plan_name()) });
    let (done, _) = execute(&freeze, vec![exists(), ok(found)]).await;
    assert_eq!(done.unwrap().flow, Flow::Replan, "what follows has to follow from the first");
}

#[tokio::test]
async fn credentials_are_made_and_never_read() {
    for answer in [created(), exists()] {
        let (client, seen) = server(vec![answer]);
        let executor = Executor::new(client, "gaugeblock-system");
        let (run, observed) = (run(), observed());
        let subject = Subject { run: &run, observed: Some(&observed), status: None };
        assert!(!executor.has_credentials(UID));
        executor.execute(subject, &[Action::MakeCredentials]).await.unwrap();
        assert!(executor.has_credentials(UID));
        executor.forget(UID);
        assert!(!executor.has_credentials(UID));
        drop(executor);
        let seen = seen.await.unwrap();
        assert_eq!(seen.len(), 1);
        assert!(seen[0].path.contains("/namespaces/team/secrets"));
        // 16 bytes in hexadecimal, then in base64.
        assert_eq!(seen[0].body["data"]["password"].as_str().unwrap().len(), 44);
    }
}

fn store() -> Vec<Action> {
    let slot = key(Role::Target).slot;
    vec![Action::Store(Box::new(Conclusion {
        slot,
        position: 0,
        started: UnixNanos(1),
        outcome: Outcome::Complete,
        placement: Placement::default(),
        generator: Some((key(Role::Generator), "load".into())),
        sampler: Some((key(Role::Sampler), "sampler".into())),
        record_name: "todo-record".into(),
    }))]
}

fn stored(seen: &[Asked]) -> (&Asked, TrialSummary) {
    let map = seen.iter().find(|one| one.method == Method::POST).unwrap();
    (map, serde_json::from_str(map.body["data"]["summary"].as_str().unwrap()).unwrap())
}

#[tokio::test]
async fn a_trial_without_records_is_stored_as_void() {
    let (done, seen) = execute(&store(), vec![log("hello\n"), log(""), created()]).await;
    assert!(done.is_ok());
    let (map, summary) = stored(&seen);
    assert_eq!(map.body["metadata"]["name"], "todo-record");
    assert_eq!(map.body["metadata"]["labels"]["gaugeblock.dev/role"], "trial-record");
    assert_eq!(map.body["immutable"], true);
    assert!(matches!(summary.outcome, Outcome::Void(VoidCause::ResultUnreadable, _)), "{summary:?}");
    let logs: Vec<_> = seen.iter().filter(|one| one.method == Method::GET).collect();
    assert_eq!(logs.len(), 2);
    assert!(logs.iter().any(|one| one.path.starts_with("/api/v1/namespaces/team/pods/load/log")));
    assert!(logs.iter().any(|one| one.path.starts_with("/api/v1/namespaces/gaugeblock-system/pods/sampler/log")));
}

#[tokio::test]
async fn a_log_that_never_was_is_no_reason_to_wait() {
    let never = no(400, "BadRequest", "container \"load-generator\" is waiting to start");
    let (done, seen) = execute(&store(), vec![never, not_found(), created()]).await;
    assert!(done.is_ok());
    assert!(matches!(stored(&seen).1.outcome, Outcome::Void(..)));
}

#[tokio::test]
async fn a_log_that_cannot_be_had_now_is_asked_for_later() {
    let kubelet = || no(500, "InternalError", "dial tcp: connection refused");
    let (done, seen) = execute(&store(), vec![kubelet(), kubelet()]).await;
    assert!(done.unwrap_err().final_words().is_none());
    assert!(seen.iter().all(|one| one.method == Method::GET));
}

#[tokio::test]
async fn a_trial_that_is_stored_already_is_stored() {
    let found = json!({ "metadata": of(UID, "todo-record") });
    let (done, _) = execute(&store(), vec![log(""), log(""), exists(), ok(found)]).await;
    assert_eq!(done.unwrap().flow, Flow::Continue);
}

#[tokio::test]
async fn ends_of_logs_go_into_one_secret() {
    let keep = |role, name: &str| Action::KeepLog { unit: key(role), name: name.into() };
    let plan = [keep(Role::Target, "target"), keep(Role::Sampler, "sampler")];
    let unread = no(500, "InternalError", "connection refused");
    let (done, seen) = execute(&plan, vec![log("boom\n"), unread, created()]).await;
    assert!(done.is_ok());
    assert_eq!(seen.len(), 3, "once for both");
    let secret = &seen[2];
    assert!(secret.path.contains("/secrets"));
    assert_eq!(secret.body["metadata"]["name"], gaugeblock_crds::names::log_secret(&snapshot().stem()));
    assert_eq!(secret.body["data"].as_object().unwrap().len(), 2);
    let (done, _) = execute(&plan, vec![log("a"), log("b"), exists()]).await;
    assert!(done.is_ok(), "the first failure is the one that is kept");
}

#[tokio::test]
async fn a_run_is_deleted_by_its_uid_with_all_it_owns() {
    let (done, seen) = execute(&[Action::DeleteRun], vec![gone()]).await;
    assert!(done.is_ok());
    assert!(seen[0].path.contains("/apis/gaugeblock.dev/v1alpha1/namespaces/team/benchmarkruns/todo"));
    assert_eq!(seen[0].body["preconditions"]["uid"], UID);
    assert_eq!(seen[0].body["propagationPolicy"], "Background");
}
