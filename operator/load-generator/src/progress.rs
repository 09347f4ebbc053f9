//! What the generator says while it works: one JSON object a line on standard error.

use gaugeblock_measurement::UnixNanos;
use serde::Serialize;

/// A moment of the work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// When.
    pub at: UnixNanos,
    /// What is being done.
    pub phase: Phase,
    /// Scenario, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Seconds since the phase began.
    pub seconds: f64,
    /// Seconds that the phase takes, or may take at most.
    pub of_seconds: f64,
    /// Answers since the scenario's load began.
    pub answers: u64,
    /// Errors since the scenario's load began.
    pub errors: u64,
    /// Answers per second since the line before.
    pub rate: f64,
}

/// Parts of the work, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Waiting for the first right answer.
    Ready,
    /// Quiet before the first scenario.
    IdleBefore,
    /// Bringing dependencies to a known state.
    Settle,
    /// Opening the connections.
    Connect,
    /// Load that is not measured.
    WarmUp,
    /// Load that is thrown away.
    Discard,
    /// The measured window.
    Measure,
    /// Waiting for the window's last answers.
    Drain,
    /// Quiet after a scenario.
    Quiesce,
    /// Quiet after the last scenario.
    IdleAfter,
}
