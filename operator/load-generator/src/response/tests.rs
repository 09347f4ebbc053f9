use proptest::prelude::*;

use super::*;

#[derive(Debug, PartialEq)]
struct Parsed {
    status: u16,
    keeps_alive: bool,
    body: Vec<u8>,
    rest: usize,
}

/// Feeds the pieces, then closes; `Ok(None)` when the answer never became whole.
fn parse_pieces<'a>(head_request: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Parsed, Malformed> {
    let mut parser = Parser::default();
    parser.begin(head_request);
    let mut body = Vec::new();
    let mut whole = false;
    let mut rest = 0;
    for piece in pieces {
        if whole {
            rest += piece.len();
        } else if let Fed::Complete { rest: left } = parser.feed(piece, |b| body.extend_from_slice(b))? {
            whole = true;
            rest = left;
        }
    }
    let keeps_alive = parser.keeps_alive();
    parser.end()?;
    Ok(Parsed { status: parser.status(), keeps_alive, body, rest })
}

fn parse(text: &str) -> Result<Parsed, Malformed> {
    parse_pieces(false, [text.as_bytes()])
}

#[expect(clippy::unnecessary_wraps, reason = "reads as what it is compared with")]
fn parsed(status: u16, keeps_alive: bool, body: &str, rest: usize) -> Result<Parsed, Malformed> {
    Ok(Parsed { status, keeps_alive, body: body.as_bytes().to_vec(), rest })
}

#[test]
fn a_length_delimits_the_body() {
    assert_eq!(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), parsed(200, true, "hello", 0));
    assert_eq!(parse("HTTP/1.1 200 OK\r\ncontent-length:5 , 5\r\n\r\nhello!!"), parsed(200, true, "hello", 2));
    assert_eq!(parse("HTTP/1.1 200\nContent-Length: 0\n\n"), parsed(200, true, "", 0));
}

#[test]
fn chunks_delimit_the_body_and_override_a_length() {
    assert_eq!(
        parse(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 1\r\n\r\n3;x=y\r\nabc\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
        ),
        parsed(200, true, "abc0123456789", 0)
    );
}

#[test]
fn the_end_of_the_connection_delimits_the_body_without_either() {
    assert_eq!(parse("HTTP/1.1 200 OK\r\n\r\nhello"), parsed(200, false, "hello", 0));
    assert_eq!(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello"), parsed(200, false, "hello", 0));
}

#[test]
fn some_answers_have_no_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(parse_pieces(true, [head.as_bytes()]), parsed(200, true, "", 0));
    assert_eq!(parse("HTTP/1.1 204 No Content\r\n\r\n"), parsed(204, true, "", 0));
    assert_eq!(parse("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n"), parsed(304, true, "", 0));
}

#[test]
fn interim_answers_are_passed_over_but_not_for_ever() {
    assert_eq!(
        parse(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 201 x\r\nContent-Length: 1\r\n\r\na"
        ),
        parsed(201, true, "a", 0)
    );
    assert_eq!(parse(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(33)), Err(Malformed::Interim));
    assert_eq!(parse("HTTP/1.1 101 Switching\r\n\r\n"), Err(Malformed::Interim));
}

#[test]
fn the_connection_header_and_the_version_say_whether_it_stays_open() {
    assert_eq!(
        parse("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"),
        parsed(200, false, "", 0)
    );
    assert_eq!(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), parsed(200, false, "", 0));
    assert_eq!(
        parse("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"),
        parsed(200, true, "", 0)
    );
}

#[test]
fn what_is_not_http_is_refused() {
    for (text, why) in [
        ("garbage\r\n", Malformed::StatusLine),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", Malformed::StatusLine),
        ("HTTP/2.0 200 OK\r\n", Malformed::StatusLine),
        ("HTTP/1.1 2x0 OK\r\n", Malformed::StatusLine),
        ("HTTP/1.1 2000 OK\r\n", Malformed::StatusLine),
        ("HTTP/1.1 200 OK\r\nno colon\r\n", Malformed::Header),
        ("HTTP/1.1 200 OK\r\n: nameless\r\n", Malformed::Header),
        ("HTTP/1.1 200 OK\r\nA: b\r\n folded: c\r\n", Malformed::Header),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Malformed::Cut),
        ("HTTP/1.1 200 OK\r\nContent-Le", Malformed::Cut),
        ("", Malformed::Cut),
    ] {
        assert_eq!(parse(text), Err(why), "{text:?}");
    }
}

