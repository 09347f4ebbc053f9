//! The trial record: what was measured, versioned, checksummed and mergeable; the plans that the
//! measuring programs are started with; and the metrics that follow from a record.
//!
//! Shapes only: nothing here reads a clock, a file or the network. All times are nanoseconds, wall
//! clock times are since the Unix epoch, all sizes are bytes.

pub mod derive;
pub mod fingerprint;
pub mod frame;
pub mod generator;
pub mod histogram;
pub mod identity;
pub mod limit;
pub mod metric;
pub mod plan;
pub mod sampler;
pub mod time;
pub mod trial;

pub use frame::{Record, ResultUnreadable};
pub use generator::GeneratorRecord;
pub use histogram::Histogram;
pub use identity::TrialId;
pub use metric::{Direction, MetricName, MetricValue, Unit};
pub use plan::{GeneratorPlan, SamplerPlan};
pub use sampler::SamplerRecord;
pub use time::{Span, UnixNanos};
pub use trial::{Outcome, TrialRecord};

/// Version of the record's shape. A reader accepts exactly the versions it knows.
pub const RECORD_VERSION: u32 = 1;
