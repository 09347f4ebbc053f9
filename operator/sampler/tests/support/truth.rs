//! Comparing with the truth on a machine that others use, too.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// A quantile of some values, by nearest rank.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// How late a thread wakes that sleeps a millisecond at a time: what the machine itself does to
/// everything that is polled.
pub struct Noise {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<f64>>,
}

impl Noise {
    pub fn listen() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut late = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(Duration::from_millis(1));
                late.push(began.elapsed().as_secs_f64() * 1e3 - 1.0);
            }
            late
        });
        Self { stop, thread }
    }

    /// 95th percentile of the lateness (ms).
    pub fn p95(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        quantile(&self.thread.join().unwrap(), 0.95)
    }
}
