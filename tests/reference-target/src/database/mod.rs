//! The Postgres side: settings from the environment, one session, and each worker's pool of them.
//!
//! Sessions are opened by a thread of their own with blocking calls, then handed to a worker, whose loop
//! runs the queries without ever waiting for one.

pub mod connector;
pub mod pool;
pub mod query;
mod session;
pub mod settings;
