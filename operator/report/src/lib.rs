//! One model of a run and its result, one format per file.
//!
//! [`Report::of`] makes the model from what a run leaves behind, wherever it was executed: the
//! frozen plan, the status, the judgement and the trials. [`markdown`], [`json`] and [`terminal`]
//! write it. Nothing here reads a clock, a file or the network, so that the operator and local
//! mode show the same.

pub mod evidence;
pub mod group;
pub mod json;
pub mod markdown;
pub mod model;
pub mod number;
pub mod rows;
pub mod table;
pub mod terminal;
pub mod values;
pub mod words;

pub use model::{Input, Report};
