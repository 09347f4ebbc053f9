//! A framed record is read back whole from whatever a log makes of it, or not at all (case 5).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use gaugeblock_measurement::{
    GeneratorRecord, RECORD_VERSION, ResultUnreadable, SamplerRecord, TrialId, UnixNanos, frame, identity::Program,
};
use proptest::prelude::*;

/// A record with text in it that hardly compresses, so that it takes several lines.
fn record(seed: u64, size: usize) -> GeneratorRecord {
    let mut state = seed;
    let noise: String = (0..size)
        .map(|_| {
            // Knuth's MMIX generator: any bytes will do, as long as they are the same again.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + (state >> 33) as u8 % 90)
        })
        .collect();
    GeneratorRecord {
        version: RECORD_VERSION,
        program: Program { name: "test".into(), version: "0".into() },
        trial: TrialId { run_uid: noise, block: 1, arm: "a".into(), stage: 0, attempt: 0 },
        seed,
        node: None,
        cpus_allowed: "0-1".into(),
        started: UnixNanos(1),
        ended: UnixNanos(2),
        ready: None,
        idle_before: None,
        scenarios: vec![],
        idle_after: None,
        failure: None,
    }
}

fn lines(record: &GeneratorRecord) -> Vec<String> {
    frame::encode(record).unwrap().lines().map(str::to_owned).collect()
}

fn decode(log: &str) -> Result<GeneratorRecord, ResultUnreadable> {
    frame::decode(log)
}

#[test]
fn every_line_is_short_enough_for_a_container_runtime() {
    let text = frame::encode(&record(1, 1 << 20)).unwrap();
    assert!(text.lines().count() > 50);
    assert!(text.lines().all(|line| line.len() < 8_000), "runtimes split at 16 KiB");
    assert_eq!(decode(&text), Ok(record(1, 1 << 20)), "a megabyte");
}

#[test]
fn a_time_stamp_in_front_does_not_matter() {
    let expected = record(2, 30_000);
    let mut log = String::from("2023-08-28T17:30:52.4000000Z starting\n");
    for line in lines(&expected) {
        let _ = write!(log, "2023-08-28T17:30:52.4951751Z \u{1b}[32mstdout F {line}\u{1b}[0m\r\n");
    }
    log += "2023-08-28T17:30:53.0000000Z bye\n";
    assert_eq!(decode(&log), Ok(expected));
}

#[test]
fn the_last_of_two_records_wins_and_an_older_one_never_stands_in_for_it() {
    let (old, new) = (record(3, 20_000), record(4, 20_000));
    let [old_lines, new_lines] = [&old, &new].map(lines);
    let log = |new_lines: &[String]| [&old_lines, new_lines].concat().join("\n");
    assert_eq!(decode(&log(&new_lines)), Ok(new));
    let cut = decode(&log(&new_lines[..new_lines.len() - 1]));
    assert!(matches!(cut, Err(ResultUnreadable::Cut { .. })), "{cut:?}");
    // A newer record of one line, none of which holds.
    let small = lines(&record(5, 10)).remove(0);
    for damaged in [
        small.replace("@gaugeblock:1:", "@gaugeblock:7:"),
        small.replace(":generator:", ":generatos:"),
        small[..small.len() - 2].to_owned(),
        small[..40].to_owned(),
    ] {
        let read = decode(&log(std::slice::from_ref(&damaged)));
        assert!(read.is_err(), "{damaged}: {read:?}");
    }
}

#[test]
fn lines_that_ran_together_are_told_apart() {
    let expected = record(6, 20_000);
    assert_eq!(decode(&lines(&expected).concat()), Ok(expected));
}

#[test]
fn a_log_without_a_record_says_so() {
    let missing = Err(ResultUnreadable::Missing { kind: "generator".into() });
    assert_eq!(decode(""), missing);
    assert_eq!(decode("some words\nand more"), missing);
    let other: Result<SamplerRecord, _> = frame::decode(&lines(&record(7, 10)).join("\n"));
    assert_eq!(other.unwrap_err(), ResultUnreadable::Missing { kind: "sampler".into() });
}

#[test]
fn another_version_is_named() {
    let mut newer = record(8, 10);
    newer.version = RECORD_VERSION + 1;
    let read = decode(&lines(&newer).join("\n")).unwrap_err();
    assert_eq!(
        read.to_string(),
        format!(
            "the generator record has version {}, this program reads version {RECORD_VERSION}; use the measuring image of the same release",
            RECORD_VERSION + 1,
        )
    );
}

