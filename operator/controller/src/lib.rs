//! The operator: observe, plan, execute, tell.
//!
//! [`watch`] keeps caches of what there is; [`reconcile`] looks at one run: [`observe`] makes the
//! planner's input from the caches, the planner decides, [`execute`] writes, [`status`] and
//! [`event`] tell. [`sweep`] removes what runs leave that are gone. No state lives in memory only:
//! kill the operator anywhere, and the next one continues.

pub mod cache;
pub mod call;
pub mod event;
pub mod execute;
pub mod identity;
pub mod logging;
pub mod malformed;
pub mod observe;
pub mod operator;
pub mod options;
pub mod reconcile;
pub mod settle;
pub mod status;
pub mod sweep;
pub mod watch;
