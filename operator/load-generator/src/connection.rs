//! One connection to the target: the socket, the answer being read, and the request under way.

use std::{net::SocketAddr, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send, socket_with,
        sockopt,
    },
};

use crate::{
    check::{Checker, Expectation},
    poller::Poller,
    response::{Fed, Malformed, Parser},
};

/// Bytes of a body, whose content does not matter, from which on they are thrown away inside the
/// kernel instead of being copied out.
const SKIP_FROM: u64 = 16 << 10;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not open.
    Closed,
    /// Being opened since this monotonic time (ns).
    Connecting(u64),
    /// Free since this monotonic time (ns).
    Idle(u64),
    /// A request is under way.
    Busy(UnderWay),
}

/// A request under way; times are monotonic nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// Index of the request in the mix.
    pub request: usize,
    /// When it was meant to be sent.
    pub intended: u64,
    /// When it was sent.
    pub sent: u64,
    /// Its length.
    pub bytes: u64,
    /// It asked for the connection to be closed.
    pub closes: bool,
}

/// What receiving led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// There was nothing.
    Nothing,
    /// Something came.
    Something {
        /// The socket holds nothing more for now, unless the peer has closed.
        drained: bool,
    },
    /// The answer is whole.
    Whole {
        /// As above.
        drained: bool,
        /// Another request may be sent.
        reusable: bool,
    },
    /// The answer is not HTTP.
    Malformed(Malformed),
    /// The peer closed, or the connection broke, before the answer was whole.
    Broken,
}

/// A place for a connection, which is opened again and again.
#[derive(Debug)]
pub struct Connection {
    /// What it is doing.
    pub state: State,
    /// Times it was opened: tells a late event of an earlier socket from one of this one.
    pub generation: u32,
    /// Openings and requests in a row that failed without any answer.
    pub failures: u32,
    /// Whether this socket has brought any answer.
    pub answered: bool,
    socket: Option<OwnedFd>,
    parser: Parser,
    checker: Checker,
    /// What the socket has not taken yet of the request.
    unsent: Vec<u8>,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            state: State::Closed,
            generation: 0,
            failures: 0,
            answered: false,
            socket: None,
            parser: Parser::default(),
            checker: Checker::default(),
            unsent: Vec::new(),
        }
    }
}

impl Connection {
    /// Begins to open it; the poller tells when that has ended.
    pub fn open(&mut self, target: SocketAddr, poller: &Poller, index: u32, now: u64) -> Result<(), Errno> {
        let family = match target {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        self.generation = self.generation.wrapping_add(1);
        self.answered = false;
        let socket =
            socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
        // Nagle's algorithm would hold a request back behind an unacknowledged one.
        sockopt::set_tcp_nodelay(&socket, true)?;
        match connect(&socket, &target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        poller.watch(&socket, token(index, self.generation))?;
        self.socket = Some(socket);
        self.state = State::Connecting(now);
        Ok(())
    }

    /// Whether opening succeeded, once the poller says that it has ended.
    pub fn opened(&mut self) -> Result<(), Errno> {
        let Some(socket) = &self.socket else {
            return Err(Errno::NOTCONN);
        };
        sockopt::socket_error(socket)?
    }

    /// Closes it, whatever it was doing.
    pub fn close(&mut self) {
        self.socket = None;
        self.unsent = Vec::new();
        self.state = State::Closed;
    }

    /// Sends a request, or as much of it as the socket takes now.
    pub fn request(&mut self, bytes: &[u8], is_head: bool, under_way: UnderWay) -> Result<(), Errno> {
        self.parser.begin(is_head);
        self.checker.begin();
        self.state = State::Busy(under_way);
        let taken = self.write(bytes)?;
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Goes on sending when the socket takes more.
    pub fn flush(&mut self) -> Result<(), Errno> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let unsent = std::mem::take(&mut self.unsent);
        let taken = self.write(&unsent)?;
        if taken < unsent.len() {
            self.unsent = unsent;
            self.unsent.drain(..taken);
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let socket = self.socket.as_ref().ok_or(Errno::NOTCONN)?;
        let mut taken = 0;
        while taken < bytes.len() {
            match send(socket, &bytes[taken..], SendFlags::NOSIGNAL) {
                Ok(count) => taken += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Reads once, and looks at what came. Without a request under way any byte is one too many.
    pub fn receive(&mut self, buffer: &mut [u8], expectation: Option<&Expectation>) -> Received {
        let Some(socket) = &self.socket else {
            return Received::Broken;
        };
        let reads_body = expectation.is_none_or(Expectation::reads_body);
        let skips = !reads_body && self.parser.body_left() >= SKIP_FROM;
        // With MSG_TRUNC a TCP socket throws the bytes away instead of copying them (tcp(7)).
        let (room, flags) = if skips {
            let left = usize::try_from(self.parser.body_left()).unwrap_or(usize::MAX);
            (buffer.len().min(left), RecvFlags::TRUNC)
        } else {
            (buffer.len().min(READ), RecvFlags::empty())
        };
        let count = loop {
            match recv(socket, &mut buffer[..room], flags) {
                Ok((_, 0)) => return self.ended(),
                Ok((_, count)) => break count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(_) => return Received::Broken,
            }
        };
        let Some(expectation) = expectation else {
            return Received::Malformed(Malformed::Surplus);
        };
        // Fewer bytes than there was room for: the socket is empty (epoll(7), question 9).
        let drained = count < room;
        let fed = if skips {
            self.checker.skip(count as u64);
            Ok(self.parser.skip(count as u64))
        } else {
            let checker = &mut self.checker;
            self.parser.feed(&buffer[..count], |piece| checker.feed(expectation, piece))
        };
        match fed {
            Ok(Fed::More) => Received::Something { drained },
            Ok(Fed::Complete { rest: 0 }) => Received::Whole {
                drained: drained || skips,
                reusable: self.parser.keeps_alive() && self.unsent.is_empty(),
            },
            Ok(Fed::Complete { .. }) => Received::Malformed(Malformed::Surplus),
            Err(why) => Received::Malformed(why),
        }
    }

    /// The peer has closed its side.
    fn ended(&mut self) -> Received {
        let busy = matches!(self.state, State::Busy(_));
        if busy && !self.parser.is_untouched() && self.parser.end().is_ok() {
            Received::Whole { drained: true, reusable: false }
        } else {
            Received::Broken
        }
    }

    /// Bytes of the answer so far.
    pub fn bytes_received(&self) -> u64 {
        self.parser.bytes()
    }

    /// Judges the whole answer.
    pub fn judge(&mut self, expectation: &Expectation) -> crate::tally::Outcome {
        self.checker.judge(expectation, self.parser.status())
    }
}

/// Most bytes copied out at a time.
const READ: usize = 64 << 10;
/// Length of the buffer that [`Connection::receive`] needs; most of it is never touched.
pub const BUFFER: usize = 1 << 20;

/// The poller's number for a connection.
fn token(index: u32, generation: u32) -> u64 {
    (u64::from(generation) << 32) | u64::from(index)
}

/// Index and generation of a poller's number.
pub fn from_token(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}
