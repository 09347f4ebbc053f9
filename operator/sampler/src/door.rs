//! Whether the target lets anybody in: a connection is tried, and never waited for.
//!
//! A port that nobody listens on refuses at once, and the refusal costs 7 µs of the sampler's own
//! time and none of the target's. Reading `/proc/PID/net/tcp` instead walks the whole machine's table of
//! connections (`established_get_first`): 1.3 ms on a small machine, with as good as none.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with},
};

use crate::clock::MILLISECOND;

/// Time for a connection to come about. Longer means nothing but a lost SYN, which the kernel sends
/// again only after a second.
const CONNECT: u64 = 50 * MILLISECOND;

/// An address, and the connection that is being tried.
#[derive(Debug)]
pub struct Door {
    /// The address.
    pub address: SocketAddr,
    trying: Option<(TcpStream, u64)>,
    refuses: bool,
}

/// How a try ended, or that it has not.
#[derive(Debug)]
pub enum Knock {
    /// A connection.
    Open(TcpStream),
    /// Not yet known.
    Waiting,
    /// None, and why.
    Closed(io::Error),
}

impl Door {
    /// A door to try.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, trying: None, refuses: false }
    }

    /// The connection that is being tried, to be waited for until it can be written to.
    pub fn trying(&self) -> Option<&TcpStream> {
        self.trying.as_ref().map(|(stream, _)| stream)
    }

    /// Whether the last try was refused at once, as it should be where nobody listens: then it will be
    /// seen when somebody does.
    pub fn refuses(&self) -> bool {
        self.refuses
    }

    /// Tries once, or looks at how the last try goes; `now` is monotonic (ns).
    pub fn knock(&mut self, now: u64) -> Knock {
        let knock = self.try_once(now);
        match &knock {
            Knock::Closed(error) => self.refuses = error.kind() == io::ErrorKind::ConnectionRefused,
            Knock::Open(_) | Knock::Waiting => {}
        }
        knock
    }

    fn try_once(&mut self, now: u64) -> Knock {
        let (stream, since) = match self.trying.take() {
            Some(trying) => trying,
            None => match begin(self.address) {
                Ok(stream) => (stream, now),
                Err(error) => return Knock::Closed(error.into()),
            },
        };
        match stream.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return Knock::Closed(error),
        }
        if stream.peer_addr().is_ok() {
            return Knock::Open(stream);
        }
        if now.saturating_sub(since) > CONNECT {
            return Knock::Closed(io::Error::new(io::ErrorKind::TimedOut, "no connection within 50 ms"));
        }
        self.trying = Some((stream, since));
        Knock::Waiting
    }
}

fn begin(address: SocketAddr) -> Result<TcpStream, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::clock::monotonic;

    fn outcome(door: &mut Door) -> Knock {
        loop {
            match door.knock(monotonic()) {
                Knock::Waiting => std::thread::sleep(std::time::Duration::from_millis(1)),
                ended => return ended,
            }
        }
    }

    #[test]
    fn a_port_is_closed_until_somebody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut door = Door::new(listener.local_addr().unwrap());
        assert!(matches!(outcome(&mut door), Knock::Open(_)));
        drop(listener);
        match outcome(&mut door) {
            Knock::Closed(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_address_that_swallows_everything_is_given_up_soon() {
        // RFC 5737: nobody has this address; depending on the machine's routes it is refused or swallowed.
        let began = monotonic();
        assert!(matches!(outcome(&mut Door::new("192.0.2.1:9".parse().unwrap())), Knock::Closed(_)));
        assert!(monotonic() - began < 500 * MILLISECOND);
    }
}
