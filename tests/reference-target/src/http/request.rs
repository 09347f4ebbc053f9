//! Reads one request from the bytes received so far.

use std::borrow::Cow;

use super::chunked;

/// Most header fields of one request.
const MOST_FIELDS: usize = 64;
/// Longest request line with header fields, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// Largest body, in bytes.
const LARGEST_BODY: usize = 1 << 20;

/// One whole request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The body, out of its chunks.
    pub body: Cow<'a, [u8]>,
    /// Whether it came as HTTP/1.0.
    pub is_old: bool,
    /// Whether the connection stays.
    pub keep_alive: bool,
}

/// How far the bytes reach.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A request, and how many bytes it took.
    Complete(Request<'a>, usize),
    /// More must arrive; `true` when the peer waits for `100 Continue`.
    Partial(bool),
}

/// Why the bytes are no request that this service takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not HTTP.
    #[error("failed to read the request")]
    Syntax,
    /// The body exceeds the limit.
    #[error("failed to take a body so large")]
    TooLarge,
    /// The head exceeds the limit.
    #[error("failed to take a head so large")]
    HeadTooLarge,
}

/// Reads the first request in `bytes`.
pub fn read(bytes: &[u8]) -> Result<Progress<'_>, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let head_length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() > LONGEST_HEAD => {
            return Err(Malformed::HeadTooLarge);
        }
        Ok(httparse::Status::Partial) => return Ok(Progress::Partial(false)),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::Syntax),
    };
    let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
        return Err(Malformed::Syntax);
    };
    let framing = framing(head.headers, version)?;
    let after = &bytes[head_length..];
    let (body, taken) = match framing.body {
        Body::Length(length) if after.len() < length => {
            return Ok(Progress::Partial(framing.expects_continue));
        }
        Body::Length(length) => (Cow::Borrowed(&after[..length]), length),
        Body::Chunked => match chunked::read(after, LARGEST_BODY)? {
            Some((body, taken)) => (Cow::Owned(body), taken),
            None => {
                return Ok(Progress::Partial(framing.expects_continue && after.is_empty()));
            }
        },
    };
    let keep_alive = framing.keep_alive;
    Ok(Progress::Complete(Request { method, target, body, is_old: version == 0, keep_alive }, head_length + taken))
}

enum Body {
    Length(usize),
    Chunked,
}

struct Framing {
    body: Body,
    keep_alive: bool,
    expects_continue: bool,
}

/// What the header fields say about body and connection (RFC 9112, sections 6 and 9.3).
fn framing(fields: &[httparse::Header<'_>], version: u8) -> Result<Framing, Malformed> {
    let mut framing = Framing { body: Body::Length(0), keep_alive: version == 1, expects_continue: false };
    let mut length = None;
    for field in fields {
        let value = field.value.trim_ascii();
        if field.name.eq_ignore_ascii_case("content-length") {
            let number = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            let number: usize = number.and_then(|text| text.parse().ok()).ok_or(Malformed::Syntax)?;
            if length.replace(number).is_some_and(|earlier| earlier != number) {
                return Err(Malformed::Syntax);
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Malformed::Syntax);
            }
            framing.body = Body::Chunked;
        } else if field.name.eq_ignore_ascii_case("connection") {
            for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    framing.keep_alive = false;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    framing.keep_alive = true;
                }
            }
        } else if field.name.eq_ignore_ascii_case("expect") {
            framing.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
        }
    }
    match (&framing.body, length) {
        // Both is how requests are smuggled (RFC 9112, section 6.1).
        (Body::Chunked, Some(_)) => return Err(Malformed::Syntax),
        (Body::Length(_), Some(length)) if length > LARGEST_BODY => {
            return Err(Malformed::TooLarge);
        }
        (Body::Length(_), Some(length)) => framing.body = Body::Length(length),
        (_, None) => {}
    }
    Ok(framing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> (Request<'_>, usize) {
        match read(text.as_bytes()).unwrap() {
            Progress::Complete(request, taken) => (request, taken),
            Progress::Partial(_) => panic!("partial: {text:?}"),
        }
    }

    #[test]
    fn pipelined_requests_are_taken_one_by_one() {
        let text = "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let (first, taken) = request(text);
        assert_eq!((first.method, first.target, first.keep_alive), ("GET", "/a", true));
        assert_eq!(request(&text[taken..]).0.target, "/b");
    }

    #[test]
    fn bodies_come_by_length_or_in_chunks() {
        let (by_length, _) = request("POST /json HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET");
        assert_eq!(&*by_length.body, b"{}");
        let text = "POST /json HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        let (in_chunks, taken) = request(text);
        assert_eq!((&*in_chunks.body, taken), (&b"{}"[..], text.len()));
    }

    #[test]
    fn the_connection_stays_unless_told_otherwise() {
        assert!(!request("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0.keep_alive);
        assert!(!request("GET / HTTP/1.0\r\n\r\n").0.keep_alive);
        assert!(request("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").0.keep_alive);
    }

    #[test]
    fn a_request_cut_anywhere_waits_for_more() {
        let text = "POST /json HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..text.len() {
            assert_eq!(read(&text.as_bytes()[..end]), Ok(Progress::Partial(false)), "cut at {end}");
        }
        let expecting = "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(read(expecting.as_bytes()), Ok(Progress::Partial(true)));
    }

    #[test]
    fn what_cannot_be_framed_is_refused() {
        for (text, why) in [
            ("\x16\x03\x01\x02", Malformed::Syntax),
            ("POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n", Malformed::Syntax),
            ("POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", Malformed::Syntax),
            ("POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", Malformed::Syntax),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", Malformed::Syntax),
            ("POST / HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n", Malformed::TooLarge),
        ] {
            assert_eq!(read(text.as_bytes()), Err(why), "{text:?}");
        }
        let endless = format!("GET /{} HTTP/1.1", "a".repeat(LONGEST_HEAD));
        assert_eq!(read(endless.as_bytes()), Err(Malformed::HeadTooLarge));
    }
}
