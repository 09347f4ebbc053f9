//! Starts the reference target on loopback and checks every endpoint and knob against its promise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy knows tests by their attribute, and fixtures have none"
)]

mod client;
mod database;
mod endpoints;
mod knobs;
mod lifecycle;
mod memory;
mod postgres;
mod target;
