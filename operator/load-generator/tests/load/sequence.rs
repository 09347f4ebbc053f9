//! The seed alone decides what is asked.

use std::{collections::BTreeMap, time::Duration};

use gaugeblock_measurement::plan::{Parameter, RequestPlan};

use crate::{
    planned::{Planned, alone, get, plan},
    target::{Target, serving},
};

fn mix() -> Vec<RequestPlan> {
    let parameters = BTreeMap::from([
        ("id".to_owned(), Parameter::Range { from: 1, to: 1_000_000 }),
        ("word".to_owned(), Parameter::OneOf(vec!["a".into(), "b c".into()])),
    ]);
    vec![
        RequestPlan { weight: 2, parameters: parameters.clone(), ..get("/items/{{id}}") },
        RequestPlan { weight: 1, parameters, ..get("/words?w={{word}}&id={{id}}") },
    ]
}

/// A target that keeps the request lines, and is as slow as told.
fn logging(pause: Duration) -> Target {
    serving(move |peer| {
        while let Some(line) = peer.request() {
            peer.truth.lines.lock().unwrap().push(line);
            peer.sleep(pause);
            if !peer.answer(b"hello") {
                return;
            }
        }
    })
}

/// The first hundred request lines.
fn lines(planned: impl Fn(&Target) -> Planned, pause: Duration) -> Vec<String> {
    let target = logging(pause);
    planned(&target).asking(mix()).measure();
    let lines = target.truth.lines.lock().unwrap();
    assert!(lines.len() >= 100, "{}", lines.len());
    lines[..100].to_vec()
}

#[test]
fn the_same_seed_asks_the_same_whatever_the_timing() {
    let _alone = alone();
    let closed = |target: &Target| plan(target.address).closed(1);
    let open = |target: &Target| plan(target.address).open(400, 1);
    let fast = lines(closed, Duration::ZERO);
    assert_eq!(fast, lines(closed, Duration::from_millis(2)));
    assert_eq!(fast, lines(open, Duration::ZERO));
    assert_ne!(fast, lines(|target| closed(target).seed(8), Duration::ZERO));
    assert!(fast.iter().any(|line| line.starts_with("GET /words?w=b%20c&id=")), "{fast:?}");
}
