//! Local mode: the same plan, executed with processes instead of pods.

pub mod manifest;
