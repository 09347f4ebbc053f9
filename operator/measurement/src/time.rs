//! Instants and spans of the wall clock, by which the windows of two programs are joined.

use serde::{Deserialize, Serialize};

/// An instant of the wall clock: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixNanos(pub i64);

impl UnixNanos {
    /// Nanoseconds from `earlier` to `self`; negative when `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Seconds from `earlier` to `self`.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        self.since(earlier) as f64 / 1e9
    }
}

/// A span of the wall clock, start included, end excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First instant inside.
    pub start: UnixNanos,
    /// First instant after.
    pub end: UnixNanos,
}

impl Span {
    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end.seconds_since(self.start)
    }

    /// Whether `at` lies inside.
    pub fn contains(&self, at: UnixNanos) -> bool {
        self.start <= at && at < self.end
    }
}
