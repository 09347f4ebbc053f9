//! However a run ends, nothing of it is left.

use std::{fs, path::Path, process::Child};

use rustix::process::{Pid, Signal, kill_process};

use super::program::{Bench, eventually, processes_with, texts, that_never_answers};

/// A tree of processes: a child, a child in a session of its own, and itself.
fn tree(mark: &str) -> String {
    format!("export TREE={mark}; sleep 600 & setsid sleep 600 & echo yes > started; exec sleep 600")
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
fn nothing_is_left(mark: &str) {
    eventually(&format!("the end of all processes with {mark}"), || processes_with(mark).is_empty().then_some(()));
}

/// A mark that no other test and no other run of this test has.
fn mark(name: &str) -> String {
    format!("gaugeblock-test-{name}-{}", std::process::id())
}

#[test]
fn a_kill_that_cannot_be_caught_leaves_nothing_behind() {
    let mark = mark("kill");
    let bench = Bench::with(&that_never_answers(&tree(&mark), ""));
    let mut child = bench.start();
    bench.wait_for("started");
    assert!(processes_with(&mark).len() >= 3, "{:?}", processes_with(&mark));
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    nothing_is_left(&mark);
    nothing_is_left(&format!("GAUGEBLOCK_RUN={}", run_uid(&bench)));
    eventually("the end of the folder of process IDs", || (!bench.file("processes").exists()).then_some(()));
}

#[test]
fn an_interrupt_ends_the_run_in_order() {
    let mark = mark("interrupt");
    let bench = Bench::with(&that_never_answers(&tree(&mark), ""));
    let child = bench.start();
    bench.wait_for("started");
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert!(processes_with(&mark).is_empty(), "{:?}", processes_with(&mark));
    let status = fs::read_to_string(bench.file("status.json")).unwrap();
    assert!(status.contains("\"Cancelled\""), "{status}");
}

#[test]
fn a_killed_run_leaves_no_database_behind() {
    if gaugeblock_local::postgres::Binaries::find(None).is_err() {
        eprintln!("SKIPPED: this machine has no Postgres server; install the package postgresql");
        return;
    }
    let mark = mark("database");
    let database = "  dependencies: [{name: db, postgres: {image: postgres, storage: Memory}}]\n";
    let bench = Bench::with(&that_never_answers(&tree(&mark), database));
    let segments = || fs::read_dir("/dev/shm").unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let mut child = bench.start();
    bench.wait_for("started");
    let uid = run_uid(&bench);
    let data = format!("/dev/shm/gaugeblock-{uid}");
    assert!(Path::new(&data).exists());
    let servers = processes_on(&data);
    assert!(!servers.is_empty());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    nothing_is_left(&mark);
    eventually("the end of the servers", || processes_on(&data).is_empty().then_some(()));
    eventually("the end of the data", || (!Path::new(&data).exists()).then_some(()));
    // Shared memory of this run's servers: no segment may be newer than the run's folder.
    let began = fs::metadata(bench.file("plan.json")).unwrap().modified().unwrap();
    let left: Vec<_> = segments()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("PostgreSQL"))
        .filter(|path| fs::metadata(path).and_then(|metadata| metadata.modified()).is_ok_and(|at| at > began))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn run_uid(bench: &Bench) -> String {
    let plan = fs::read_to_string(bench.file("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    plan["uid"].as_str().unwrap().to_owned()
}

/// Processes whose command line holds this text.
fn processes_on(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    commands
        .map(|command| String::from_utf8_lossy(&command).replace('\0', " "))
        .filter(|command| command.contains(text))
        .collect()
}
