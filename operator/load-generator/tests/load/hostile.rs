//! Targets that misbehave: each ends in the right count, with bounded memory and time.

use std::{
    net::Shutdown,
    time::{Duration, Instant},
};

use gaugeblock_measurement::generator::ErrorKind::{self, Check, Protocol, Reset, Status, TimeOut};
use gaugeblock_measurement::plan::Expect;

use crate::{
    planned::{MILLISECOND, SECOND, alone, only, plan},
    target::{HELLO, Peer, serving},
};

/// What a behaviour must be counted as.
enum Counted {
    /// Every request ends in this error.
    As(ErrorKind),
    /// Every request is right.
    Correct,
}
use Counted::{As, Correct};

/// Answers a request; false ends the connection.
type Answer = fn(&mut Peer) -> bool;

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn endlessly(peer: &mut Peer, bytes: &[u8]) -> bool {
    while peer.say(bytes) {}
    false
}

fn drip(peer: &mut Peer, bytes: &[u8]) -> bool {
    for byte in bytes {
        if !peer.say(&[*byte]) {
            return false;
        }
        peer.sleep(Duration::from_millis(10));
    }
    true
}

/// Says this and closes.
fn last_words(peer: &mut Peer, bytes: &[u8]) -> bool {
    peer.say(bytes);
    false
}

/// Says this and no more.
fn falls_silent(peer: &mut Peer, bytes: &[u8]) -> bool {
    peer.say(bytes);
    peer.hang();
    false
}

/// Says this and breaks the connection.
fn breaks(peer: &mut Peer, bytes: &[u8]) -> bool {
    peer.say(bytes);
    peer.reset();
    false
}

const TABLE: &[(&str, Answer, Counted)] = &[
    ("breaks the connection", |peer| breaks(peer, b""), As(Reset)),
    ("breaks it in the middle", |peer| breaks(peer, &HELLO[..30]), As(Reset)),
    ("closes without an answer", |_| false, As(Reset)),
    ("closes in the middle of the head", |peer| last_words(peer, &HELLO[..20]), As(Reset)),
    ("closes in the middle of the body", |peer| last_words(peer, &HELLO[..HELLO.len() - 2]), As(Reset)),
    ("cuts its chunks", |peer| peer.say(CHUNKED) && last_words(peer, b"5\r\nhel"), As(Reset)),
    (
        "closes its half in the middle",
        |peer| {
            peer.say(&HELLO[..30]);
            let _ = peer.stream.shutdown(Shutdown::Write);
            falls_silent(peer, b"")
        },
        As(Reset),
    ),
    ("speaks garbage", |peer| peer.say(b"\x16\x03\x01garbage\r\n\r\n"), As(Protocol)),
    ("speaks another version", |peer| peer.say(b"HTTP/3.0 200 OK\r\n\r\n"), As(Protocol)),
    (
        "sends more than it promised",
        |peer| peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello world"),
        As(Protocol),
    ),
    ("answers twice", |peer| peer.say(&[HELLO, HELLO].concat()), As(Protocol)),
    (
        "has two lengths",
        |peer| peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        As(Protocol),
    ),
    ("has a negative length", |peer| peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), As(Protocol)),
    ("has a chunk of no size", |peer| peer.say(CHUNKED) && peer.say(b"hello\r\n"), As(Protocol)),
    ("floods with interim answers", |peer| endlessly(peer, b"HTTP/1.1 100 Continue\r\n\r\n"), As(Protocol)),
    ("switches protocols", |peer| peer.say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), As(Protocol)),
    (
        "has an endless header",
        |peer| peer.say(b"HTTP/1.1 200 OK\r\nA: ") && endlessly(peer, &[b'x'; 8192]),
        As(Protocol),
    ),
    (
        "has endless headers",
        |peer| peer.say(b"HTTP/1.1 200 OK\r\n") && endlessly(peer, b"Name: value\r\n"),
        As(Protocol),
    ),
    (
        "has an endless chunk extension",
        |peer| peer.say(CHUNKED) && peer.say(b"5;") && endlessly(peer, &[b'x'; 8192]),
        As(Protocol),
    ),
    (
        "has endless trailers",
        |peer| peer.say(CHUNKED) && peer.say(b"0\r\n") && endlessly(peer, b"Name: value\r\n"),
        As(Protocol),
    ),
    ("never answers", |peer| falls_silent(peer, b""), As(TimeOut)),
    ("falls silent in the middle", |peer| falls_silent(peer, &HELLO[..30]), As(TimeOut)),
    (
        "has endless chunks",
        |peer| peer.say(CHUNKED) && endlessly(peer, &[b"2000\r\n", [b'x'; 8192].as_slice(), b"\r\n"].concat()),
        As(TimeOut),
    ),
    ("has an endless body", |peer| peer.say(b"HTTP/1.1 200 OK\r\n\r\n") && endlessly(peer, &[b'x'; 8192]), As(TimeOut)),
    (
        "has a body of an exabyte",
        |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1152921504606846976\r\n\r\n")
                && endlessly(peer, &[b'x'; 8192])
        },
        As(TimeOut),
    ),
    ("drips its head", |peer| drip(peer, b"HTTP/1.1 200 OK\r\nA: bcdefghijklmnopqrstuvwxyz\r\n\r\n"), As(TimeOut)),
    (
        "drips its body",
        |peer| peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n") && drip(peer, &[b'x'; 99]),
        As(TimeOut),
    ),
    ("fails", |peer| peer.say(b"HTTP/1.1 500 x\r\nContent-Length: 2\r\n\r\nno"), As(Status)),
    ("answers with another body", |peer| peer.answer(b"hallo"), As(Check)),
    (
        "closes after each answer, as it says",
        |peer| last_words(peer, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
        Correct,
    ),
    ("ends its body by closing", |peer| last_words(peer, b"HTTP/1.0 200 OK\r\n\r\nhello"), Correct),
    ("sends one byte at a time", |peer| HELLO.iter().all(|byte| peer.say(&[*byte])), Correct),
    ("hints early", |peer| peer.say(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") && peer.say(HELLO), Correct),
    (
        "answers with a hundred megabytes",
        |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\nhello")
                && (0..12_799).all(|_| peer.say(&[b'x'; 8_192]))
                && peer.say(&[b'x'; 104_857_595 - 12_799 * 8_192])
        },
        Correct,
    ),
];

/// Resident memory of this process (bytes).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn every_bad_behaviour_is_counted_for_what_it_is() {
    let _alone = alone();
    for (name, answer, counted) in TABLE {
        let large = name.contains("megabytes");
        let target = serving(|peer| while peer.request().is_some() && answer(peer) {});
        let time_out = if large { 10 * SECOND } else { 150 * MILLISECOND };
        let planned = plan(target.address)
            .closed(3)
            .measuring(250 * MILLISECOND)
            .draining(time_out + 500 * MILLISECOND)
            .timing_out_after(time_out)
            .expecting(Expect { contains: Some("hello".into()), ..Expect::default() });
        let began = Instant::now();
        let before = resident();
        let record = planned.run();
        let took = began.elapsed();
        let grown = resident().saturating_sub(before);
        assert_eq!(record.failure, None, "{name}");
        let request = only(&record.scenarios[0]);
        assert!(request.sent >= 1, "{name}: nothing was sent");
        assert_eq!(request.correct + request.failures(), request.sent, "{name}");
        match counted {
            As(kind) => {
                assert_eq!(request.correct, 0, "{name}");
                let right = request.errors.get(kind).copied().unwrap_or(0);
                assert_eq!(right, request.failures(), "{name}: {:?}", request.errors);
                // Three connections, in 250 ms: the peer is not hammered.
                if *kind == Reset {
                    assert!(target.accepted() < 60, "{name}: {} connections", target.accepted());
                }
            }
            Correct => assert_eq!(request.failures(), 0, "{name}: {:?}", request.errors),
        }
        let limit = if large { 15.0 } else { 2.5 };
        assert!(took.as_secs_f64() < limit, "{name}: took {took:?}");
        assert!(grown < 8 << 20, "{name}: grew by {grown} bytes");
    }
}

