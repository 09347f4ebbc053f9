//! Local mode, live: processes of known use, watched by the real program.

mod support;

use std::{thread::sleep, time::Duration};

use gaugeblock_measurement::{
    SamplerRecord, UnixNanos,
    sampler::{End, Source},
};
use support::{
    child::{Task, do_task},
    sampler::{Sampler, Unit, at, plan, target},
};

const MEBIBYTE: i64 = 1 << 20;

#[test]
fn children_do_their_task() {
    do_task();
}

/// Watches a task until it ends by itself; answers its marks and the record.
fn watched(task: &str) -> (Vec<Vec<i64>>, SamplerRecord) {
    let unit = Unit::new();
    let sampler = Sampler::start(&plan(unit.watch()));
    let mut task = Task::start(task);
    unit.name(&task.id().to_string());
    let marks = vec![task.mark(), task.mark()];
    task.end();
    (marks, sampler.record())
}

/// CPU time between two marks: by the child itself, and by the record.
fn cpu(marks: &[Vec<i64>], record: &SamplerRecord) -> (f64, f64) {
    let series = target(record);
    let value = |mark: &[i64]| at(series, &series.cpu, UnixNanos(mark[0])) as f64;
    ((marks[1][1] - marks[0][1]) as f64, value(&marks[1]) - value(&marks[0]))
}

#[test]
fn the_cpu_time_of_a_process_is_right_to_half_a_per_cent() {
    let (marks, record) = watched("spin 3000 1");
    let (truth, measured) = cpu(&marks, &record);
    assert!(truth > 1e9, "{truth}");
    println!("CPU time: {:+.3} %", (measured / truth - 1.0) * 100.0);
    assert!((measured / truth - 1.0).abs() < 0.005, "{measured} of {truth} ns");
    assert_eq!((record.end, record.source), (End::TargetGone, Source::ProcessTree));
    assert_eq!(record.series.len(), 1);
    assert_eq!(record.starts.len(), 1);
    assert!(record.starts[0].watched);
}

#[test]
fn the_cpu_time_of_several_threads_is_right_to_half_a_per_cent() {
    let (marks, record) = watched("spin 2000 3");
    let (truth, measured) = cpu(&marks, &record);
    println!("CPU time: {:+.3} %", (measured / truth - 1.0) * 100.0);
    assert!((measured / truth - 1.0).abs() < 0.005, "{measured} of {truth} ns");
}

#[test]
fn processes_that_are_born_and_end_between_two_samples_count() {
    // Each lives about 45 ms: fewer than half of them are ever seen.
    let (marks, record) = watched("breed 40 40");
    let (truth, measured) = cpu(&marks, &record);
    // The kernel shows what a process waited for in steps of 10 ms, user and system apart.
    assert!((measured - truth).abs() < 0.005 * truth + 25e6, "{measured} of {truth} ns");
}

/// Growth of anonymous memory between a task's two marks, and the record.
fn memory(task: &str) -> (i64, SamplerRecord) {
    let unit = Unit::new();
    let sampler = Sampler::start(&plan(unit.watch()));
    let mut task = Task::start(task);
    unit.name(&task.id().to_string());
    let marks = [task.mark(), task.mark()];
    sleep(Duration::from_millis(400));
    sampler.signal("USR1");
    task.go_on();
    task.end();
    let record = sampler.record();
    let series = target(&record);
    let before = at(series, &series.anonymous, UnixNanos(marks[0][0])) as i64;
    let after = at(series, &series.anonymous, UnixNanos(marks[1][0] + 300_000_000)) as i64;
    (after - before, record)
}

#[test]
fn the_memory_of_one_process_is_right_to_a_mebibyte() {
    let (growth, record) = memory("hold 48");
    println!("48 MiB: {:+} KiB", (growth - 48 * MEBIBYTE) / 1024);
    assert!((growth - 48 * MEBIBYTE).abs() < MEBIBYTE, "{growth}");
    let series = target(&record);
    let private = series.private.unwrap() as i64;
    assert!((private - 48 * MEBIBYTE).abs() < 4 * MEBIBYTE, "{private}");
    assert!(series.peak.unwrap() as i64 > 48 * MEBIBYTE);
}

