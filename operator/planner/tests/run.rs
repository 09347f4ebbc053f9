//! Whole runs, planned and executed in memory.

mod world;

use std::collections::BTreeSet;

use gaugeblock_crds::{
    condition::{ConditionType, Reason},
    status::{Phase, RunVerdict},
};
use gaugeblock_measurement::{Outcome, trial::VoidCause};
use gaugeblock_planner::{Role, Slot, UnitState, Waiting, observed::FailureKind, order, status::is};
use serde_json::json;
use world::{World, failed, spec, waiter};

fn condition<'a>(world: &'a World, kind: ConditionType) -> Option<(&'a str, &'a str, &'a str)> {
    world
        .status
        .conditions
        .iter()
        .find(|condition| condition.type_ == kind.name())
        .map(|condition| (condition.status.as_str(), condition.reason.as_str(), condition.message.as_str()))
}

#[test]
fn the_same_image_twice_ends_without_a_regression_and_leaves_nothing() {
    let mut world = World::applied(spec());
    world.to_the_end();
    assert_eq!(world.status.verdict, Some(RunVerdict::NoChange), "{:#?}", world.status);
    assert_eq!(world.status.phase, Phase::Finished);
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().0, "True");
    assert_eq!(condition(&world, ConditionType::CpuPinned).unwrap().0, "True");
    assert!(world.result);
    assert_eq!(world.cluster.as_ref().unwrap().claims, []);
    assert_eq!(world.status.progress.as_deref(), Some("4/4"));
}

#[test]
fn a_fifth_more_cpu_per_request_is_a_regression_of_that_metric_alone() {
    let mut world = World::applied(spec());
    world.cost = Box::new(|slot| if slot.arm == 1 { 0.000_24 } else { 0.000_2 });
    world.to_the_end();
    assert_eq!(world.status.verdict, Some(RunVerdict::Regressed), "{:#?}", world.status);
    let regressed: Vec<_> =
        world.status.results.iter().filter(|row| row.gate && row.verdict == Some(RunVerdict::Regressed)).collect();
    assert_eq!(regressed.len(), 1, "{regressed:#?}");
    assert_eq!(regressed[0].metric, "cpu_per_request");
    assert!(regressed[0].effect.as_deref().unwrap().starts_with("+20"), "{:?}", regressed[0]);
    assert!(is(&world.status, ConditionType::Complete), "a run that finds a regression completed");
    assert!(!is(&world.status, ConditionType::Failed));
}

#[test]
fn every_block_holds_one_trial_of_each_arm_and_the_first_block_does_not_count() {
    let mut world = World::applied(spec());
    world.to_the_end();
    let expected: BTreeSet<Slot> =
        (0..=4).flat_map(|block| (0..2).map(move |arm| Slot { block, attempt: 0, arm, stage: 0 })).collect();
    assert_eq!(world.complete_trials().into_iter().collect::<BTreeSet<_>>(), expected);
    assert!(world.status.results.iter().all(|row| row.pairs == 4), "{:#?}", world.status.results);
}

#[test]
fn the_order_inside_blocks_is_random_and_the_same_after_every_crash() {
    let orders: Vec<_> = (0..200).map(|block| order::arms(7, block, 2)).collect();
    let first = orders.iter().filter(|order| order[0] == 0).count();
    assert!((70..130).contains(&first), "{first} of 200 blocks begin with the first arm");
    let mut calm = World::applied(spec());
    calm.to_the_end();
    let mut shaken = World::applied(spec());
    shaken.until_finished(|look| look % 3);
    let order = |world: &World| world.trials.iter().map(|trial| trial.slot).collect::<Vec<_>>();
    assert_eq!(order(&calm), order(&shaken));
    assert_eq!(calm.status.verdict, shaken.status.verdict);
    assert_eq!(calm.status.results, shaken.status.results);
}

#[test]
fn an_operator_that_dies_after_any_number_of_writes_comes_to_the_same_end() {
    for seed in 0..60_u64 {
        let mut world = World::applied(spec());
        let mut dice = seed;
        world.until_finished(|_| {
            dice = order::mix(dice);
            (dice % 4) as usize
        });
        assert_eq!(world.status.verdict, Some(RunVerdict::NoChange));
        assert_eq!(world.complete_trials().len(), 10, "seed {seed}");
        assert_eq!(world.trials.len(), 10, "seed {seed}: a trial was void without a cause");
        assert!(world.units.is_empty());
    }
}

#[test]
fn local_mode_follows_the_same_plan() {
    let mut on_a_cluster = World::applied(spec());
    on_a_cluster.to_the_end();
    let mut here = World::local(spec());
    here.to_the_end();
    assert_eq!(here.complete_trials(), on_a_cluster.complete_trials());
    assert_eq!(here.status.verdict, on_a_cluster.status.verdict);
}

