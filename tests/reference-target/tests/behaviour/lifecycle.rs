//! Start, readiness and end.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::target::{PROGRAM, bare, target};

#[test]
fn it_listens_after_the_start_up_delay() {
    for delay in [0, 300] {
        let excess: Vec<_> = (0..3).map(|_| excess_of_start_up_delay(delay)).collect();
        println!("listening {excess:.3?} ms after {delay} ms had passed");
        assert!(excess.iter().all(|&excess| excess >= 0.0), "{excess:?} ms");
        // On a busy machine single starts are late, but not all.
        assert!(excess.iter().any(|&excess| excess < 3.0), "{excess:?} ms");
    }
}

/// Milliseconds from the end of the delay until listening, as the truth has it.
fn excess_of_start_up_delay(delay: u32) -> f64 {
    let target = target().flags(&["--startup-delay", &format!("{delay}ms")]).start();
    let truth = target.truth();
    let at = |name: &str, clock: &str| truth[name][clock].as_u64().unwrap() as f64 / 1e6;
    let between = |clock: &str| at("listening", clock) - at("main_entered", clock);
    let (monotonic, wall) = (between("monotonic_ns"), between("wall_ns"));
    assert!((wall - monotonic).abs() < 5.0, "{wall} ms on the wall, {monotonic} ms in truth");
    let before_main = at("main_entered", "monotonic_ns") - at("process_start", "monotonic_ns");
    assert!((0.0..500.0).contains(&before_main), "{before_main} ms from process to main");
    monotonic - f64::from(delay)
}

#[test]
fn until_it_is_ready_it_answers_503() {
    let target = target().flags(&["--ready-delay", "300ms"]).start();
    let start = Instant::now();
    let mut client = target.client();
    assert_eq!(client.get("/health").status, 503);
    assert_eq!(client.get("/plaintext").status, 503);
    while client.get("/plaintext").status != 200 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let taken = start.elapsed().as_secs_f64() * 1e3;
    assert!((250.0..1_000.0).contains(&taken), "{taken} ms");
    assert_eq!(client.get("/health").status, 200);
    let truth = target.truth();
    let at = |name: &str| truth[name]["monotonic_ns"].as_u64().unwrap();
    assert_eq!(at("ready") - at("listening"), 300_000_000);
    assert_eq!(truth["requests"]["plaintext"], 1);
    assert!(truth["not_ready"].as_u64() > Some(1));
}

#[test]
fn it_exits_with_3_after_the_nth_answer() {
    for workers in ["1", "2"] {
        let mut target = target().flags(&["--exit-after", "10", "--workers", workers]).start();
        let mut client = target.client();
        assert_eq!(client.get("/health").status, 200);
        for _ in 0..10 {
            assert_eq!(client.get("/plaintext").status, 200);
        }
        assert!(client.is_closed());
        assert_eq!(target.wait().code(), Some(3));
    }
}

#[test]
fn it_ends_at_once_on_sigterm_even_in_a_stall() {
    for (signal, flags) in
        [(Signal::TERM, &[][..]), (Signal::INT, &[]), (Signal::TERM, &["--stall", "60s", "--stall-period", "10ms"])]
    {
        let mut target = target().flags(flags).start();
        std::thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        target.signal(signal);
        assert_eq!(target.wait().code(), Some(0));
        assert!(start.elapsed() < Duration::from_millis(500), "took {:?}", start.elapsed());
    }
}

#[test]
fn it_ends_on_sigterm_as_process_1() {
    let can = std::process::Command::new("unshare").args(["--pid", "--fork", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no process namespace can be made here, so nothing runs as process 1");
        return;
    }
    let flags = ["--pid", "--fork", PROGRAM, "--listen", "127.0.0.1:0"];
    let mut unshare = bare("unshare").flags(&flags).start();
    assert_eq!(unshare.truth_of("/process_id"), 1);
    let children = format!("/proc/{0}/task/{0}/children", unshare.process_id());
    let child = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(child).unwrap(), Signal::TERM).unwrap();
    assert_eq!(unshare.wait().code(), Some(0));
}

#[test]
fn the_environments_port_counts() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let target = bare(PROGRAM).variables(&[("PORT", &free)]).start();
    assert_eq!(target.address().port().to_string(), free);
    assert_eq!(target.client().get("/plaintext").status, 200);
}

#[test]
fn a_wrong_knob_is_refused_with_its_name() {
    let output = std::process::Command::new(PROGRAM).args(["--cpu-per-request", "200"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("--cpu-per-request") && said.contains("ns, us, ms"), "{said}");
}
