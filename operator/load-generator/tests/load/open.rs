//! Open loops: the asked rate, and latencies from the intended time.

use std::{sync::Arc, time::Duration};

use gaugeblock_measurement::{
    Histogram,
    generator::{ErrorKind, ScenarioRecord},
    limit::LimitedBy,
    plan::Expect,
};

use crate::{
    planned::{MILLISECOND, Planned, SECOND, alone, only, plan},
    target::{Target, plain, serving, wall},
};

/// Repeats a measurement until the generator says that it kept its schedule, as a run would repeat
/// the trial; at most ten times.
fn valid(planned: &Planned, target: impl Fn() -> Target) -> (ScenarioRecord, Target) {
    for _ in 0..10 {
        let target = target();
        let mut planned = planned.clone();
        planned.0.target = target.address.to_string();
        let scenario = planned.measure();
        if scenario.limit.by != LimitedBy::Generator {
            return (scenario, target);
        }
        eprintln!("repeated: {:?}", scenario.limit.evidence);
    }
    panic!("this machine is too busy for a generator to keep its schedule");
}

#[test]
fn the_asked_rate_is_held() {
    let _alone = alone();
    for (rate, threads) in [(1_000, 1), (5_000, 1), (5_000, 2)] {
        let target = plain();
        let planned = plan(target.address).open(rate, 20).threads(threads).measuring(2 * SECOND);
        let scenario = planned.warming_up(200 * MILLISECOND).measure();
        let request = only(&scenario);
        // The schedule is exact; only requests at the very edges may fall to either side.
        let asked = (request.correct + request.failures()) as f64;
        let exact = 2.0 * rate as f64;
        assert!((asked - exact).abs() <= exact * 0.001, "{asked} of {exact}");
        assert_eq!(request.failures(), 0, "{:?}", request.errors);
        assert_eq!(request.response.count(), request.correct);
        assert_eq!(scenario.lateness.count(), request.sent);
        // What came inside the window: all but what a pause of the machine at its end held back.
        assert!((scenario.achieved_rate / rate as f64 - 1.0).abs() < 0.02, "{}", scenario.achieved_rate);
    }
}

/// A target that stalls for 100 ms in each second, and logs when it received and answered what.
fn stalling() -> Target {
    let began = wall();
    serving(move |peer| {
        while peer.request().is_some() {
            let received = wall();
            let into = (received - began).rem_euclid(SECOND as i64) as u64;
            let stall = 900 * MILLISECOND..SECOND;
            if stall.contains(&into) {
                peer.sleep(Duration::from_nanos(stall.end - into));
            }
            if !peer.answer(b"hello") {
                return;
            }
            peer.truth.answered.lock().unwrap().push((received, wall()));
        }
    })
}

/// Case 22. The truth is the target's own log: the k-th request was meant to be sent k gaps after
/// the load began, and was answered when the target says.
#[test]
fn a_stall_is_charged_to_every_request_that_should_have_been_sent_meanwhile() {
    let _alone = alone();
    let rate = 5_000;
    let planned = plan("127.0.0.1:1".parse().unwrap()).open(rate, 20).measuring(3 * SECOND);
    let (scenario, target) = valid(&planned, stalling);
    let request = only(&scenario);
    assert_eq!(request.failures(), 0);
    assert_eq!(request.correct, 3 * rate);

    let mut answered = target.truth.answered.lock().unwrap().clone();
    answered.sort_unstable();
    let mut truth = Histogram::new();
    for (k, (_, at)) in answered.iter().take(request.correct as usize).enumerate() {
        let intended = scenario.warm_up.start.0 + (k as u64 * SECOND / rate) as i64;
        truth.record(u64::try_from(at - intended).unwrap_or(0));
    }
    for (q, least) in [(0.99, 0.085), (0.999, 0.094)] {
        let (measured, true_value) = (request.response.quantile(q).unwrap(), truth.quantile(q).unwrap());
        assert!(true_value > least, "the target stalled for too short a time: {true_value}");
        // The answer's way back, and what threads of a busy machine wait for a CPU.
        assert!((measured - true_value).abs() < 0.006, "p{q}: {measured} s, truth {true_value} s");
    }
    // Seen from the send alone the stall hits 20 connections a second, as closed tools have it.
    assert!(request.service.quantile(0.99).unwrap() < 0.05);
}

