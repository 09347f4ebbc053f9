//! Pure numbers: tests, intervals and group-sequential bounds, each with its source.

pub mod spending;
