//! Pods, live: folders of our own in the machine's cgroup tree, shaped like a kubelet's. Needs root
//! and cgroup version 1; says so loudly where it has neither.

mod support;

use std::{
    os::unix::process::CommandExt as _,
    thread::sleep,
    time::{Duration, Instant},
};

use gaugeblock_measurement::{
    SamplerPlan, SamplerRecord, UnixNanos,
    plan::Watch,
    sampler::{Driver, End, Source},
};
use gaugeblock_sampler::{kernel_file::keyed, process_clock::cpu_time};
use support::{
    cgroup::Kubelet,
    child::{Task, do_task},
    sampler::{Sampler, at, plan, target},
};

const MEBIBYTE: i64 = 1 << 20;
#[test]
fn children_do_their_task() {
    do_task();
}

fn id(number: u8) -> String {
    format!("{number:02x}").repeat(32)
}

fn pod_plan(kubelet: &Kubelet) -> SamplerPlan {
    plan(Watch::Pod { name: "target".into(), uid: kubelet.uid.clone() })
}

/// The sampler as it runs in a pod: no root, no capability.
fn unprivileged(plan: &SamplerPlan) -> Sampler {
    Sampler::start_with(plan, |command| {
        // Groups first: giving up the user gives up the right to it.
        command.gid(65_533).uid(65_533);
    })
}

#[test]
fn a_pod_is_seen_from_its_beginning_and_its_cpu_time_is_right_to_half_a_per_cent() {
    let Some(kubelet) = Kubelet::make("cpu") else { return };
    let sampler = unprivileged(&pod_plan(&kubelet));
    let pod = format!("pod{}", kubelet.uid);
    kubelet.pod(&pod);
    let lists = kubelet.container(&pod, &id(1), "0-1", Some(256));
    let mut task = Task::start_in("spin 3000 1", lists);
    let started = support::child::now();
    let marks = [task.mark(), task.mark()];
    task.end();
    kubelet.remove(&pod, &id(1));
    let record = sampler.record();
    assert_eq!((record.end, record.source), (End::TargetGone, Source::CgroupV1(Driver::Cgroupfs)));
    let series = target(&record);
    assert_eq!((series.container_id.clone(), series.memory_limit), (id(1), Some(256 << 20)));
    let value = |mark: &[i64]| at(series, &series.cpu, UnixNanos(mark[0])) as f64;
    let (truth, measured) = ((marks[1][1] - marks[0][1]) as f64, value(&marks[1]) - value(&marks[0]));
    println!("CPU time: {:+.3} %", (measured / truth - 1.0) * 100.0);
    assert!((measured / truth - 1.0).abs() < 0.005, "{measured} of {truth} ns");
    let start = &record.starts[0];
    assert!(start.watched);
    assert!(start.process.since(started).abs() < 20_000_000, "{}", start.process.since(started));
    assert!(series.cpu_user.last() > Some(&0) && series.run_wait.len() == series.at.len());
}

/// Growth of anonymous memory between a task's two marks inside a container, and the record.
fn memory(test: &str, task: &str) -> Option<(i64, SamplerRecord)> {
    let kubelet = Kubelet::make(test)?;
    let sampler = unprivileged(&pod_plan(&kubelet));
    let pod = format!("burstable/pod{}", kubelet.uid);
    kubelet.pod(&pod);
    let mut task = Task::start_in(task, kubelet.container(&pod, &id(1), "0-1", Some(512)));
    let marks = [task.mark(), task.mark()];
    // The kernel brings memory.stat up to date every two seconds at the latest (`FLUSH_TIME`).
    sleep(Duration::from_millis(2500));
    task.go_on();
    task.end();
    kubelet.remove(&pod, &id(1));
    let record = sampler.record();
    let series = target(&record);
    let before = at(series, &series.anonymous, UnixNanos(marks[0][0])) as i64;
    let after = at(series, &series.anonymous, UnixNanos(marks[1][0] + 2_400_000_000)) as i64;
    Some((after - before, record))
}

#[test]
fn memory_is_right_to_a_mebibyte_with_one_process() {
    let Some((growth, _)) = memory("one", "hold 48") else { return };
    println!("48 MiB: {:+} KiB", (growth - 48 * MEBIBYTE) / 1024);
    assert!((growth - 48 * MEBIBYTE).abs() < MEBIBYTE, "{growth}");
}