#[test]
fn the_memory_of_four_workers_is_right_to_a_mebibyte() {
    // A worker is this program started anew: what it has before it takes its share is measured, not guessed.
    let (own, _) = memory("workers 4 0");
    let (growth, record) = memory("workers 4 12");
    println!("4 × 12 MiB: {:+} KiB", (growth - own - 48 * MEBIBYTE) / 1024);
    assert!((growth - own - 48 * MEBIBYTE).abs() < MEBIBYTE, "{growth} with {own} of their own");
    assert_eq!(target(&record).processes.iter().max(), Some(&5));
}

#[test]
fn pages_that_forked_workers_share_count_once() {
    let (own, _) = memory("prefork 4 32 0");
    let (growth, record) = memory("prefork 4 32 4");
    println!("32 MiB shared and 4 × 4 MiB: {:+} KiB", (growth - 48 * MEBIBYTE) / 1024);
    assert!((growth - own - 16 * MEBIBYTE).abs() < MEBIBYTE, "{growth} with {own} of their own");
    assert!((own - 32 * MEBIBYTE).abs() < MEBIBYTE, "{own}");
    assert!(record.notes.iter().all(|note| !note.contains("smaps_rollup")), "{:?}", record.notes);
}

#[test]
fn sigterm_ends_it_with_a_record_of_what_there_is() {
    let unit = Unit::new();
    let sampler = Sampler::start(&plan(unit.watch()));
    let task = Task::start("hold 1");
    unit.name(&task.id().to_string());
    sleep(Duration::from_millis(500));
    sampler.signal("TERM");
    let record = sampler.record();
    assert_eq!(record.end, End::Interrupted);
    assert!(target(&record).at.len() >= 2);
    task.kill();
}

#[test]
fn a_target_that_never_appears_ends_it() {
    let mut plan = plan(Unit::new().watch());
    plan.appear_time_out = 300_000_000;
    let record = Sampler::start(&plan).record();
    assert_eq!(record.end, End::NeverAppeared);
    assert!(record.series.is_empty() && record.starts.is_empty());
}

#[test]
fn the_deadline_ends_it() {
    let unit = Unit::new();
    let mut plan = plan(unit.watch());
    plan.deadline = 800_000_000;
    let sampler = Sampler::start(&plan);
    let task = Task::start("hold 1");
    unit.name(&task.id().to_string());
    assert_eq!(sampler.record().end, End::DeadlineExceeded);
    task.kill();
}

#[test]
fn a_quick_restart_is_a_second_start_of_the_same_target() {
    let unit = Unit::new();
    let sampler = Sampler::start(&plan(unit.watch()));
    for _ in 0..3 {
        let task = Task::start("hold 1");
        unit.name(&task.id().to_string());
        sleep(Duration::from_millis(400));
        task.kill();
    }
    unit.remove();
    let record = sampler.record();
    assert_eq!((record.end, record.starts.len()), (End::TargetGone, 3));
    assert!(record.starts.is_sorted_by_key(|start| start.process));
    let cpu = &target(&record).cpu;
    assert!(cpu.is_sorted(), "cumulative over the restarts: {cpu:?}");
}

#[test]
fn a_unit_that_shares_the_targets_cpus_is_named() {
    let (unit, other) = (Unit::new(), Unit::new());
    let mut plan = plan(unit.watch());
    let mut neighbour = other.watch();
    if let gaugeblock_measurement::plan::Watch::ProcessFile { name, .. } = &mut neighbour {
        *name = "postgres".into();
    }
    plan.others = vec![neighbour];
    let sampler = Sampler::start(&plan);
    let (task, beside) = (Task::start("hold 1"), Task::start("hold 2"));
    other.name(&beside.id().to_string());
    unit.name(&task.id().to_string());
    sleep(Duration::from_millis(1500));
    task.kill();
    unit.remove();
    let record = sampler.record();
    beside.kill();
    let first = &record.exclusivity[0];
    assert!(!first.exclusive);
    assert!(first.reason.as_deref().unwrap().contains("with postgres"), "{first:?}");
    let names: Vec<&str> = record.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["target", "postgres"]);
}