#[test]
fn a_peer_that_accepts_and_breaks_is_not_hammered() {
    let _alone = alone();
    for open in [false, true] {
        let target = serving(|peer| {
            peer.reset();
        });
        let planned = plan(target.address).measuring(SECOND).timing_out_after(300 * MILLISECOND);
        let planned = if open { planned.open(50, 3) } else { planned.closed(3) };
        let scenario = planned.measure();
        assert_eq!(only(&scenario).correct, 0);
        assert!(only(&scenario).failures() > 0);
        // Three connections, each at most every 100 ms once it has failed seven times.
        assert!(target.accepted() < 100, "{} connections", target.accepted());
    }
}

#[test]
fn idle_connections_that_speak_or_close_are_replaced_quietly() {
    let _alone = alone();
    // Each connection is closed 50 ms after its first answer, while it is idle.
    let target = serving(|peer| {
        if peer.request().is_some() && peer.answer(b"hello") {
            peer.sleep(Duration::from_millis(50));
            peer.say(HELLO);
        }
    });
    let scenario = plan(target.address).open(20, 4).measuring(SECOND).measure();
    let request = only(&scenario);
    assert_eq!(request.correct, 20, "{:?}", request.errors);
    assert!(scenario.connections_opened >= 10, "{}", scenario.connections_opened);
    assert_eq!(scenario.connections_peak, 4);
}

#[test]
fn many_connections_open_in_reasonable_time() {
    let _alone = alone();
    let target = serving(|peer| while peer.request().is_some() && peer.answer(b"hello") {});
    let began = Instant::now();
    let scenario = plan(target.address).open(200, 400).measure();
    assert_eq!(scenario.connections_peak, 400);
    assert_eq!(only(&scenario).failures(), 0);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
