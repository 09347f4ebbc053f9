//! Waiting for sockets, until an exact time.
//!
//! `epoll_wait` counts in milliseconds, and `epoll_pwait2`, which does not, exists since Linux 5.11
//! only and is unknown to some sandboxes. A timer descriptor among the sockets (timerfd_create(2))
//! is exact to the kernel's wake-up everywhere, is not subject to the thread's timer slack, and
//! costs a system call only when the time to wake changes.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    buffer::spare_capacity,
    event::epoll,
    io::Errno,
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime},
};

use crate::clock::timespec;

/// Events taken at a time: small enough that a burst does not keep due requests waiting.
const BATCH: usize = 64;
/// The timer's number among the sockets'.
const TIMER: u64 = u64::MAX;

/// How long to wait for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Not,
    /// Until this monotonic time (ns) at the latest; it may end earlier without an event.
    Until(u64),
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
    timer: OwnedFd,
    /// When the timer will speak (monotonic ns), unless it has.
    armed: Option<u64>,
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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered, it need not be read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), flags)?;
        Ok(Self { epoll, timer, armed: None, events: Vec::with_capacity(BATCH) })
    }

    /// Watches a socket until it is closed, for everything at once: no later change of interest is
    /// needed, as an edge is reported only when the kernel has something new to say.
    pub fn watch(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags)
    }

    /// Waits, then fills `ready`.
    pub fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> Result<(), Errno> {
        ready.clear();
        self.events.clear();
        let now = timespec(0);
        let time_out = match wait {
            Wait::Not => Some(&now),
            Wait::Until(at) => {
                // A timer that speaks too early is left alone: looking once more is cheaper.
                if self.armed.is_none_or(|armed| at < armed) {
                    // Zero would disarm it.
                    let expiry = Itimerspec { it_interval: timespec(0), it_value: timespec(at.max(1)) };
                    timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &expiry)?;
                    self.armed = Some(at);
                }
                None
            }
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), time_out) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        for event in &self.events {
            let (flags, token) = (event.flags, event.data.u64());
            if token == TIMER {
                self.armed = None;
                continue;
            }
            let hung_up = flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
            ready.push(Ready {
                token,
                readable: hung_up || flags.contains(epoll::EventFlags::IN),
                writable: flags.contains(epoll::EventFlags::OUT),
                hung_up,
            });
        }
        Ok(())
    }
}
