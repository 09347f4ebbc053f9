//! One client's connection: bytes in, bytes out, and what it waits for.

use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::http::answer::Form;

/// Bytes read at a time.
const READ: usize = 4096;
/// Unsent bytes beyond which no further pipelined request is served.
const MOST_UNSENT: usize = 64 << 10;
/// Buffers larger than this are given back when empty.
const LARGEST_KEPT: usize = 64 << 10;

/// The form of an answer that the database still owes.
#[derive(Debug, Clone, Copy)]
pub struct Owed {
    /// Its form.
    pub form: Form,
    /// The byte that shall differ.
    pub difference: Option<usize>,
}

/// One client's connection.
pub struct Connection {
    /// The socket; it does not block.
    pub socket: OwnedFd,
    /// Bytes received and not yet served.
    pub received: Vec<u8>,
    /// Bytes to send.
    pub unsent: Vec<u8>,
    /// The answer that it waits for.
    pub owed: Option<Owed>,
    /// It closes once everything is sent.
    pub closing: bool,
    /// The process ends once everything is sent.
    pub last: bool,
    /// `100 Continue` went out for the request that is arriving.
    pub continued: bool,
    readable: bool,
    hung_up: bool,
    ended: bool,
}

/// Whether a connection is still of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// Something was moved.
    Moved,
    /// Nothing to do before the kernel says so.
    Blocked,
    /// The peer is gone.
    Broken,
}

impl Connection {
    /// A new connection.
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            received: Vec::new(),
            unsent: Vec::new(),
            owed: None,
            closing: false,
            last: false,
            continued: false,
            readable: false,
            hung_up: false,
            ended: false,
        }
    }

    /// Notes what the kernel says. It says it once (edge-triggered).
    pub fn notice(&mut self, readable: bool, hung_up: bool) {
        self.readable |= readable || hung_up;
        self.hung_up |= hung_up;
    }

    /// Whether another request may be served now.
    pub fn may_serve(&self) -> bool {
        self.owed.is_none() && !self.closing && self.unsent.len() < MOST_UNSENT
    }

    /// Whether all that the peer sent has come and has been answered as far as it can be.
    pub fn is_done(&self) -> bool {
        self.unsent.is_empty() && self.owed.is_none() && (self.closing || self.ended)
    }

    /// Receives what there is, up to one buffer.
    pub fn receive(&mut self) -> Io {
        if !self.readable || self.ended {
            return Io::Blocked;
        }
        self.received.reserve(READ);
        let room = self.received.capacity() - self.received.len();
        loop {
            return match rustix::io::read(&self.socket, spare_capacity(&mut self.received)) {
                Ok(0) => {
                    self.ended = true;
                    Io::Moved
                }
                Ok(length) => {
                    // Less than asked for means drained (epoll(7)), unless an end is to be read as well.
                    self.readable = length == room || self.hung_up;
                    Io::Moved
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    Io::Blocked
                }
                Err(_) => Io::Broken,
            };
        }
    }

    /// Sends what there is.
    pub fn send(&mut self) -> Io {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match rustix::io::write(&self.socket, &self.unsent[sent..]) {
                Ok(length) => sent += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Io::Broken,
            }
        }
        self.unsent.drain(..sent);
        for buffer in [&mut self.unsent, &mut self.received] {
            if buffer.is_empty() && buffer.capacity() > LARGEST_KEPT {
                *buffer = Vec::new();
            }
        }
        if self.unsent.is_empty() { Io::Moved } else { Io::Blocked }
    }
}