#[test]
fn a_hostile_line_does_not_fill_memory() {
    for text in [
        "@gaugeblock:1:generator:00:0/18446744073709551615:0:00000000:@",
        "@gaugeblock:1:generator:00:18446744073709551615/1:0:0:@",
        "@gaugeblock:1:generator:00:0/1:18446744073709551615:0:@",
        "@gaugeblock:1:generator:00:0/1:1:0:\u{e9}@",
        "@gaugeblock:",
        "@gaugeblock:1:generator",
    ] {
        assert!(decode(text).is_err(), "{text}");
    }
}

/// Lines that others write.
fn other_line() -> impl Strategy<Value = String> {
    prop_oneof!["[ -?A-~]{0,40}", Just(String::new()), Just("@ : @gauge".to_owned())]
}

/// What a runtime puts in front of a line.
fn prefix() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("2023-08-28T17:30:52.4951751Z ".to_owned()), "[ -?A-~\u{e9}\u{1b}]{0,30}",]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_interleaving_and_any_prefix_give_the_same_record(
        seed: u64,
        size in 0_usize..40_000,
        noise in proptest::collection::vec((other_line(), prefix(), 0_usize..3), 12),
    ) {
        let expected = record(seed, size);
        let mut log = String::new();
        let lines = lines(&expected);
        for (index, line) in lines.iter().enumerate() {
            let (other, prefix, count) = &noise[index % noise.len()];
            for _ in 0..*count {
                let _ = writeln!(log, "{prefix}{other}");
            }
            let _ = writeln!(log, "{prefix}{line}{other}");
        }
        prop_assert_eq!(decode(&log), Ok(expected));
    }

    #[test]
    fn the_order_and_the_number_of_times_do_not_matter(
        seed: u64,
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let expected = record(seed, 20_000);
        let lines = lines(&expected);
        let picked: Vec<&str> = order.iter().map(|index| index.get(&lines).as_str()).collect();
        let log = [picked.join("\n"), lines.join("\n")].join("\n");
        prop_assert_eq!(decode(&log), Ok(expected));
    }

    #[test]
    fn damage_gives_the_same_record_or_an_error(
        seed: u64,
        size in 0_usize..30_000,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1_u8..128), 1..4),
    ) {
        let expected = record(seed, size);
        let mut bytes = lines(&expected).join("\n").into_bytes();
        for (place, mask) in flips {
            let place = place.index(bytes.len());
            bytes[place] = (bytes[place] ^ mask) & 0x7f;
        }
        let read = decode(std::str::from_utf8(&bytes).unwrap());
        prop_assert!(read.is_err() || read == Ok(expected));
    }

    #[test]
    fn a_cut_gives_the_same_record_or_an_error(
        seed: u64,
        size in 0_usize..30_000,
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let expected = record(seed, size);
        let log = lines(&expected).join("\n");
        let (from, to) = (from.index(log.len() + 1), to.index(log.len() + 1));
        let read = decode(&log[from.min(to)..from.max(to)]);
        prop_assert!(read.is_err() || read == Ok(expected));
    }

    #[test]
    fn an_older_record_never_stands_in_for_a_damaged_newer_one(
        seeds in (0_u64..1 << 32, 1_u64 << 32..1 << 33),
        size in 0_usize..20_000,
        place in any::<prop::sample::Index>(),
        mask in 1_u8..128,
    ) {
        let (old, new) = (record(seeds.0, size), record(seeds.1, size));
        let old_text = lines(&old).join("\n");
        let mut new_lines: Vec<Vec<u8>> = lines(&new).into_iter().map(String::into_bytes).collect();
        // Behind the mark, without which nobody can tell that a line was one of a record.
        let line = place.index(new_lines.len());
        let at = 12 + place.index(new_lines[line].len() - 12);
        new_lines[line][at] = (new_lines[line][at] ^ mask) & 0x7f;
        let new_text = String::from_utf8(new_lines.join(&b'\n')).unwrap();
        let read = decode(&format!("{old_text}\n{new_text}\n"));
        prop_assert!(read.is_err() || read == Ok(new));
    }

    #[test]
    fn noise_never_panics(log in "(@gaugeblock:|[0-9a-f:/@\n]|generator|\\PC){0,60}") {
        let _ = decode(&log);
    }
}
