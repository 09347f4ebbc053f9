//! Writes answers: the same bytes in every process, so no date and no address.

use std::borrow::Cow;
use std::io::Write;

/// The statuses that this service answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 200.
    Ok,
    /// 400.
    BadRequest,
    /// 404.
    NotFound,
    /// 405, with the methods that are allowed.
    MethodNotAllowed(&'static str),
    /// 413.
    TooLarge,
    /// 431.
    HeadTooLarge,
    /// 500.
    Error,
    /// 503.
    Unavailable,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed(_) => "405 Method Not Allowed",
            Self::TooLarge => "413 Content Too Large",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Error => "500 Internal Server Error",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

/// Status and body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// The media type of the body.
    pub media: &'static str,
    /// The body.
    pub body: Cow<'static, [u8]>,
}

impl Answer {
    /// Plain text under 200.
    pub fn text(body: &'static str) -> Self {
        Self { status: Status::Ok, media: "text/plain", body: Cow::Borrowed(body.as_bytes()) }
    }

    /// A JSON document under 200; 500 when it cannot be written.
    pub fn json(document: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(document) {
            Ok(body) => Self { status: Status::Ok, media: "application/json", body: Cow::Owned(body) },
            Err(_) => Self::failure(Status::Error, "failed to write the document"),
        }
    }

    /// An error with its reason as JSON.
    pub fn failure(status: Status, reason: &str) -> Self {
        let body = serde_json::json!({ "error": reason }).to_string().into_bytes();
        Self { status, media: "application/json", body: Cow::Owned(body) }
    }
}

/// What about a request shapes the answer's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The request was `HEAD`: no body.
    pub head: bool,
    /// The request came as HTTP/1.0, where staying must be said.
    pub is_old: bool,
    /// Whether the connection stays.
    pub keep_alive: bool,
}

/// Appends the answer to `out`; with a `difference`, the byte of the body at that offset (modulo its length)
/// has its lowest bit flipped.
pub fn write(out: &mut Vec<u8>, answer: &Answer, form: Form, difference: Option<usize>) {
    let Answer { status, media, body } = answer;
    let _infallible = write!(
        out,
        "HTTP/1.1 {}\r\nServer: gaugeblock-reference-target\r\nContent-Type: {media}\r\nContent-Length: {}\r\n",
        status.line(),
        body.len(),
    );
    if let Status::MethodNotAllowed(allowed) = status {
        let _infallible = write!(out, "Allow: {allowed}\r\n");
    }
    out.extend_from_slice(match (form.keep_alive, form.is_old) {
        (true, false) => b"\r\n",
        (true, true) => b"Connection: keep-alive\r\n\r\n",
        (false, _) => b"Connection: close\r\n\r\n",
    });
    if form.head {
        return;
    }
    let start = out.len();
    out.extend_from_slice(body);
    if let Some(offset) = difference.filter(|_| !body.is_empty()) {
        out[start + offset % body.len()] ^= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAY: Form = Form { head: false, is_old: false, keep_alive: true };

    fn written(form: Form, difference: Option<usize>) -> String {
        let mut out = Vec::new();
        write(&mut out, &Answer::text("Hello"), form, difference);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_answer_says_its_length() {
        let expected = "HTTP/1.1 200 OK\r\nServer: gaugeblock-reference-target\r\nContent-Type: text/plain\r\n\
                        Content-Length: 5\r\n\r\nHello";
        assert_eq!(written(STAY, None), expected);
    }

    #[test]
    fn a_head_request_gets_the_same_head_alone() {
        assert_eq!(written(Form { head: true, ..STAY }, Some(0)) + "Hello", written(STAY, None));
    }

    #[test]
    fn a_byte_difference_is_one_byte_of_the_body() {
        assert!(written(STAY, Some(1)).ends_with("\r\n\r\nHdllo"));
        assert!(written(STAY, Some(6)).ends_with("\r\n\r\nHdllo"));
    }
}
