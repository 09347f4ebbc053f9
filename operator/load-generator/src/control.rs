//! What the threads of one scenario tell each other while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared by the workers of one scenario and the thread that watches them.
#[derive(Debug)]
pub struct Control {
    stop: AtomicBool,
    gone: AtomicBool,
    live: Vec<Live>,
}

/// Running totals of one worker, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Live {
    answers: AtomicU64,
    errors: AtomicU64,
}

impl Control {
    /// For this many workers.
    pub fn new(workers: u32) -> Self {
        Self {
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            live: (0..workers).map(|_| Live::default()).collect(),
        }
    }

    /// Tells all workers to stop as soon as they can.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Says that nothing listens any more, and stops.
    pub fn target_is_gone(&self) {
        self.gone.store(true, Relaxed);
        self.stop();
    }

    /// Whether nothing listens any more.
    pub fn is_target_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Publishes a worker's totals.
    pub fn publish(&self, worker: u32, answers: u64, errors: u64) {
        if let Some(live) = self.live.get(worker as usize) {
            live.answers.store(answers, Relaxed);
            live.errors.store(errors, Relaxed);
        }
    }

    /// Answers and errors of all workers since the load began.
    pub fn totals(&self) -> (u64, u64) {
        self.live.iter().fold((0, 0), |(answers, errors), live| {
            (answers + live.answers.load(Relaxed), errors + live.errors.load(Relaxed))
        })
    }
}
