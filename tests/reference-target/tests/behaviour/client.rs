//! One connection to a target, with as little HTTP as the tests need.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A connection.
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream, received: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Receives one answer with a body.
    pub fn receive(&mut self) -> Response {
        self.receive_or_end(true).expect("the target hung up")
    }

    /// Receives one answer to a `HEAD` request.
    pub fn receive_head(&mut self) -> Response {
        self.receive_or_end(false).expect("the target hung up")
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        self.receive()
    }

    pub fn post(&mut self, path: &str, body: &str) -> Response {
        self.send(format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        self.receive()
    }

    /// Gets `path` so many times, in pipelined batches so that little but the target's own work is done.
    pub fn get_many(&mut self, path: &str, times: usize) -> Vec<Response> {
        let request = format!("GET {path} HTTP/1.1\r\n\r\n");
        let mut responses = Vec::with_capacity(times);
        while responses.len() < times {
            let batch = (times - responses.len()).min(20);
            self.send(request.repeat(batch));
            responses.extend((0..batch).map(|_| self.receive()));
        }
        responses
    }

    /// Whether the target has hung up, without a further answer.
    pub fn is_closed(&mut self) -> bool {
        self.receive_or_end(true).is_none()
    }

    fn receive_or_end(&mut self, has_body: bool) -> Option<Response> {
        loop {
            if let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.received[..end].to_vec()).unwrap();
                let length = if has_body { content_length(&head) } else { 0 };
                if self.received.len() >= end + 4 + length {
                    let body = self.received[end + 4..end + 4 + length].to_vec();
                    self.received.drain(..end + 4 + length);
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return Some(Response { status, head, body });
                }
            }
            let mut part = [0; 16 << 10];
            match self.stream.read(&mut part) {
                Ok(length) if length > 0 => self.received.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("no answer in 20 s")
                }
                _ => return None,
            }
        }
    }
}

impl Response {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn content_length(head: &str) -> usize {
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    length.map_or(0, |length| length.parse().unwrap())
}
