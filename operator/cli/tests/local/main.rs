//! The program as its users start it: runs without a cluster, and what they leave behind.

mod command_line;
mod interruption;
mod launcher;
mod program;
mod verdict;
