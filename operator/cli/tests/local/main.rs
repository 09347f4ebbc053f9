//! The program as its users start it: runs without a cluster, and what they leave behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command_line;
mod interruption;
mod launcher;
mod program;
mod verdict;
