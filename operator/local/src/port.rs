//! Free ports of this machine.

use std::{fs, io, net::TcpListener};

/// Gives ports of 127.0.0.1 that nobody listens on, none twice.
///
/// They lie below the range from which the kernel takes the ports of outgoing connections: the
/// load generator's own connections must not take a port between its choice and its use.
#[derive(Debug)]
pub struct Ports {
    next: u16,
    first: u16,
    last: u16,
}

/// Lowest port that is given: below are well-known ones.
const LOWEST: u16 = 10_240;

impl Ports {
    /// Begins at a place that differs between processes.
    pub fn begin() -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let outgoing: u16 = range.split_whitespace().next().and_then(|port| port.parse().ok()).unwrap_or(32_768);
        let last = if outgoing > LOWEST + 1024 { outgoing - 1 } else { u16::MAX };
        let span = u32::from(last - LOWEST);
        // Neighbouring processes begin far apart (by the golden ratio of 2^16).
        let offset = std::process::id().wrapping_mul(40_503) % span;
        Self { next: LOWEST + offset as u16, first: LOWEST, last }
    }

    /// A free port.
    pub fn free(&mut self) -> io::Result<u16> {
        for _ in self.first..self.last {
            let port = self.next;
            self.next = if port >= self.last { self.first } else { port + 1 };
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return Ok(port);
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "no free port on 127.0.0.1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        let mut ports = Ports::begin();
        let (first, second) = (ports.free().unwrap(), ports.free().unwrap());
        assert_ne!(first, second);
        TcpListener::bind(("127.0.0.1", first)).unwrap();
    }
}