/// The stall begins inside the window and ends long after it: nothing of it may be lost.
#[test]
fn a_stall_over_the_windows_end_is_measured_whole() {
    let _alone = alone();
    let stalled = Arc::new(std::sync::OnceLock::<i64>::new());
    let target = serving(move |peer| {
        while peer.request().is_some() {
            // From 300 ms after the first request on, for 400 ms.
            let began = *stalled.get_or_init(wall);
            let into = wall() - began;
            if (300_000_000..700_000_000).contains(&into) {
                peer.sleep(Duration::from_nanos((700_000_000 - into) as u64));
            }
            if !peer.answer(b"hello") {
                return;
            }
        }
    });
    let scenario = plan(target.address).open(1_000, 4).measuring(400 * MILLISECOND).measure();
    let request = only(&scenario);
    assert_eq!(request.correct, 400);
    let slow = |seconds: f64| {
        (0..=400)
            .rev()
            .map(|k| f64::from(k) / 400.0)
            .take_while(|q| request.response.quantile(*q).unwrap() > seconds)
            .count()
    };
    // 100 requests were meant to be sent in the stall's first 100 ms, and waited 300 to 400 ms; on a
    // busy machine the stall begins some milliseconds later.
    assert!((60..=105).contains(&slow(0.28)), "{} requests slower than 280 ms", slow(0.28));
    assert!(request.response.max().unwrap() > 0.38);
    assert!(scenario.drained.seconds() > 0.28);
    assert!((scenario.achieved_rate * 0.4 - 300.0).abs() < 40.0, "inside the window: {}", scenario.achieved_rate);
}

#[test]
fn what_is_unanswered_at_the_end_counts_at_its_age() {
    let _alone = alone();
    let target = serving(|peer| while peer.request().is_some() {});
    let planned = plan(target.address).open(100, 4).measuring(500 * MILLISECOND).draining(300 * MILLISECOND);
    let scenario = planned.measure();
    let request = only(&scenario);
    assert_eq!(request.errors.get(&ErrorKind::TimeOut), Some(&50), "{:?}", request.errors);
    assert_eq!(request.sent, 4, "all others found no connection");
    assert!(request.response.quantile(0.0).unwrap() > 0.3, "the youngest");
    assert!((request.response.max().unwrap() - 0.8).abs() < 0.02, "the oldest");
}

#[test]
fn time_outs_count_at_their_limit() {
    let _alone = alone();
    let target = serving(|peer| {
        peer.hang();
    });
    let planned = plan(target.address).open(200, 10).timing_out_after(100 * MILLISECOND);
    let scenario = planned.measure();
    let request = only(&scenario);
    assert_eq!(request.correct, 0);
    assert_eq!(request.failures(), 100);
    assert_eq!(request.errors.get(&ErrorKind::TimeOut), Some(&100), "{:?}", request.errors);
    assert_eq!(request.response.count(), 100);
    assert!((request.response.quantile(0.0).unwrap() - 0.1).abs() < 0.0002);
    assert!((request.response.max().unwrap() - 0.1).abs() < 0.0002);
}

#[test]
fn a_target_that_is_too_slow_is_told_by_what_it_can_do() {
    let _alone = alone();
    // Two connections of 10 ms each: 200/s, of the 400/s asked for.
    let target = serving(|peer| {
        while peer.request().is_some() {
            peer.sleep(Duration::from_millis(10));
            if !peer.answer(b"hello") {
                return;
            }
        }
    });
    let planned = plan(target.address).open(400, 2).measuring(SECOND).timing_out_after(250 * MILLISECOND);
    let scenario = planned.measure();
    assert_eq!(scenario.limit.by, LimitedBy::Connections, "{:?}", scenario.limit.evidence);
    assert!((150.0..202.0).contains(&scenario.achieved_rate), "{}", scenario.achieved_rate);
    assert!((scenario.mean_in_flight - 2.0).abs() < 0.1);
    let request = only(&scenario);
    assert_eq!(request.correct + request.failures(), 400);
    assert!(request.response.max().unwrap() < 0.2505, "none is charged with more than the limit");
    // Late answers were given, so the connections were never broken off.
    assert_eq!(target.accepted(), 2);
}

/// Case 21: hashing large answers takes the one thread longer than sending them takes the target.
#[test]
fn a_saturated_generator_says_so() {
    let _alone = alone();
    let body = vec![b'x'; 256 << 10];
    let target = serving(move |peer| while peer.request().is_some() && peer.answer(&body) {});
    let digest = Expect { sha256: Some("0".repeat(64)), ..Expect::default() };
    let planned = plan(target.address).open(50_000, 16).timing_out_after(200 * MILLISECOND).expecting(digest);
    let scenario = planned.measure();
    assert_eq!(scenario.limit.by, LimitedBy::Generator, "{:?}", scenario.limit.evidence);
    assert!(scenario.achieved_rate < 49_000.0);
}

#[test]
fn connections_are_used_in_turn() {
    let _alone = alone();
    let target = serving(|peer| {
        let mut count = 0;
        while peer.request().is_some() {
            count += 1;
            if !peer.answer(b"hello") {
                break;
            }
        }
        peer.truth.answered.lock().unwrap().push((count, 0));
    });
    plan(target.address).open(500, 10).measuring(SECOND).measure();
    std::thread::sleep(Duration::from_millis(150));
    let counts: Vec<i64> = target.truth.answered.lock().unwrap().iter().map(|(count, _)| *count).collect();
    assert_eq!(counts.len(), 10);
    assert!(counts.iter().all(|count| (45..=55).contains(count)), "first in, first out: {counts:?}");
}