#[test]
fn memory_is_right_to_a_mebibyte_with_four_workers() {
    let Some((own, _)) = memory("four", "workers 4 0") else { return };
    let Some((growth, _)) = memory("four", "workers 4 12") else { return };
    println!("4 × 12 MiB: {:+} KiB", (growth - own - 48 * MEBIBYTE) / 1024);
    assert!((growth - own - 48 * MEBIBYTE).abs() < MEBIBYTE, "{growth} with {own} of their own");
}

#[test]
fn memory_is_right_to_a_mebibyte_with_forked_workers() {
    let Some((growth, _)) = memory("forked", "prefork 4 32 4") else { return };
    println!("48 MiB: {:+} KiB", (growth - 48 * MEBIBYTE) / 1024);
    assert!((growth - 48 * MEBIBYTE).abs() < MEBIBYTE, "{growth}");
}

#[test]
fn page_cache_is_not_memory_of_its_own() {
    // On the disk: a file in a tmpfs would be shared memory.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cached");
    let Some((growth, record)) = memory("cache", &format!("cache 64 {}", file.display())) else { return };
    std::fs::remove_file(file).unwrap();
    // The block that the file is written from, and nothing of the file.
    assert!((growth - MEBIBYTE).abs() < MEBIBYTE, "{growth}");
    let series = target(&record);
    assert!(series.file.last().unwrap() / (1 << 20) >= 60, "{:?}", series.file.last());
}

#[test]
fn the_oom_kill_of_a_child_is_counted_and_the_container_lives_on() {
    let Some(kubelet) = Kubelet::make("child") else { return };
    let sampler = unprivileged(&pod_plan(&kubelet));
    let pod = format!("pod{}", kubelet.uid);
    kubelet.pod(&pod);
    let mut task = Task::start_in("gorge 64", kubelet.container(&pod, &id(1), "0-1", Some(32)));
    assert_eq!(task.mark()[1], 0, "the child was killed");
    sleep(Duration::from_millis(300));
    task.go_on();
    task.end();
    kubelet.remove(&pod, &id(1));
    assert_eq!(target(&sampler.record()).oom_kills, 1);
}

#[test]
fn the_oom_kill_of_the_container_is_counted_though_its_folder_vanishes_at_once() {
    for _ in 0..5 {
        let Some(kubelet) = Kubelet::make("gone") else { return };
        let sampler = unprivileged(&pod_plan(&kubelet));
        let pod = format!("pod{}", kubelet.uid);
        kubelet.pod(&pod);
        let mut task = Task::start_in("devour 64", kubelet.container(&pod, &id(1), "0-1", Some(32)));
        assert!(!task.end());
        // runc starts a program of its own to remove the folder, which takes it 10 ms at the least.
        sleep(Duration::from_millis(10));
        kubelet.remove(&pod, &id(1));
        let record = sampler.record();
        assert_eq!((record.end, target(&record).oom_kills), (End::TargetGone, 1), "{:?}", record.notes);
    }
}

#[test]
fn a_neighbour_on_the_same_cpu_is_named_until_it_moves_away() {
    let Some(kubelet) = Kubelet::make("cpus") else { return };
    let sampler = unprivileged(&pod_plan(&kubelet));
    let (pod, other) = (format!("pod{}", kubelet.uid), "besteffort/pod11111111-0000-0000-0000-000000000000");
    kubelet.pod(other);
    let lists = kubelet.container(other, &id(7), "0-1", None);
    let cpus = lists[0].with_file_name("cpuset.cpus");
    let beside = Task::start_in("hold 1", lists);
    kubelet.pod(&pod);
    let task = Task::start_in("hold 1", kubelet.container(&pod, &id(1), "1", None));
    sleep(Duration::from_millis(1200));
    // What the kubelet does at its next reconciliation.
    std::fs::write(cpus, "0").unwrap();
    sleep(Duration::from_millis(2500));
    task.kill();
    kubelet.remove(&pod, &id(1));
    let record = sampler.record();
    beside.kill();
    kubelet.remove(other, &id(7));
    let (first, last) = (&record.exclusivity[0], record.exclusivity.last().unwrap());
    assert!(!first.exclusive);
    let reason = first.reason.as_deref().unwrap();
    assert!(
        reason.starts_with("it shares CPU 1 with container 070707070707 of pod 11111111-0000-0000-0000-000000000000"),
        "{reason}"
    );
    assert!(last.exclusive && last.target_cpus == "1" && last.others[0].cpus == "0", "{last:?}");
    assert_eq!(record.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [1]);
}

