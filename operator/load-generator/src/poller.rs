//! Waiting for sockets with nanosecond time-outs.
//!
//! `epoll_wait` counts in milliseconds, and `epoll_pwait2`, which does not, exists since Linux 5.11
//! only. A precise wait is therefore a `ppoll` on the epoll descriptor, which every kernel and
//! sandbox has, with the thread's timer slack at 1 ns (prctl(2), `PR_SET_TIMERSLACK`; the default
//! of 50 µs would be added to every wait).

use std::{
    num::NonZeroU64,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, epoll, poll},
    io::Errno,
};

use crate::clock::{MILLISECOND, timespec};

/// Events taken at a time: small enough that a burst does not keep due requests waiting.
const BATCH: usize = 64;

/// How long to wait for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Not,
    /// About this long (ns), rounded up to milliseconds.
    Coarsely(u64),
    /// Exactly this long (ns), as far as the kernel can.
    Precisely(u64),
}

/// What the kernel says about one registered socket.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The number it was registered with.
    pub token: u64,
    /// Bytes or an end can be read.
    pub readable: bool,
    /// Bytes can be written, or connecting has ended.
    pub writable: bool,
    /// The peer has closed its side, or the connection is broken.
    pub hung_up: bool,
}

/// A set of sockets, watched edge-triggered.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").field("epoll", &self.epoll).finish_non_exhaustive()
    }
}

impl Poller {
    /// An empty set.
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(BATCH),
        })
    }

    /// Makes the waits of the calling thread precise.
    pub fn sharpen_timers() {
        // Where it is refused, waits are 50 µs late, which the lateness histogram shows.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }

    /// Watches a socket until it is closed, for everything at once: no later change of interest is
    /// needed, as an edge is reported only when the kernel has something new to say.
    pub fn watch(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(token),
            epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET,
        )
    }

    /// Waits, then fills `ready`.
    pub fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> Result<(), Errno> {
        ready.clear();
        self.events.clear();
        let time_out = match wait {
            Wait::Not => timespec(0),
            // Whole milliseconds: epoll_wait takes no others.
            Wait::Coarsely(nanos) => {
                timespec(nanos.div_ceil(MILLISECOND).saturating_mul(MILLISECOND))
            }
            Wait::Precisely(nanos) => {
                let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
                match poll(&mut fds, Some(&timespec(nanos))) {
                    Ok(0) | Err(Errno::INTR) => return Ok(()),
                    Ok(_) => timespec(0),
                    Err(error) => return Err(error),
                }
            }
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&time_out)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        ready.extend(self.events.iter().map(|event| {
            let flags = event.flags;
            let hung_up = flags.intersects(
                epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR,
            );
            Ready {
                token: event.data.u64(),
                readable: hung_up || flags.contains(epoll::EventFlags::IN),
                writable: flags.contains(epoll::EventFlags::OUT),
                hung_up,
            }
        }));
        Ok(())
    }
}
