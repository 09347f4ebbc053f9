//! Cgroup version 2 with the systemd driver, live in all but the kernel: a folder of files shaped like
//! a node's, a process of our own in its list, and the real program.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

mod support;

use std::{fs, path::PathBuf, thread::sleep, time::Duration};

use gaugeblock_measurement::{
    plan::Watch,
    sampler::{Driver, End, Source},
};
use support::{
    child::{Task, do_task},
    sampler::{Sampler, plan, target},
};
use tempfile::TempDir;

const UID: &str = "0b6a54a1-2a55-4b5a-9a0c-0c1f2f3e4d5c";

#[test]
fn children_do_their_task() {
    do_task();
}

struct Node {
    folder: TempDir,
}

impl Node {
    fn make() -> Self {
        let node = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(node.folder.path().join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
        fs::create_dir_all(node.slice()).unwrap();
        node
    }

    fn slice(&self) -> PathBuf {
        self.folder.path().join("kubepods.slice/kubepods-burstable.slice")
    }

    fn container(&self, number: u8, process: u32) -> PathBuf {
        let uid = UID.replace('-', "_");
        let pod = self.slice().join(format!("kubepods-burstable-pod{uid}.slice"));
        fs::create_dir_all(&pod).unwrap();
        fs::write(pod.join("memory.max"), "9000\n").unwrap();
        let unfinished = self.folder.path().join("unfinished");
        fs::create_dir(&unfinished).unwrap();
        for (file, text) in [
            ("cgroup.procs", format!("{process}\n")),
            ("cgroup.threads", format!("{process}\n")),
            ("cpu.stat", "usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_throttled 0\nthrottled_usec 0\n".into()),
            ("cpu.max", "150000 100000\n".into()),
            ("cpuset.cpus", "0\n".into()),
            ("memory.current", "5000\n".into()),
            ("memory.stat", "anon 1000\nfile 3000\nshmem 500\ninactive_file 2000\n".into()),
            ("memory.swap.current", "7\n".into()),
            ("memory.max", "max\n".into()),
            ("memory.events", "oom 0\noom_kill 0\n".into()),
        ] {
            fs::write(unfinished.join(file), text).unwrap();
        }
        // The kernel shows a folder with all its files in it, or not at all.
        let scope = pod.join(format!("cri-containerd-{}.scope", format!("{number:02x}").repeat(32)));
        fs::rename(unfinished, &scope).unwrap();
        scope
    }
}

#[test]
fn a_pod_is_watched_from_its_folder_to_the_end_of_its_program() {
    let node = Node::make();
    let plan = plan(Watch::Pod { name: "target".into(), uid: UID.into() });
    let sampler = Sampler::start_with(&plan, |command| {
        command.arg("--cgroup-root").arg(node.folder.path()).args(["--node", "node-c"]);
    });
    let mut task = Task::start("hold 1");
    let scope = node.container(1, task.id());
    sleep(Duration::from_millis(700));
    fs::write(scope.join("memory.events"), "oom 1\noom_kill 3\n").unwrap();
    task.go_on();
    task.end();
    let record = sampler.record();
    assert_eq!((record.end, record.source), (End::TargetGone, Source::CgroupV2(Driver::Systemd)));
    assert_eq!((record.starts.len(), record.node.as_deref()), (1, Some("node-c")));
    let series = target(&record);
    assert!(series.at.len() >= 6, "{}", series.at.len());
    assert_eq!(series.cpu.first(), Some(&100_000));
    assert_eq!((series.anonymous[0], series.working_set[0], series.file[0]), (1_507, 3_000, 2_500));
    assert_eq!((series.oom_kills, series.memory_limit, series.peak), (3, Some(9_000), Some(5_000)));
    let proof = &record.exclusivity[0];
    assert_eq!((proof.target_cpus.as_str(), proof.quota_cpus, proof.exclusive), ("0", Some(1.5), false));
    assert!(proof.reason.as_deref().unwrap().contains("its pod is Burstable"), "{proof:?}");
}

#[test]
fn two_containers_without_names_are_both_watched_and_the_doubt_is_told() {
    let node = Node::make();
    let plan = plan(Watch::Pod { name: "target".into(), uid: UID.into() });
    let sampler = Sampler::start_with(&plan, |command| {
        command.arg("--cgroup-root").arg(node.folder.path());
    });
    let tasks = [Task::start("hold 1"), Task::start("hold 1")];
    let scopes = [node.container(1, tasks[0].id()), node.container(2, tasks[1].id())];
    sleep(Duration::from_millis(500));
    let [first, second] = tasks;
    first.kill();
    let record = sampler.record();
    second.kill();
    drop(scopes);
    assert_eq!(record.series.len(), 2);
    assert!(record.notes.iter().any(|note| note.contains("cannot be told")), "{:?}", record.notes);
}

#[test]
fn a_container_whose_program_cannot_be_started_is_told() {
    let node = Node::make();
    let mut plan = plan(Watch::Pod { name: "target".into(), uid: UID.into() });
    plan.appear_time_out = 600_000_000;
    let sampler = Sampler::start_with(&plan, |command| {
        command.arg("--cgroup-root").arg(node.folder.path());
    });
    let scope = node.container(1, i32::MAX as u32);
    sleep(Duration::from_millis(200));
    fs::remove_dir_all(scope).unwrap();
    let record = sampler.record();
    assert_eq!(record.end, End::NeverAppeared);
    assert!(record.notes.iter().any(|note| note.contains("ended before its program was seen")), "{:?}", record.notes);
}

#[test]
fn where_there_is_no_cgroup_tree_a_pod_cannot_be_watched_and_the_next_step_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(Watch::Pod { name: "target".into(), uid: UID.into() });
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gaugeblock-sampler"))
        .env(gaugeblock_measurement::plan::PLAN_VARIABLE, serde_json::to_string(&plan).unwrap())
        .arg("--cgroup-root")
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--cgroup-root"), "{error}");
    assert!(output.stdout.is_empty());
}
