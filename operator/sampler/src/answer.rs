//! The first correct answer: one small `GET` after another until the target answers as it should.
//!
//! Nothing here waits: the sampler goes on sampling while a request is under way.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use gaugeblock_measurement::{UnixNanos, plan::ReadyProbe};
use rustix::event::PollFlags;

use crate::{
    clock::{self, MILLISECOND, SECOND},
    door::{Door, Knock},
};

/// Time for an answer before another request is tried: the first one may have been dropped.
const ANSWER: u64 = SECOND;
/// While it answers wrongly, a request each 1/25 of the time that it has taken so far, so that asking costs a slow start little …
const SHARE: u64 = 25;
/// … but at least each 4 ms, within the 5 ms to which a start is told.
const SLOWEST: u64 = 4 * MILLISECOND;
/// `HTTP/1.1 200`: as much of an answer as is looked at.
const STATUS_LINE: usize = 12;

/// Asks until the answer is right.
#[derive(Debug)]
pub struct Question {
    door: Door,
    request: String,
    expected: u16,
    began: u64,
    /// Shortest time between two requests (ns).
    fastest: u64,
    due: u64,
    asked: Option<Asked>,
    /// What came instead of the right answer.
    trouble: Option<String>,
}

/// A request under way.
#[derive(Debug)]
struct Asked {
    stream: TcpStream,
    began: u64,
    received: Vec<u8>,
}

enum Progress {
    Waiting,
    Status(u16),
    Failed(String),
}

impl Question {
    /// A question to an address. `connection`, when there is one already, carries the first request.
    pub fn new(address: SocketAddr, connection: Option<TcpStream>, ready: &ReadyProbe, fastest: u64) -> Self {
        let path = if ready.path.starts_with('/') { ready.path.clone() } else { format!("/{}", ready.path) };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: gaugeblock-sampler\r\nConnection: close\r\n\r\n"
        );
        let now = clock::monotonic();
        let mut question = Self {
            door: Door::new(address),
            request,
            expected: ready.status,
            began: now,
            fastest,
            due: now,
            asked: None,
            trouble: None,
        };
        if let Some(connection) = connection {
            question.ask(connection, now);
        }
        question
    }

    /// Takes the next step; answers the moment of the right answer.
    pub fn step(&mut self) -> Option<UnixNanos> {
        let now = clock::monotonic();
        if self.asked.is_none() && now >= self.due {
            match self.door.knock(now) {
                Knock::Open(stream) => self.ask(stream, now),
                Knock::Waiting => {}
                Knock::Closed(error) => self.fail(now, format!("cannot be connected to: {error}")),
            }
        }
        match self.asked.as_mut()?.step(now) {
            Progress::Waiting => None,
            Progress::Status(status) if status == self.expected => Some(clock::now()),
            Progress::Status(status) => {
                self.fail(now, format!("answers {status}, where {} is expected", self.expected));
                None
            }
            Progress::Failed(why) => {
                self.fail(now, why);
                None
            }
        }
    }

    /// The socket to wait for, and for what.
    pub fn descriptor(&self) -> Option<(&TcpStream, PollFlags)> {
        match &self.asked {
            Some(asked) => Some((&asked.stream, PollFlags::IN)),
            None => self.door.trying().map(|stream| (stream, PollFlags::OUT)),
        }
    }

    /// What came instead of the right answer, last.
    pub fn trouble(&self) -> String {
        let what = self.trouble.as_deref().unwrap_or("did not answer in time");
        format!("the target at {} {what}", self.door.address)
    }

    fn ask(&mut self, mut stream: TcpStream, now: u64) {
        // A fresh connection takes a request of some hundred bytes whole, or is broken.
        match stream.write(self.request.as_bytes()) {
            Ok(count) if count == self.request.len() => {
                self.asked = Some(Asked { stream, began: now, received: Vec::new() });
            }
            Ok(_) => self.fail(now, "takes no request".into()),
            Err(error) => self.fail(now, format!("takes no request: {error}")),
        }
    }

    fn fail(&mut self, now: u64, why: String) {
        self.asked = None;
        self.trouble = Some(why);
        let elapsed = now.saturating_sub(self.began);
        self.due = now + (elapsed / SHARE).clamp(self.fastest, SLOWEST.max(self.fastest));
    }
}

impl Asked {
    fn step(&mut self, now: u64) -> Progress {
        let mut bytes = [0; 512];
        match self.stream.read(&mut bytes) {
            Ok(0) => Progress::Failed("closes the connection without an answer".into()),
            Ok(count) => {
                self.received.extend_from_slice(&bytes[..count]);
                if self.received.len() < STATUS_LINE {
                    return Progress::Waiting;
                }
                status(&self.received).map_or_else(|| Progress::Failed("answers no HTTP/1".into()), Progress::Status)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if now.saturating_sub(self.began) <= ANSWER {
                    Progress::Waiting
                } else {
                    Progress::Failed("does not answer within a second".into())
                }
            }
            Err(error) => Progress::Failed(format!("breaks the connection: {error}")),
        }
    }
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(answer.get(..STATUS_LINE)?).ok()?;
    line.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn ask(status: u16, answers: &'static [&'static str]) -> (Option<UnixNanos>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let ready = ReadyProbe { path: "/".into(), status, time_out: SECOND };
        let mut question = Question::new(address, None, &ready, MILLISECOND);
        let end = clock::monotonic() + 500 * MILLISECOND;
        while clock::monotonic() < end {
            if let Some(at) = question.step() {
                return (Some(at), question.trouble());
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        (None, question.trouble())
    }

    #[test]
    fn only_the_right_status_counts() {
        let answers = &["HTTP/1.1 503 Busy\r\n\r\n", "", "nonsense of a server", "HTTP/1.0 200 OK\r\n\r\n"];
        assert!(ask(200, answers).0.is_some());
        let (answered, trouble) = ask(204, &["HTTP/1.1 200 OK\r\n\r\n"; 1000]);
        assert!(answered.is_none());
        assert!(trouble.ends_with("answers 200, where 204 is expected"), "{trouble}");
    }
}
