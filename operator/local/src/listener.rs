//! Who watches a run: what happens is told, and drawn elsewhere.

use std::{path::Path, time::Duration};

use gaugeblock_crds::BenchmarkRunStatus;
use gaugeblock_planner::{Event, TrialSummary};
use serde::Deserialize;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// The run has its folder.
    Began {
        /// The folder.
        folder: &'a Path,
    },
    /// Something slow is being prepared, such as `building baseline`.
    Preparing(&'a str),
    /// Something that should be known, such as CPUs that are shared.
    Note(&'a str),
    /// The status changed.
    Status(&'a BenchmarkRunStatus),
    /// The planner's event.
    Event(&'a Event),
    /// A trial is stored.
    Stored {
        /// Its arm.
        arm: &'a str,
        /// What became of it.
        trial: &'a TrialSummary,
    },
    /// How far the run is.
    Progress(Progress),
    /// What the load generator does right now.
    Load(&'a Load),
    /// Someone asked to stop: what was measured is kept, processes are being ended.
    Interrupted,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Trials stored, void ones among them.
    pub stored: u32,
    /// Trials in all, if no gate is decided early.
    pub planned: u32,
    /// Whether it may end earlier.
    pub at_most: bool,
    /// Time since the first trial began.
    pub elapsed: Duration,
    /// Time until the last trial has ended, if no gate is decided early.
    pub left: Duration,
}

/// What the load generator says on its standard error.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Part of the work, such as `warm-up` or `measure`.
    pub phase: String,
    /// Scenario.
    pub scenario: Option<String>,
    /// Seconds since the phase began.
    pub seconds: f64,
    /// Seconds that it takes.
    pub of_seconds: f64,
    /// Errors since the scenario's load began.
    pub errors: u64,
    /// Answers per second.
    pub rate: f64,
}

/// Hears what happens.
pub trait Listener {
    /// Something happened.
    fn hear(&mut self, news: News<'_>);

    /// Whether the generator's own progress is of interest: reading it costs a wake-up a second.
    fn is_live(&self) -> bool {
        false
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deaf;

impl Listener for Deaf {
    fn hear(&mut self, _: News<'_>) {}
}
