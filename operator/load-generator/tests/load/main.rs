//! The load generator against small targets in threads of this process, whose truth is known.
//!
//! One test at a time: they share two cores with whatever else the machine does. Where a figure
//! could be spoilt by that, it is compared with the target's own log, or the trial is repeated when
//! the generator itself says that it could not keep its schedule, as a run would do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod closed;
mod ends;
mod hostile;
mod open;
mod planned;
mod program;
mod sequence;
mod settle;
mod target;