#[test]
fn an_endless_head_is_refused_with_bounded_memory() {
    let mut parser = Parser::default();
    parser.begin(false);
    let outcome = (0..10_000).find_map(|_| parser.feed(&[b'x'; 100], |_| {}).err());
    assert_eq!(outcome, Some(Malformed::TooLarge));
    assert!(parser.line.capacity() <= 2 * HEAD_LIMIT);

    parser.begin(false);
    let head = b"HTTP/1.1 200 OK\r\n";
    assert_eq!(parser.feed(head, |_| {}), Ok(Fed::More));
    let outcome = (0..10_000).find_map(|_| parser.feed(b"Name: value\r\n", |_| {}).err());
    assert_eq!(outcome, Some(Malformed::TooLarge));
}

#[test]
fn skipped_bytes_count_as_fed_ones() {
    let mut parser = Parser::default();
    parser.begin(false);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789";
    assert_eq!(parser.feed(head, |_| {}), Ok(Fed::More));
    assert_eq!(parser.body_left(), 90);
    assert_eq!(parser.skip(60), Fed::More);
    assert_eq!(parser.skip(30), Fed::Complete { rest: 0 });
    assert_eq!(parser.bytes(), head.len() as u64 + 90);
}

fn answer() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..300);
    let name = "[A-Za-z][A-Za-z-]{0,10}";
    let value = "[ -~]{0,20}";
    (
        0_usize..3,
        prop_oneof![Just(200_u16), Just(404), Just(204), Just(304), Just(503)],
        proptest::collection::vec((name, value), 0..5),
        body,
        prop_oneof![Just("\r\n"), Just("\n")],
        0_u8..3,
        proptest::collection::vec(any::<u8>(), 0..4),
    )
        .prop_map(|(interim, status, headers, body, newline, framing, surplus)| {
            let mut out = Vec::new();
            for _ in 0..interim {
                out.extend_from_slice(format!("HTTP/1.1 100 Continue{newline}{newline}").as_bytes());
            }
            out.extend_from_slice(format!("HTTP/1.1 {status} Reason{newline}").as_bytes());
            for (name, value) in headers {
                out.extend_from_slice(format!("X{name}: {value}{newline}").as_bytes());
            }
            match framing {
                0 => {
                    out.extend_from_slice(format!("Content-Length: {}{newline}{newline}", body.len()).as_bytes());
                    out.extend_from_slice(&body);
                    out.extend_from_slice(&surplus);
                }
                1 => {
                    out.extend_from_slice(format!("Transfer-Encoding: chunked{newline}{newline}").as_bytes());
                    for chunk in body.chunks(37) {
                        out.extend_from_slice(format!("{:x}{newline}", chunk.len()).as_bytes());
                        out.extend_from_slice(chunk);
                        out.extend_from_slice(newline.as_bytes());
                    }
                    out.extend_from_slice(format!("0{newline}{newline}").as_bytes());
                    out.extend_from_slice(&surplus);
                }
                _ => {
                    out.extend_from_slice(newline.as_bytes());
                    out.extend_from_slice(&body);
                }
            }
            out
        })
}

/// Cuts `bytes` at the given places.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn every_way_of_cutting_gives_the_same_answer(
        bytes in answer(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        head_request: bool,
    ) {
        let whole = parse_pieces(head_request, [bytes.as_slice()]);
        prop_assert!(whole.is_ok(), "{:?} of {:?}", whole, String::from_utf8_lossy(&bytes));
        prop_assert_eq!(&whole, &parse_pieces(head_request, cut(&bytes, &cuts)));
        prop_assert_eq!(&whole, &parse_pieces(head_request, bytes.chunks(1)));
    }

    #[test]
    fn damaged_answers_are_judged_alike_however_they_are_cut(
        mut bytes in answer(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let whole = parse_pieces(false, [bytes.as_slice()]);
        prop_assert_eq!(&whole, &parse_pieces(false, cut(&bytes, &cuts)));
        prop_assert_eq!(&whole, &parse_pieces(false, bytes.chunks(1)));
    }

    #[test]
    fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = parse_pieces(false, [bytes.as_slice()]);
    }
}
