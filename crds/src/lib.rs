//! The API of Gaugeblock: types, rules, conditions, names and labels.
//!
//! Group `gaugeblock.dev`, version `v1alpha1`. Everything is bounded, so that the API server can
//! estimate the cost of every rule; durations are Go style (`30s`), shares are strings with a
//! percent sign (`2.5%`), there are no floats.

pub mod baseline;
pub mod comparison;
pub mod condition;
pub mod dependency;
pub mod generate;
pub mod names;
pub mod pool;
pub mod run;
pub mod scenario;
pub mod status;
pub mod target;
pub mod text;

pub use baseline::{Baseline, BaselineSpec};
pub use pool::{BenchmarkPool, BenchmarkPoolSpec};
pub use run::{BenchmarkRun, BenchmarkRunSpec};
pub use status::BenchmarkRunStatus;
pub use text::{GoDuration, Percent, Quantity};
