//! How it begins and ends: ready, gone, stopped, out of time.

use std::{
    net::TcpListener,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::{Duration, Instant},
};

use gaugeblock_load_generator::Phase;
use gaugeblock_measurement::generator::{ErrorKind, GeneratorFailure};

use crate::{
    planned::{MILLISECOND, SECOND, alone, only, plan},
    target::{HELLO, listening, plain, serving, wall},
};

#[test]
fn the_first_right_answer_is_timed() {
    let _alone = alone();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let starting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let target =
            listening(TcpListener::bind(address).unwrap(), |peer| while peer.request().is_some() && peer.say(HELLO) {});
        (target, wall())
    });
    let record = plan(address).run();
    let (_target, listened) = starting.join().unwrap();
    let ready = record.ready.unwrap();
    assert_eq!(record.failure, None);
    assert!(ready.attempts > 20, "refused attempts are repeated each 5 ms: {}", ready.attempts);
    let late = ready.at.0 - listened;
    assert!((-1_000_000..50_000_000).contains(&late), "{late} ns after listening");
}

#[test]
fn a_target_that_is_never_ready_is_told_with_the_last_thing_that_was_wrong() {
    let _alone = alone();
    let answers = AtomicU64::new(0);
    let target = serving(move |peer| {
        while peer.request().is_some() {
            answers.fetch_add(1, SeqCst);
            peer.say(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let mut planned = plan(target.address);
    planned.0.ready.path = "/health".into();
    planned.0.ready.time_out = 300 * MILLISECOND;
    let record = planned.run();
    let Some(GeneratorFailure::NeverReady { last }) = record.failure else {
        panic!("{:?}", record.failure);
    };
    assert_eq!(last, "status 503 instead of 200");
    assert!(record.scenarios.is_empty());

    drop(target);
    let record = planned.run();
    let Some(GeneratorFailure::NeverReady { last }) = record.failure else {
        panic!("{:?}", record.failure);
    };
    assert!(last.contains("refused"), "{last}");
}

#[test]
fn a_target_that_is_gone_ends_the_load_after_two_seconds() {
    let _alone = alone();
    for open in [false, true] {
        let target = plain();
        let address = target.address;
        let planned = plan(address).measuring(20 * SECOND);
        let planned = if open { planned.open(100, 4) } else { planned.closed(4) };
        let leaving = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            drop(target);
        });
        let began = Instant::now();
        let record = planned.run();
        leaving.join().unwrap();
        assert_eq!(record.failure, Some(GeneratorFailure::TargetGone { scenario: "scenario".into() }));
        let took = began.elapsed().as_secs_f64();
        assert!((2.4..5.0).contains(&took), "{took} s");
        let scenario = &record.scenarios[0];
        let request = only(scenario);
        assert!(request.correct > 20, "what was measured until then is kept");
        assert!((2.3..5.0).contains(&scenario.window.seconds()), "{}", scenario.window.seconds());
        assert!(request.errors.contains_key(&ErrorKind::Connect), "{:?}", request.errors);
        let most = if open { 100 * 5 } else { 4 * 15 * 5 };
        assert!(request.failures() < most, "no busy loop: {:?}", request.errors);
        assert!(scenario.generator_cpu_seconds[0] < 1.5, "{:?}", scenario.generator_cpu_seconds);
    }
}

#[test]
fn a_target_that_restarts_is_met_again() {
    let _alone = alone();
    let target = plain();
    let address = target.address;
    let restarting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        drop(target);
        std::thread::sleep(Duration::from_millis(600));
        // Connections that the old process closed may still hold the port.
        let socket = loop {
            match TcpListener::bind(address) {
                Ok(socket) => break socket,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        listening(socket, |peer| while peer.request().is_some() && peer.say(HELLO) {})
    });
    let scenario = plan(address).open(200, 4).measuring(2 * SECOND).measure();
    let again = restarting.join().unwrap();
    let request = only(&scenario);
    assert_eq!(request.correct + request.failures(), 400);
    assert!((80..200).contains(&request.failures()), "{:?}", request.errors);
    assert!(again.requests() > 100, "{}", again.requests());
}

#[test]
fn when_told_to_stop_it_keeps_what_it_has() {
    let _alone = alone();
    let target = plain();
    let planned = plan(target.address).open(500, 4).measuring(30 * SECOND);
    let began = Instant::now();
    let record = planned.run_stopping(|phase, seconds| phase == Phase::Measure && seconds > 0.9);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(record.failure, Some(GeneratorFailure::Interrupted));
    let scenario = &record.scenarios[0];
    let request = only(scenario);
    assert!((0.9..3.0).contains(&scenario.window.seconds()), "{}", scenario.window.seconds());
    assert_eq!(request.failures(), 0, "what was under way is neither right nor wrong: {:?}", request.errors);
    assert!((scenario.achieved_rate / 500.0 - 1.0).abs() < 0.05, "{}", scenario.achieved_rate);

    let record = planned.warming_up(30 * SECOND).run_stopping(|phase, _| phase == Phase::WarmUp);
    assert_eq!(record.failure, Some(GeneratorFailure::Interrupted));
    assert!(record.scenarios.is_empty(), "no window had begun");
}

#[test]
fn the_deadline_ends_everything() {
    let _alone = alone();
    let target = plain();
    let exceeded = Some(GeneratorFailure::DeadlineExceeded { scenario: "scenario".into() });
    let planned = plan(target.address).closed(2).measuring(30 * SECOND).deadline(SECOND);
    let record = planned.run();
    assert_eq!(record.failure, exceeded);
    assert!(only(&record.scenarios[0]).correct > 0);
    assert!(record.ended.seconds_since(record.started) < 2.0);

    let mut planned = plan(target.address).deadline(300 * MILLISECOND);
    planned.0.idle_before = 30 * SECOND;
    let record = planned.run();
    assert_eq!(record.failure, exceeded);
    let idle = record.idle_before.unwrap().seconds();
    assert!((0.2..1.0).contains(&idle), "{idle}");
}

#[test]
fn phases_follow_each_other_and_are_in_the_record() {
    let _alone = alone();
    let target = plain();
    let mut planned = plan(target.address).closed(2).warming_up(200 * MILLISECOND);
    planned.0.idle_before = 100 * MILLISECOND;
    planned.0.idle_after = 100 * MILLISECOND;
    planned.0.scenarios[0].discard = 100 * MILLISECOND;
    planned.0.scenarios[0].quiesce = 100 * MILLISECOND;
    let mut second = planned.0.scenarios[0].clone();
    second.name = "second".into();
    planned.0.scenarios.push(second);
    let record = planned.run();
    assert_eq!(record.failure, None);
    let (idle_before, idle_after) = (record.idle_before.unwrap(), record.idle_after.unwrap());
    let mut last = idle_before.end;
    for (scenario, name) in record.scenarios.iter().zip(["scenario", "second"]) {
        assert_eq!(scenario.name, name);
        assert!(last <= scenario.warm_up.start);
        assert!((scenario.warm_up.seconds() - 0.3).abs() < 1e-6, "with the discarded time");
        assert_eq!(scenario.warm_up.end, scenario.window.start);
        assert!((scenario.window.seconds() - 0.5).abs() < 1e-6);
        assert_eq!(scenario.window.end, scenario.drained.start);
        assert!(scenario.drained.seconds() < 0.3);
        last = scenario.drained.end;
    }
    assert!(idle_after.start.since(last) >= 100_000_000, "quiet after the scenario");
    assert!(record.started <= record.ready.unwrap().at && idle_after.end <= record.ended);
    assert!(!record.cpus_allowed.is_empty());
}
