//! Knobs of CPU time, stalls, errors and bytes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::target::{Target, bare, target};

/// Requests that `cpu_of_each` makes.
const REQUESTS: u64 = 2_000;

/// CPU nanoseconds of the target for each request: the least of ten rounds, as what neighbours on the machine
/// add is never negative.
fn cpu_of_each(target: &Target, path: &str) -> f64 {
    let mut client = target.client();
    let mut least = f64::INFINITY;
    for _ in 0..10 {
        let before = target.truth_of("/process_cpu_ns");
        client.get_many(path, REQUESTS as usize / 10);
        let burnt = target.truth_of("/process_cpu_ns") - before;
        least = least.min(burnt as f64 / (REQUESTS as f64 / 10.0));
    }
    least
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn cpu_per_request_is_burnt_to_three_per_cent() {
    let (plain, burning) = (target().start(), target().flags(&["--cpu-per-request", "200us"]).start());
    let burnt = cpu_of_each(&burning, "/plaintext") - cpu_of_each(&plain, "/plaintext");
    println!("{burnt:.0} ns burnt for 200000");
    assert!((burnt / 200_000.0 - 1.0).abs() < 0.03, "{burnt} ns");
    assert_eq!(burning.truth_of("/burnt_cpu_ns"), REQUESTS * 200_000);
}

#[test]
fn twice_the_cpu_on_one_endpoint_leaves_the_others_alone() {
    let flags = ["--cpu-per-request", "50us", "--cpu-per-request-endpoint", "GET /json=100us"];
    let target = target().flags(&flags).start();
    let (plain, json) = (cpu_of_each(&target, "/plaintext"), cpu_of_each(&target, "/json"));
    println!("{plain:.0} and {json:.0} ns for 50000 and 100000");
    assert!((json / plain / 2.0 - 1.0).abs() < 0.1, "{plain} and {json} ns");
    assert_eq!(target.truth_of("/burnt_cpu_ns"), REQUESTS * (50_000 + 100_000));
}

#[test]
fn probes_cost_nothing() {
    let target = target().flags(&["--cpu-per-request", "5ms", "--exit-after", "5"]).start();
    let each = cpu_of_each(&target, "/health");
    assert!(each < 500_000.0, "{each} ns");
    assert_eq!(target.truth_of("/measured_requests"), 0);
}

#[test]
fn a_request_inside_a_stall_waits_until_its_end() {
    const MILLISECOND: u64 = 1_000_000;
    let flags = ["--stall", "100ms", "--stall-period", "300ms", "--workers", "2"];
    let target = target().flags(&flags).start();
    let listening = target.truth_of("/listening/monotonic_ns");
    let mut clients = [target.client(), target.client()];
    let mut lateness = Vec::new();
    for period in 1..=8 {
        let stall = listening + period * 300 * MILLISECOND;
        let end = stall + 100 * MILLISECOND;
        let sleep = (stall + 30 * MILLISECOND).saturating_sub(monotonic());
        std::thread::sleep(Duration::from_nanos(sleep));
        let sent = monotonic();
        clients[period as usize % 2].get("/plaintext");
        // On a busy machine this thread may wake too late to ask inside the stall.
        if (stall..end - 10 * MILLISECOND).contains(&sent) {
            lateness.push((monotonic() as f64 - end as f64) / 1e6);
        }
    }
    println!("answered {lateness:.3?} ms after the end of the stall");
    assert!(lateness.len() >= 3, "the machine is too busy: {lateness:?}");
    assert!(lateness.iter().all(|&late| late >= 0.0), "{lateness:?} ms");
    assert!(lateness.iter().any(|&late| late < 5.0), "{lateness:?} ms");
}

#[test]
fn between_stalls_requests_are_served_at_once() {
    let flags = ["--stall", "5s", "--stall-period", "60s"];
    let target = target().flags(&flags).start();
    let before = monotonic();
    assert_eq!(target.client().get_many("/plaintext", 100).len(), 100);
    assert!(monotonic() - before < 2_000_000_000);
}

#[test]
fn the_error_share_is_exact() {
    let failed = |flags: &[&str]| -> Vec<usize> {
        let target = target().flags(flags).start();
        let responses = target.client().get_many("/plaintext", 2_000);
        let failed: Vec<_> = (0..2_000).filter(|&at| responses[at].status == 500).collect();
        assert!(responses.iter().all(|response| [200, 500].contains(&response.status)));
        assert_eq!(target.truth_of("/planned_errors"), failed.len() as u64);
        failed
    };
    let one_per_cent = failed(&["--error-share", "1%"]);
    assert_eq!(one_per_cent.len(), 20);
    assert_eq!(failed(&["--error-share", "1%"]), one_per_cent, "the same seed fails the same requests");
    assert_ne!(failed(&["--error-share", "1%", "--seed", "2"]), one_per_cent);
    assert_eq!(failed(&["--error-share", "12.5%"]).len(), 250);
    assert_eq!(failed(&["--error-share", "100%"]).len(), 2_000);
}

#[test]
fn one_byte_differs_where_asked() {
    let (plain, other) = (target().start(), target().flags(&["--byte-difference", "4"]).start());
    let (mut plain, mut other) = (plain.client(), other.client());
    for path in ["/plaintext", "/json"] {
        let (normal, different) = (plain.get(path), other.get(path));
        assert_eq!(normal.head, different.head);
        let differing = normal.body.iter().zip(&different.body).positions_that_differ();
        assert_eq!(differing, [4], "{path}");
    }
    assert_eq!(plain.get("/health"), other.get("/health"));
}

trait PositionsThatDiffer {
    fn positions_that_differ(self) -> Vec<usize>;
}

impl<'a, I: Iterator<Item = (&'a u8, &'a u8)>> PositionsThatDiffer for I {
    fn positions_that_differ(self) -> Vec<usize> {
        self.enumerate().filter(|(_, (one, two))| one != two).map(|(at, _)| at).collect()
    }
}

#[test]
fn every_knob_is_also_a_variable() {
    let variables = [
        ("GBREF_LISTEN", "127.0.0.1:0"),
        ("GBREF_BYTE_DIFFERENCE", "0"),
        ("GBREF_CPU_PER_REQUEST", "1us"),
        ("GBREF_CPU_PER_REQUEST_ENDPOINT", "/json=2us,POST /rows=3us"),
        ("GBREF_MEMORY", "1MiB"),
        ("GBREF_WORKERS", "2"),
    ];
    let target = bare(crate::target::PROGRAM).variables(&variables).start();
    assert_eq!(target.client().get("/plaintext").text(), "Iello, World!");
    let knobs = &target.truth()["knobs"];
    assert_eq!(knobs["cpu_per_request_ns"], 1_000);
    assert_eq!(knobs["cpu_per_request_endpoint"][1]["endpoints"][0], "row_update");
    assert_eq!(knobs["memory_bytes"], 1 << 20);
    assert_eq!(knobs["workers"], 2);
}