#[test]
fn the_target_is_let_go_only_when_its_sampler_runs() {
    let mut world = World::applied(spec());
    world.until(|world| world.unit(Role::Target).is_some());
    assert!(world.unit(Role::Sampler).is_none());
    let uid = world.unit(Role::Target).unwrap().uid.clone();
    world.until(|world| world.unit(Role::Target).is_some_and(|target| !target.gated));
    assert!(matches!(world.unit(Role::Sampler).unwrap().state, UnitState::Running { ready: true }));
    assert!(world.unit(Role::Generator).unwrap().gated, "the generator waits for the target's address");
    assert_eq!(world.unit(Role::Target).unwrap().uid, uid);
}

#[test]
fn a_scenario_after_a_writing_one_gets_a_fresh_target_and_fresh_dependencies() {
    let mut spec = spec();
    let mut writing = spec.scenarios[0].clone();
    writing.name = "write".into();
    writing.writes = true;
    spec.scenarios.insert(0, writing);
    let mut world = World::applied(spec);
    world.until(|world| !world.trials.is_empty());
    assert_eq!(world.snapshot.as_ref().unwrap().stages, [[0], [1]]);
    let stage_of = |stage| world.created.iter().filter(|key| key.slot.stage == stage).count();
    assert_eq!(stage_of(0), 4);
    world.until(|world| world.trials.len() == 2);
    assert_eq!(world.created.iter().filter(|key| key.slot.stage == 1).count(), 4);
}

#[test]
fn case_1_an_image_that_cannot_be_pulled_fails_the_run_and_no_generator_is_created() {
    let mut world = World::applied(spec());
    world.fate = Box::new(|unit| match unit.key.role {
        Role::Dependency(_) => Some(UnitState::Pending(Waiting::Image("ImagePullBackOff: not found".into()))),
        _ => None,
    });
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Failed).unwrap().1, "ImagePullError");
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "ImagePullError");
    assert!(world.status.message.as_deref().unwrap().contains("not found"));
    assert!(world.created.iter().all(|key| key.role != Role::Generator));
    let told =
        world.events.iter().filter(|event| event.reason == Reason::ImagePullError && event.note.contains("not found"));
    assert_eq!(told.count(), 1, "one event: {:#?}", world.events);
}

#[test]
fn case_2_a_target_killed_for_memory_is_a_finding_about_the_target() {
    let mut world = World::applied(spec());
    world.fate = Box::new(|unit| {
        let hit =
            unit.key.role == Role::Target && unit.key.slot.arm == 1 && unit.state == UnitState::Running { ready: true };
        hit.then(|| failed(FailureKind::OomKilled, 137, "OOMKilled"))
    });
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "TargetOOMKilled");
    assert!(world.status.message.as_deref().unwrap().contains("arm candidate"), "{:?}", world.status.message);
    let lost = world.trials.iter().find(|trial| matches!(trial.outcome, Outcome::LostToTarget(..))).unwrap();
    assert_eq!(lost.slot.arm, 1);
    assert!(world.status.results.is_empty(), "nothing of that trial is compared");
    assert_eq!(world.status.verdict, None);
}

#[test]
fn case_3_a_generator_that_exits_99_is_made_once_and_its_code_is_told() {
    let mut world = World::applied(spec());
    world.fate = Box::new(|unit| {
        (unit.key.role == Role::Generator && !unit.gated).then(|| failed(FailureKind::Exited, 99, "Error"))
    });
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "GeneratorFailed");
    assert!(world.status.message.as_deref().unwrap().contains("exit code 99"));
    assert_eq!(world.created.iter().filter(|key| key.role == Role::Generator).count(), 1);
    assert!(world.logs_kept.iter().any(|name| name.ends_with("load")));
}

#[test]
fn case_4_a_pod_deleted_while_measuring_voids_its_block_which_is_measured_anew() {
    for role in [Role::Target, Role::Generator, Role::Sampler, Role::Dependency(0)] {
        let mut world = World::applied(spec());
        world.until(|world| {
            world.trials.len() == 4
                && world.unit(Role::Generator).is_some_and(|unit| unit.state == UnitState::Running { ready: true })
        });
        world.somebody_deletes(role);
        world.to_the_end();
        let void: Vec<_> = world
            .trials
            .iter()
            .filter(|trial| matches!(trial.outcome, Outcome::Void(VoidCause::Disrupted, _)))
            .collect();
        assert_eq!(void.len(), 1, "{role:?}: {:#?}", world.trials.iter().map(|t| &t.outcome).collect::<Vec<_>>());
        let block = void[0].slot.block;
        let again: Vec<_> =
            world.complete_trials().into_iter().filter(|slot| slot.block == block && slot.attempt == 1).collect();
        assert_eq!(again.len(), 2, "{role:?}: the whole block is repeated");
        assert!(world.status.results.iter().all(|row| row.pairs == 4));
        assert_eq!(world.status.arms.iter().map(|arm| arm.void_trials).sum::<i32>(), 1);
    }
}