#[test]
fn watching_three_containers_costs_less_than_one_per_cent_of_a_cpu_and_five_mebibytes() {
    let Some(kubelet) = Kubelet::make("cost") else { return };
    let beside = ["11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000"];
    let mut plan = pod_plan(&kubelet);
    plan.others = beside.iter().map(|uid| Watch::Pod { name: uid[..4].into(), uid: (*uid).into() }).collect();
    let sampler = unprivileged(&plan);
    let mut tasks = Vec::new();
    for (number, pod) in
        [&format!("pod{}", beside[0]), &format!("burstable/pod{}", beside[1]), &format!("pod{}", kubelet.uid)]
            .into_iter()
            .enumerate()
    {
        kubelet.pod(pod);
        // Eight threads each, as a small server has.
        let lists = kubelet.container(pod, &id(number as u8 + 1), "0-1", Some(256));
        tasks.push((pod.clone(), id(number as u8 + 1), Task::start_in("idle 8", lists)));
    }
    sleep(Duration::from_millis(1500));
    let process = sampler.id() as i32;
    let shares: Vec<f64> = (0..4)
        .map(|_| {
            let (began, cpu) = (Instant::now(), cpu_time(process).unwrap());
            sleep(Duration::from_secs(2));
            (cpu_time(process).unwrap() - cpu) as f64 / began.elapsed().as_nanos() as f64
        })
        .collect();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = keyed(&status, "VmHWM").unwrap();
    for (pod, id, task) in tasks {
        task.kill();
        kubelet.remove(&pod, &id);
    }
    let record = sampler.record();
    println!("{shares:?} of a CPU, {peak} KiB");
    assert_eq!(record.series.len(), 3);
    // The figure itself, 0.3 %, is a benchmark's to show: caches that neighbours empty cost time, too. Here
    // stands what no neighbour explains.
    let share = shares.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(share <= 0.01, "{share}");
    assert!(peak <= 5 << 10, "{peak} KiB");
}

#[test]
fn a_pod_that_was_there_before_was_not_seen_starting() {
    let Some(kubelet) = Kubelet::make("late") else { return };
    let pod = format!("pod{}", kubelet.uid);
    kubelet.pod(&pod);
    let mut task = Task::start_in("hold 1", kubelet.container(&pod, &id(1), "0-1", None));
    task.mark();
    let sampler = unprivileged(&pod_plan(&kubelet));
    sleep(Duration::from_millis(300));
    task.kill();
    kubelet.remove(&pod, &id(1));
    let record = sampler.record();
    assert_eq!(record.end, End::TargetGone);
    assert!(!record.starts[0].watched);
}

#[test]
fn a_container_that_replaces_another_is_noticed() {
    let Some(kubelet) = Kubelet::make("sidecar") else { return };
    let sampler = unprivileged(&pod_plan(&kubelet));
    let pod = format!("pod{}", kubelet.uid);
    kubelet.pod(&pod);
    let task = Task::start_in("hold 1", kubelet.container(&pod, &id(1), "0-1", None));
    sleep(Duration::from_millis(300));
    let mut beside = Task::start_in("burn 50", kubelet.container(&pod, &id(2), "0-1", None));
    beside.end();
    kubelet.remove(&pod, &id(2));
    let beside = Task::start_in("hold 1", kubelet.container(&pod, &id(3), "0-1", None));
    sleep(Duration::from_millis(1500));
    beside.kill();
    task.kill();
    kubelet.remove(&pod, &id(3));
    kubelet.remove(&pod, &id(1));
    let record = sampler.record();
    assert!(record.series.iter().any(|series| series.container_id == id(3)), "{record:?}");
    assert_eq!(target(&record).container_id, id(1));
}
