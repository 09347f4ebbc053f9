//! What becomes of a trial, cause by cause: only what lies outside the target voids it.

mod world;

use gaugeblock_measurement::{
    GeneratorRecord, Outcome, ResultUnreadable, SamplerRecord, TrialRecord, UnixNanos,
    generator::GeneratorFailure,
    limit::LimitedBy,
    sampler::{CpuSeries, End},
    trial::{Placement, TargetLoss, VoidCause},
};
use gaugeblock_planner::{Role, Slot, Snapshot, UnitKey, action::Conclusion, conclude};
use world::{World, records, spec};

const SLOT: Slot = Slot { block: 1, attempt: 0, arm: 0, stage: 0 };

fn snapshot(pool: bool) -> Snapshot {
    let world = World::applied(spec());
    let cluster = world.cluster.unwrap();
    Snapshot::freeze("shop", "versus", "uid", &world.spec, cluster.pool.as_ref().filter(|_| pool), None)
}

fn conclusion() -> Conclusion {
    let unit = |role| Some((UnitKey { slot: SLOT, role }, "unit".to_owned()));
    Conclusion {
        slot: SLOT,
        position: 0,
        started: UnixNanos(0),
        outcome: Outcome::Complete,
        placement: Placement::default(),
        generator: unit(Role::Generator),
        sampler: unit(Role::Sampler),
        record_name: "record".into(),
    }
}

type Change = (fn(&mut GeneratorRecord), fn(&mut SamplerRecord));

fn after(change: Change, pool: bool) -> TrialRecord {
    let snapshot = snapshot(pool);
    let id = SLOT.trial_id(&snapshot);
    let (mut generator, mut sampler) = (records::generator(&id), records::sampler(&id, 0.000_2));
    change.0(&mut generator);
    change.1(&mut sampler);
    conclude(&snapshot, &conclusion(), Some(Ok(generator)), Some(Ok(sampler)), UnixNanos(1)).0
}

fn void(change: Change) -> VoidCause {
    match after(change, true).outcome {
        Outcome::Void(cause, _) => cause,
        other => panic!("not void: {other:?}"),
    }
}

fn same<T>(_: &mut T) {}

#[test]
fn a_quiet_trial_is_complete() {
    assert_eq!(after((same, same), true).outcome, Outcome::Complete);
}

#[test]
fn causes_outside_the_target_void_a_trial() {
    assert_eq!(void((|g| g.scenarios[0].limit.by = LimitedBy::Generator, same)), VoidCause::GeneratorSaturated);
    assert_eq!(void((|g| g.failure = Some(GeneratorFailure::Interrupted), same)), VoidCause::Disrupted);
    assert_eq!(void((same, |s| s.end = End::NeverAppeared)), VoidCause::SamplerFailed);
    assert_eq!(void((same, |s| s.series.clear())), VoidCause::SamplerFailed);
    let settle = |g: &mut GeneratorRecord| {
        g.failure = Some(GeneratorFailure::SettleFailed { dependency: "db".into(), message: "gone".into() });
    };
    assert_eq!(void((settle, same)), VoidCause::DependencyFailed);
}

#[test]
fn clocks_that_disagree_void_a_trial() {
    let ten_minutes = |s: &mut SamplerRecord| {
        s.started.0 += 600_000_000_000;
        s.ended.0 += 600_000_000_000;
    };
    assert_eq!(void((same, ten_minutes)), VoidCause::ClockSkew);
}

#[test]
fn stolen_cpu_time_voids_a_trial_and_a_little_of_it_does_not() {
    assert_eq!(void((same, |s| steal(s, 0.10))), VoidCause::Steal);
    assert_eq!(after((same, |s| steal(s, 0.01)), true).outcome, Outcome::Complete);
}

fn steal(s: &mut SamplerRecord, share: f64) {
    let at = s.series[0].at.clone();
    let steal = at.iter().map(|time| (time.since(at[0]) as f64 * share) as u64).collect();
    s.cpus = vec![CpuSeries { cpu: 1, at, steal, ..CpuSeries::default() }];
}

/// The kubelet moves neighbours off an exclusive CPU only at its next look.
#[test]
fn a_window_that_began_before_the_cpu_was_the_targets_alone_voids_a_trial_where_isolation_is_required() {
    let late = |s: &mut SamplerRecord| {
        s.exclusivity[0].exclusive = false;
        s.exclusivity[0].reason = Some("it shares CPU 1 with container x".into());
        // Alone only from two seconds into the window on.
        s.exclusivity[1].at.0 += 3_000_000_000;
    };
    assert_eq!(void((same, late)), VoidCause::Neighbours);
    assert_eq!(after((same, late), false).outcome, Outcome::Complete);
    let in_time = |s: &mut SamplerRecord| s.exclusivity[0].exclusive = false;
    assert_eq!(after((same, in_time), true).outcome, Outcome::Complete);
}

#[test]
fn what_the_target_does_is_a_finding_about_the_target() {
    let lost = |change| match after(change, true).outcome {
        Outcome::LostToTarget(loss, _) => loss,
        other => panic!("not lost to the target: {other:?}"),
    };
    assert_eq!(lost((same, |s| s.series[0].oom_kills = 1)), TargetLoss::OomKilled);
    let never = |g: &mut GeneratorRecord| g.failure = Some(GeneratorFailure::NeverReady { last: "503".into() });
    assert_eq!(lost((never, same)), TargetLoss::NeverReady);
    let gone = |g: &mut GeneratorRecord| g.failure = Some(GeneratorFailure::TargetGone { scenario: "json".into() });
    assert_eq!(lost((gone, same)), TargetLoss::Exited);
}

/// The API shows some OOM kills as `Error`, exit code 137; the kernel's count is right.
#[test]
fn an_exit_that_the_kernel_counted_as_an_oom_kill_is_one() {
    let snapshot = snapshot(true);
    let id = SLOT.trial_id(&snapshot);
    let mut sampler = records::sampler(&id, 0.000_2);
    sampler.series[0].oom_kills = 1;
    let seen = Outcome::LostToTarget(TargetLoss::Exited, "Error, exit code 137".into());
    let known = Conclusion { outcome: seen, ..conclusion() };
    let (record, _) = conclude(&snapshot, &known, None, Some(Ok(sampler)), UnixNanos(1));
    assert!(matches!(record.outcome, Outcome::LostToTarget(TargetLoss::OomKilled, _)), "{:?}", record.outcome);
}

#[test]
fn a_record_that_cannot_be_read_voids_the_trial_and_says_what_is_wrong_with_it() {
    let snapshot = snapshot(true);
    let id = SLOT.trial_id(&snapshot);
    let cut = ResultUnreadable::Cut { kind: "generator".into(), found: 2, expected: 3 };
    let (record, summary) =
        conclude(&snapshot, &conclusion(), Some(Err(cut)), Some(Ok(records::sampler(&id, 0.000_2))), UnixNanos(1));
    let Outcome::Void(VoidCause::ResultUnreadable, message) = record.outcome else { panic!("{:?}", record.outcome) };
    assert!(message.contains("2 of 3 lines"), "{message}");
    assert_eq!(summary.metrics, []);
    assert!(record.sampler.is_some(), "what could be read is kept");
}
