//! The first correct answer: one small `GET` after another until the target answers as it should.
//!
//! Nothing here waits: the sampler goes on sampling while a request is under way.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpStream},
};

use gaugeblock_measurement::{UnixNanos, plan::ReadyProbe};
use rustix::{
    event::PollFlags,
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with},
};

use crate::clock::{self, MILLISECOND, SECOND};

/// Time for a connection to come about. Longer means nothing but a lost SYN, which the kernel sends
/// again only after a second.
const CONNECT: u64 = 50 * MILLISECOND;
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
    address: SocketAddr,
    request: String,
    expected: u16,
    began: u64,
    fastest: u64,
    due: u64,
    attempt: Option<Attempt>,
    /// What came instead of the right answer.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Attempt {
    stream: TcpStream,
    began: u64,
    sent: bool,
    received: Vec<u8>,
}

enum Progress {
    Waiting,
    Status(u16),
    Failed(String),
}

impl Question {
    /// A question to an address; `fastest` is the shortest time between two requests (ns).
    pub fn new(address: IpAddr, port: u16, ready: &ReadyProbe, fastest: u64) -> Self {
        let address = SocketAddr::new(address, port);
        let path = if ready.path.starts_with('/') { ready.path.clone() } else { format!("/{}", ready.path) };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: gaugeblock-sampler\r\nConnection: close\r\n\r\n"
        );
        let now = clock::monotonic();
        Self { address, request, expected: ready.status, began: now, fastest, due: now, attempt: None, trouble: None }
    }

    /// Takes the next step; answers the moment of the right answer.
    pub fn step(&mut self) -> Option<UnixNanos> {
        let now = clock::monotonic();
        if self.attempt.is_none() && now >= self.due {
            match Attempt::begin(self.address, now) {
                Ok(attempt) => self.attempt = Some(attempt),
                Err(error) => self.fail(now, format!("cannot be connected to: {error}")),
            }
        }
        match self.attempt.as_mut()?.step(&self.request, now) {
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
        let attempt = self.attempt.as_ref()?;
        Some((&attempt.stream, if attempt.sent { PollFlags::IN } else { PollFlags::OUT }))
    }

    /// What came instead of the right answer, last.
    pub fn trouble(&self) -> String {
        let what = self.trouble.as_deref().unwrap_or("did not answer in time");
        format!("the target at {} {what}", self.address)
    }

    fn fail(&mut self, now: u64, why: String) {
        self.attempt = None;
        self.trouble = Some(why);
        let elapsed = now.saturating_sub(self.began);
        self.due = now + (elapsed / SHARE).clamp(self.fastest, SLOWEST.max(self.fastest));
    }
}

impl Attempt {
    fn begin(address: SocketAddr, now: u64) -> Result<Self, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Self { stream: TcpStream::from(socket), began: now, sent: false, received: Vec::new() })
    }

    fn step(&mut self, request: &str, now: u64) -> Progress {
        let waited = now.saturating_sub(self.began);
        if !self.sent {
            match self.stream.write(request.as_bytes()) {
                Ok(count) if count == request.len() => self.sent = true,
                Ok(_) => return Progress::Failed("takes no request".into()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return if waited > CONNECT {
                        Progress::Failed("lets no connection come about within 50 ms".into())
                    } else {
                        Progress::Waiting
                    };
                }
                Err(error) => return Progress::Failed(format!("cannot be connected to: {error}")),
            }
        }
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
            Err(error) if error.kind() == ErrorKind::WouldBlock && waited <= ANSWER => Progress::Waiting,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Progress::Failed("does not answer within a second".into())
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
        let mut question = Question::new(address.ip(), address.port(), &ready, MILLISECOND);
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
        let (answered, _) =
            ask(200, &["HTTP/1.1 503 Busy\r\n\r\n", "", "nonsense of a server", "HTTP/1.0 200 OK\r\n\r\n"]);
        assert!(answered.is_some());
        let (answered, trouble) = ask(204, &["HTTP/1.1 200 OK\r\n\r\n"; 1000]);
        assert!(answered.is_none());
        assert!(trouble.ends_with("answers 200, where 204 is expected"), "{trouble}");
    }
}
