//! Local mode: the same plan, executed with processes instead of pods.
//!
//! [`run`] takes a [`Manifest`] to its verdict on one machine, without a cluster. The planner is
//! the operator's own; what the operator does with pods is done here with processes:
//!
//! - a *gated* unit has an address and a UID, but no process yet;
//! - every process is started by the [launcher](launch) on the CPUs of the [layout];
//! - the program `gaugeblock` itself is load generator, sampler, launcher and [warden]: whoever
//!   calls [`run`] must be a program that dispatches these subcommands;
//! - the [run's folder](folder) takes the place of ConfigMaps and logs.
//!
//! Caveats: memory limits of the manifest are not enforced, `podTemplate` is not used, and the
//! network is the loopback device.

pub mod account;
pub mod cpu_list;
pub mod driver;
pub mod environment;
pub mod estimate;
pub mod execute;
pub mod folder;
pub mod launch;
pub mod layout;
pub mod listener;
pub mod manifest;
pub mod port;
pub mod postgres;
pub mod prepare;
pub mod process;
pub mod program;
pub mod unit;
pub mod wakeup;
pub mod warden;
pub mod world;

pub use driver::{Finished, LocalError, Options, run};
pub use listener::{Listener, News};
pub use manifest::Manifest;
