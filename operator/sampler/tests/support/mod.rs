//! What the sampler's tests share.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "only tests use it")]

pub mod capture;
pub mod cgroup;
pub mod child;
pub mod sampler;
pub mod truth;
