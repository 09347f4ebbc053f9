//! The two reasons for which everything ends early: being told to, and the deadline.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use gaugeblock_measurement::{Span, generator::GeneratorFailure};

use crate::clock::{self, MILLISECOND};

/// Longest sleep between two looks.
const LOOK: u64 = 20 * MILLISECOND;

/// Why the work has to end now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Told to stop.
    Interrupted,
    /// The time allowed is used up.
    DeadlineExceeded,
}

impl Halt {
    /// How the record names it.
    pub fn failure(self, scenario: &str) -> GeneratorFailure {
        match self {
            Self::Interrupted => GeneratorFailure::Interrupted,
            Self::DeadlineExceeded => GeneratorFailure::DeadlineExceeded { scenario: scenario.to_owned() },
        }
    }
}

/// Looks at both.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    stop: &'a AtomicBool,
    deadline: u64,
}

impl<'a> Watch<'a> {
    /// Until `stop` is set or the monotonic time `deadline` (ns) has come.
    pub fn new(stop: &'a AtomicBool, deadline: u64) -> Self {
        Self { stop, deadline }
    }

    /// Whether to go on at `now`.
    pub fn check(&self, now: u64) -> Result<(), Halt> {
        if self.stop.load(Relaxed) {
            Err(Halt::Interrupted)
        } else if now >= self.deadline {
            Err(Halt::DeadlineExceeded)
        } else {
            Ok(())
        }
    }

    /// Time left until the deadline (ns).
    pub fn left(&self, now: u64) -> u64 {
        self.deadline.saturating_sub(now)
    }

    /// Sleeps until the monotonic time `until` (ns), calling `each` about once a second.
    pub fn sleep(&self, until: u64, mut each: impl FnMut(u64)) -> Result<(), Halt> {
        let mut said = clock::monotonic();
        each(said);
        loop {
            let now = clock::monotonic();
            self.check(now)?;
            let Some(left) = until.checked_sub(now).filter(|left| *left > 0) else {
                return Ok(());
            };
            if now >= said + clock::SECOND {
                said = now;
                each(now);
            }
            let left = left.min(LOOK).min(self.left(now));
            std::thread::sleep(Duration::from_nanos(left));
        }
    }

    /// Stays quiet for `nanos` and says from when to when, also if it had to end early.
    pub fn quiet(&self, nanos: u64, each: impl FnMut(u64)) -> (Span, Result<(), Halt>) {
        let start = clock::wall();
        let slept = self.sleep(clock::monotonic().saturating_add(nanos), each);
        let end = clock::wall();
        (Span { start, end }, slept)
    }
}
