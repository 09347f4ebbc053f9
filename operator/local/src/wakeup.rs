//! Waiting until something happens: a child ended, someone interrupts, or the time is over.
//!
//! Between two events Gaugeblock sleeps: on a small machine it shares a CPU with the load
//! generator, and every look of its own would be a delay of the generator's.

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::{
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};

/// Signals on which a run ends early, keeping what was measured.
const INTERRUPTS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Wakes on signals.
#[derive(Debug)]
pub struct Wakeup {
    pipe: UnixStream,
    interrupted: Arc<AtomicBool>,
}

impl Wakeup {
    /// Begins to listen. A second interrupt ends the process at once, with exit code 1; the
    /// [warden](crate::warden) then cleans up.
    pub fn listen() -> io::Result<Self> {
        let (pipe, signals) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in INTERRUPTS {
            // In this order: the first interrupt finds the flag unset, and sets it.
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&interrupted))?;
            flag::register(signal, Arc::clone(&interrupted))?;
            low_level::pipe::register(signal, signals.try_clone()?)?;
        }
        low_level::pipe::register(SIGCHLD, signals)?;
        Ok(Self { pipe, interrupted })
    }

    /// Whether someone asked to stop.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Sleeps until a signal comes, at most this long.
    pub fn wait(&mut self, longest: Duration) {
        let time_out = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
        // An error here is an interrupted call: something happened.
        let _ = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&time_out));
        let mut seen = [0; 64];
        while self.pipe.read(&mut seen).is_ok_and(|count| count == seen.len()) {}
    }
}
