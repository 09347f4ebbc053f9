//! Closed loops: every request is accounted for.

use gaugeblock_measurement::{generator::ErrorKind, plan::Expect};

use crate::{
    planned::{MILLISECOND, SECOND, alone, get, only, plan},
    target::{self, plain, serving},
};

#[test]
fn the_count_is_the_targets_own() {
    let _alone = alone();
    for threads in [1, 2] {
        let target = plain();
        // Without a drain nothing is sent after the window.
        let scenario = plan(target.address).closed(8).threads(threads).draining(0).measure();
        let request = only(&scenario);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(request.sent, target.requests());
        assert_eq!(request.sent, request.correct + request.failures());
        // Those under way at the end, at most one a connection, are unanswered.
        assert!(request.failures() <= 8, "{:?}", request.errors);
        assert!(request.correct > 100);
        assert_eq!(scenario.connections_peak, 8);
        assert_eq!(scenario.generator_cpu_seconds.len(), threads as usize);
        assert_eq!(target.accepted(), 8);
    }
}

#[test]
fn a_drained_window_has_no_unanswered_requests() {
    let _alone = alone();
    let target = plain();
    let scenario = plan(target.address).closed(8).warming_up(100 * MILLISECOND).measure();
    let request = only(&scenario);
    assert_eq!(request.failures(), 0, "{:?}", request.errors);
    assert_eq!(request.sent, request.correct);
    assert_eq!(request.bytes_received, request.correct * target::HELLO.len() as u64);
    assert_eq!(request.response, request.service, "in a closed loop the intended time is the sending");
    assert_eq!(scenario.lateness.count(), 0);
    let answers: u64 = scenario.timeline.iter().map(|row| row[1]).sum();
    assert!(answers >= request.correct - 8, "warm-up and window: {answers}, {}", request.correct);
}

#[test]
fn littles_law_holds() {
    let _alone = alone();
    let target = serving(|peer| {
        while peer.request().is_some() {
            peer.sleep(std::time::Duration::from_micros(500));
            if !peer.answer(b"hello") {
                return;
            }
        }
    });
    let scenario = plan(target.address).closed(16).measuring(2 * SECOND).measure();
    let response = only(&scenario).response.mean().unwrap();
    let product = scenario.achieved_rate * response;
    // Requests that began before the window are missing in one factor, those that end after it in
    // the other: one part in the number of requests per connection.
    assert!((16.0 - product).abs() / 16.0 < 0.01, "N = 16, X·R = {product}");
    assert!((16.0 - scenario.mean_in_flight).abs() / 16.0 < 0.01, "{}", scenario.mean_in_flight);
}

#[test]
fn a_fast_wrong_answer_is_an_error() {
    let _alone = alone();
    let target = plain();
    let right = Expect {
        statuses: vec![200],
        length: Some(5),
        sha256: Some("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".into()),
        contains: Some("ell".into()),
    };
    let scenario = plan(target.address).closed(2).expecting(right.clone()).measure();
    assert_eq!(only(&scenario).failures(), 0);
    for (wrong, kind) in [
        (Expect { statuses: vec![201], ..right.clone() }, ErrorKind::Status),
        (Expect { length: Some(6), ..right.clone() }, ErrorKind::Check),
        (Expect { contains: Some("help".into()), ..right.clone() }, ErrorKind::Check),
        (Expect { sha256: Some("0".repeat(64)), ..right.clone() }, ErrorKind::Check),
    ] {
        let scenario = plan(target.address).closed(2).expecting(wrong).measure();
        let request = only(&scenario);
        assert_eq!(request.correct, 0);
        assert_eq!(request.errors.get(&kind), Some(&request.sent), "{:?}", request.errors);
        assert_eq!(request.failed.count(), request.sent);
        assert_eq!(request.response.count(), 0);
        assert!(scenario.achieved_rate > 0.0, "wrong answers are answers");
    }
}

#[test]
fn each_named_request_has_its_own_counts() {
    let _alone = alone();
    let target = serving(|peer| {
        while let Some(line) = peer.request() {
            let answered = if line.starts_with("GET /missing") {
                peer.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            } else {
                peer.answer(b"hello")
            };
            if !answered {
                return;
            }
        }
    });
    let mut common = get("/there");
    common.weight = 3;
    let scenario = plan(target.address).closed(4).asking(vec![common, get("/missing")]).measure();
    let (there, missing) = (&scenario.requests[0], &scenario.requests[1]);
    assert_eq!((there.name.as_str(), there.failures()), ("/there", 0));
    assert_eq!(missing.statuses.get(&404), Some(&missing.sent));
    let share = there.sent as f64 / (there.sent + missing.sent) as f64;
    // Five standard deviations of a share of 3/4 of at least 500 requests.
    assert!(there.sent + missing.sent > 500 && (share - 0.75).abs() < 0.1, "{share}");
    let all = scenario.all();
    assert_eq!(all.sent, there.sent + missing.sent);
    assert_eq!(all.correct, there.correct);
}
