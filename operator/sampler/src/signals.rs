//! Signals, kept as flags: the loop looks at them whenever it wakes, and a signal wakes it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM, SIGUSR1},
    flag,
};

/// What the sampler was told.
#[derive(Debug)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    window_over: Arc<AtomicBool>,
}

impl Signals {
    /// Begins to listen to SIGTERM and SIGINT ("stop"), and to SIGUSR1 ("the windows are over: read
    /// what would have disturbed them").
    pub fn register() -> io::Result<Self> {
        let (stop, window_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        flag::register(SIGTERM, Arc::clone(&stop))?;
        flag::register(SIGINT, Arc::clone(&stop))?;
        flag::register(SIGUSR1, Arc::clone(&window_over))?;
        Ok(Self { stop, window_over })
    }

    /// Whether to stop.
    pub fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the windows are over; answers it once for each signal.
    pub fn take_window_over(&self) -> bool {
        self.window_over.swap(false, Ordering::Relaxed)
    }
}
