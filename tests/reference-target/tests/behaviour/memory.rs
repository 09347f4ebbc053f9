//! Knobs of memory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::target::{PROGRAM, Target, bare, target};

const MIB: f64 = 1_048_576.0;

fn resident(target: &Target) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", target.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: f64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    let told = target.truth_of("/resident_anonymous_bytes") as f64;
    assert!((told - kib * 1024.0).abs() < 0.25 * MIB, "told {told}, is {kib} KiB");
    kib * 1024.0
}

#[test]
fn memory_is_resident_to_a_mebibyte() {
    let plain = resident(&target().start());
    assert!(plain < 2.0 * MIB, "{plain} bytes without any knob");
    for mebibytes in [1, 8, 64] {
        let target = target().flags(&["--memory", &format!("{mebibytes}MiB")]).start();
        let more = resident(&target) - plain;
        println!("{mebibytes} MiB asked, {:.3} MiB more", more / MIB);
        assert!((more - f64::from(mebibytes) * MIB).abs() < 0.25 * MIB, "{more} for {mebibytes} MiB");
    }
}

#[test]
fn each_request_leaks_what_was_asked() {
    let target = target().flags(&["--leak-per-request", "1KiB"]).start();
    let mut client = target.client();
    client.get_many("/plaintext", 100);
    let before = resident(&target);
    client.get_many("/plaintext", 20_000);
    let more = resident(&target) - before;
    println!("{more} bytes more for {}", 20_000 * 1024);
    assert!((more / (20_000.0 * 1024.0) - 1.0).abs() < 0.01, "{more} bytes");
    assert_eq!(target.truth_of("/leaked_bytes"), 20_100 * 1024);
}

#[test]
fn a_leak_by_time_follows_the_clock() {
    let plain = resident(&target().start());
    let target = target().flags(&["--leak-rate", "10MiB/s"]).start();
    std::thread::sleep(Duration::from_secs(1));
    let truth = target.truth();
    let number = |pointer| truth.pointer(pointer).and_then(Value::as_u64).unwrap() as f64;
    let elapsed = (number("/now/monotonic_ns") - number("/listening/monotonic_ns")) / 1e9;
    let (leaked, due) = (number("/leaked_bytes"), elapsed * 10.0 * MIB);
    // It leaks in steps of 20 ms; a busy machine delays a step, and the next one makes up for it.
    assert!(leaked > due - 2.0 * MIB && leaked <= due, "{leaked} bytes leaked, {due} due");
    let more = number("/resident_anonymous_bytes") - plain;
    assert!((more - leaked).abs() < MIB, "{more} bytes resident, {leaked} leaked");
}

/// A cgroup of 64 MiB, removed when dropped; `None`, loudly, where none can be made.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(name: &str) -> Option<Self> {
        let name = format!("gaugeblock-reference-target-{name}-{}", std::process::id());
        let v1 = PathBuf::from("/sys/fs/cgroup/memory").join(&name);
        let v2 = PathBuf::from("/sys/fs/cgroup").join(&name);
        for (path, limit) in [(v1, "memory.limit_in_bytes"), (v2, "memory.max")] {
            if std::fs::create_dir(&path).is_ok() {
                let cgroup = Self(path);
                if std::fs::write(cgroup.0.join(limit), "67108864").is_ok() {
                    return Some(cgroup);
                }
            }
        }
        eprintln!("SKIPPED: no memory cgroup can be made here, so nothing is killed for want of memory");
        None
    }

    /// A target born inside.
    fn start(&self, flags: &[&str]) -> Target {
        let script = format!("echo $$ > {}/cgroup.procs; exec {PROGRAM} \"$@\"", self.0.display());
        bare("/bin/sh").flags(&["-c", &script, "sh", "--listen", "127.0.0.1:0"]).flags(flags).start()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn it_is_killed_for_want_of_memory_at_the_nth_request() {
    use std::os::unix::process::ExitStatusExt;
    let Some(cgroup) = Cgroup::new("self") else {
        return;
    };
    let mut target = cgroup.start(&["--oom-after", "3"]);
    let mut client = target.client();
    client.get_many("/plaintext", 2);
    client.send("GET /plaintext HTTP/1.1\r\n\r\n");
    assert!(client.is_closed(), "the third request was answered");
    assert_eq!(target.wait().signal(), Some(9));
}

#[test]
fn its_child_is_killed_for_want_of_memory_and_it_serves_on() {
    let Some(cgroup) = Cgroup::new("child") else {
        return;
    };
    let target = cgroup.start(&["--oom-child-after", "3"]);
    let mut client = target.client();
    assert!(client.get_many("/plaintext", 10).iter().all(|response| response.status == 200));
    let deadline = Instant::now() + Duration::from_secs(20);
    while target.truth_of("/children_killed") == 0 {
        assert!(Instant::now() < deadline, "no child was killed in 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(client.get("/plaintext").status, 200);
}
