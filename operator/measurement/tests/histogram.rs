//! Histograms are kept and merged; percentiles cannot be averaged (case 23).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use gaugeblock_measurement::{
    Histogram,
    generator::{ErrorKind, RequestRecord},
    histogram::HIGHEST,
};
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record(*value);
    }
    histogram
}

/// The value of rank `⌈q·n⌉`, as HdrHistogram defines a quantile.
fn exact(values: &[u64], q: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

/// Two generators (k6-operator#812): one had 990 requests of 1 ms, the other 10 of 100 ms. The
/// average of their 99th percentiles would be 50.5 ms.
#[test]
fn two_generators_percentiles_are_those_of_all_their_requests() {
    let mut all = of(&[1_000_000; 990]);
    all.merge(&of(&[100_000_000; 10]));
    assert_eq!(all.count(), 1_000);
    assert!((all.quantile(0.99).unwrap() - 0.001).abs() < 1e-6);
    assert!((all.quantile(0.991).unwrap() - 0.1).abs() < 1e-4);
    assert!((all.mean().unwrap() - 0.00199).abs() < 1e-6);
}

#[test]
fn an_empty_histogram_has_no_quantiles_and_merges() {
    let mut empty = Histogram::new();
    assert_eq!((empty.count(), empty.quantile(0.5), empty.max(), empty.mean()), (0, None, None, None));
    empty.merge(&Histogram::new());
    assert_eq!(empty.count(), 0);
    empty.merge(&of(&[5]));
    assert_eq!(empty, of(&[5]));
}

#[test]
fn values_out_of_range_are_kept_at_its_ends() {
    let histogram = of(&[0, u64::MAX]);
    assert_eq!(histogram.count(), 2);
    assert!(histogram.quantile(0.0).unwrap() < 1e-9);
    assert!((histogram.max().unwrap() / (HIGHEST as f64 / 1e9) - 1.0).abs() < 1e-3);
}

#[test]
fn an_unused_one_is_small() {
    let text = serde_json::to_string(&Histogram::new()).unwrap();
    assert!(text.len() < 100, "{text}");
}

#[test]
fn requests_of_two_generators_add_up() {
    let one = |sent, slow: u64| RequestRecord {
        name: "a".into(),
        sent,
        correct: sent - 1,
        errors: [(ErrorKind::Status, 1)].into(),
        statuses: [(500, 1)].into(),
        bytes_received: 10 * sent,
        bytes_sent: sent,
        response: of(&[slow]),
        service: of(&[slow]),
        failed: of(&[1]),
    };
    let mut all = one(10, 1_000);
    all.merge(&one(5, 2_000));
    assert_eq!((all.sent, all.correct, all.failures(), all.statuses[&500]), (15, 13, 2, 2));
    assert_eq!((all.bytes_received, all.bytes_sent), (150, 15));
    assert_eq!((all.response.count(), all.failed.count()), (2, 2));
}

proptest! {
    #[test]
    fn merging_is_recording_together(
        first in proptest::collection::vec(0_u64..10_u64.pow(10), 0..200),
        second in proptest::collection::vec(0_u64..10_u64.pow(10), 1..200),
        q in 0.0..=1.0,
    ) {
        let together = [first.clone(), second.clone()].concat();
        let mut merged = of(&first);
        merged.merge(&of(&second));
        prop_assert_eq!(merged.count(), together.len() as u64);
        // Three significant digits.
        let (value, truth) = (merged.quantile(q).unwrap(), exact(&together, q) as f64 / 1e9);
        prop_assert!((value - truth).abs() <= truth * 0.001 + 1e-9, "{value} for {truth} at {q}");
        let mut other_way = of(&second);
        other_way.merge(&of(&first));
        prop_assert_eq!(merged.quantile(q), other_way.quantile(q));
    }

    #[test]
    fn storing_loses_nothing(values in proptest::collection::vec(0_u64..HIGHEST, 0..100)) {
        let histogram = of(&values);
        let text = serde_json::to_string(&histogram).unwrap();
        let read: Histogram = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &histogram);
        // What was read goes on growing.
        let mut more = read;
        more.record(HIGHEST);
        prop_assert_eq!(more.count(), histogram.count() + 1);
        let mut more: Histogram = serde_json::from_str(&text).unwrap();
        more.merge(&of(&[HIGHEST]));
        prop_assert_eq!(more.count(), histogram.count() + 1);
    }

    #[test]
    fn damaged_text_is_refused(text in "[A-Za-z0-9+/=]{0,80}") {
        let _ = serde_json::from_str::<Histogram>(&format!("{text:?}"));
    }
}
