//! Targets: one thread a connection, blocking, each with a behaviour of its own.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// A target that serves until it is dropped.
pub struct Target {
    pub address: SocketAddr,
    pub truth: Arc<Truth>,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

/// What a target knows of itself.
#[derive(Default)]
pub struct Truth {
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Requests whose head came whole, those for `/ready` not counted.
    pub requests: AtomicU64,
    /// Request lines in the order in which they came.
    pub lines: Mutex<Vec<String>>,
    /// When each request was received and answered (wall clock, ns).
    pub answered: Mutex<Vec<(i64, i64)>>,
}

/// What a connection may do.
pub struct Peer<'a> {
    pub stream: TcpStream,
    pub truth: &'a Truth,
    stop: &'a AtomicBool,
    received: Vec<u8>,
}

pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A target that answers `hello` to everything.
pub fn plain() -> Target {
    serving(|peer| while peer.request().is_some() && peer.say(HELLO) {})
}

/// A target whose connections behave as told, except that `/ready` is always answered with 200.
pub fn serving(behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> Target {
    listening(TcpListener::bind("127.0.0.1:0").unwrap(), behave)
}

/// The same on a given socket.
pub fn listening(listener: TcpListener, behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> Target {
    let address = listener.local_addr().unwrap();
    let truth = Arc::new(Truth::default());
    let stop = Arc::new(AtomicBool::new(false));
    let behave = Arc::new(behave);
    let accepting = std::thread::spawn({
        let (truth, stop) = (Arc::clone(&truth), Arc::clone(&stop));
        move || {
            for stream in listener.incoming() {
                if stop.load(SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let (truth, stop, behave) = (Arc::clone(&truth), Arc::clone(&stop), Arc::clone(&behave));
                std::thread::spawn(move || {
                    stream.set_nodelay(true).unwrap();
                    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                    stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
                    let mut peer = Peer { stream, truth: &truth, stop: &stop, received: Vec::new() };
                    if !peer.is_probe() {
                        truth.accepted.fetch_add(1, SeqCst);
                        behave(&mut peer);
                    }
                });
            }
        }
    });
    Target { address, truth, stop, accepting: Some(accepting) }
}

impl Target {
    pub fn requests(&self) -> u64 {
        self.truth.requests.load(SeqCst)
    }

    pub fn accepted(&self) -> u64 {
        self.truth.accepted.load(SeqCst)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        // Wakes the accepting thread; it refuses from then on.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Peer<'_> {
    /// Whether the connection's first bytes ask for `/ready`: then it is answered here. A connection
    /// that says nothing for 2 ms is no probe, which sends at once.
    fn is_probe(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let mut first = [0; 10];
        let got = self.stream.peek(&mut first).unwrap_or(0);
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let probe = &first[..got] == b"GET /ready";
        if probe {
            self.read_head();
            self.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        probe
    }

    /// Waits for the next request without a body and returns its first line; `None` at the end.
    pub fn request(&mut self) -> Option<String> {
        let head = self.read_head()?;
        self.truth.requests.fetch_add(1, SeqCst);
        Some(head.lines().next().unwrap_or_default().to_owned())
    }

    fn read_head(&mut self) -> Option<String> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = self.received.drain(..end + 4).collect();
                return String::from_utf8(head).ok();
            }
            if self.stop.load(SeqCst) {
                return None;
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if is_time_out(&error) => {}
                Err(_) => return None,
            }
        }
    }

    /// Sends all of it; false when the peer is gone or the target ends.
    pub fn say(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.stop.load(SeqCst) {
                return false;
            }
            match self.stream.write(bytes) {
                Ok(0) => return false,
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_time_out(&error) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Answers 200 with this body.
    pub fn answer(&mut self, body: &[u8]) -> bool {
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend_from_slice(body);
        self.say(&answer)
    }

    /// Does nothing until the target ends or the other side closes.
    pub fn hang(&mut self) {
        let mut buffer = [0; 4096];
        while !self.stop.load(SeqCst) {
            match self.stream.read(&mut buffer) {
                Ok(0) => return,
                Err(error) if !is_time_out(&error) => return,
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Breaks the connection with a reset.
    pub fn reset(&mut self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    /// Sleeps, but not beyond the target's end.
    pub fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.stop.load(SeqCst) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}

fn is_time_out(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// The wall clock in nanoseconds, as records have it.
pub fn wall() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