#[test]
fn case_9_the_scheduler_s_own_words_are_in_the_status_at_once() {
    let words = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint";
    let mut world = World::applied(spec());
    world.fate =
        Box::new(move |unit| (unit.key.role == Role::Target).then(|| UnitState::Pending(Waiting::Node(words.into()))));
    world.until(|world| world.status.message.as_deref().is_some_and(|message| message.contains(words)));
    assert_eq!(world.status.phase, Phase::Measuring);
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "Unschedulable");
    assert!(condition(&world, ConditionType::Finished).unwrap().2.contains(words));
}

#[test]
fn case_10_a_deadline_keeps_what_was_measured() {
    let mut spec = spec();
    spec.deadline = "1m".into();
    let mut world = World::applied(spec);
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "DeadlineExceeded");
    assert!(!world.status.results.is_empty());
    assert!(world.result);
}

#[test]
fn case_26_a_target_that_cannot_have_exclusive_cpus_fails_before_anything_is_measured() {
    let mut wrong = spec();
    wrong.targets[1].resources.cpu = "1500m".into();
    let mut world = World::applied(wrong.clone());
    world.to_the_end();
    let (status, reason, message) = condition(&world, ConditionType::CpuPinned).unwrap();
    assert_eq!((status, reason), ("False", "SharedCPUs"));
    assert!(message.contains("1500m"), "{message}");
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "CPUsNotExclusive");
    assert_eq!(world.created, []);
    wrong.isolation = serde_json::from_value(json!("Preferred")).unwrap();
    let mut world = World::applied(wrong);
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::CpuPinned).unwrap().0, "False");
    assert!(world.status.verdict.is_some());
}

#[test]
fn a_cancelled_run_keeps_its_results() {
    let mut world = World::applied(spec());
    world.until(|world| world.trials.len() == 6);
    world.spec.cancel = true;
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "Cancelled");
    assert!(!world.status.results.is_empty());
}

#[test]
fn a_suspended_run_ends_its_trial_and_starts_no_other() {
    let mut world = World::applied(spec());
    world.until(|world| world.trials.len() == 1);
    world.spec.suspend = true;
    world.until(|world| world.units.is_empty());
    let trials = world.trials.len();
    for _ in 0..20 {
        world.reconcile(usize::MAX);
        world.time_passes();
    }
    assert_eq!(world.trials.len(), trials);
    assert_eq!(world.status.reason, Some(Reason::Suspended));
    world.spec.suspend = false;
    world.to_the_end();
    assert_eq!(world.status.verdict, Some(RunVerdict::NoChange));
}

#[test]
fn runs_wait_by_priority_then_age_and_are_told_their_place() {
    let mut world = World::applied(spec());
    world.cluster.as_mut().unwrap().waiting = vec![
        waiter("older", 0, "2026-11-01T07:00:00Z"),
        waiter("important", 5, "2026-11-01T09:00:00Z"),
        waiter("younger", 0, "2026-11-01T09:00:00Z"),
    ];
    world.reconcile(usize::MAX);
    assert_eq!(world.status.queue_position, Some(3));
    assert_eq!(world.status.phase, Phase::Queued);
    world.cluster.as_mut().unwrap().waiting.truncate(0);
    world.to_the_end();
    assert_eq!(world.status.queue_position, None);
}

#[test]
fn a_missing_pool_is_told_with_the_next_step() {
    let mut world = World::applied(spec());
    world.cluster.as_mut().unwrap().pool = None;
    world.to_the_end();
    assert_eq!(condition(&world, ConditionType::Finished).unwrap().1, "PoolNotFound");
    assert!(world.status.message.as_deref().unwrap().contains("create it"));
}

#[test]
fn a_finished_run_is_deleted_after_its_time() {
    let mut spec = spec();
    spec.ttl_seconds_after_finished = Some(60);
    let mut world = World::applied(spec);
    world.to_the_end();
    world.reconcile(usize::MAX);
    assert!(!world.deleted);
    for _ in 0..61 {
        world.time_passes();
    }
    world.reconcile(usize::MAX);
    assert!(world.deleted);
}
