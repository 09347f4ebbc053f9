//! Executes a plan: a closed set of writes, each of which may be repeated.
//!
//! Guarantees: whatever is created has a deterministic name, so a second creation finds the first;
//! what is deleted is named by UID, so a later object of the same name is safe. A crash between any
//! two writes is the same as a crash before the next observation.

mod claim;
mod create;
mod delete;
mod error;
mod log;
mod object;
mod release;
mod result;
mod store;

use std::{collections::BTreeSet, sync::Mutex};

use gaugeblock_crds::BenchmarkRunStatus;
use gaugeblock_planner::{Action, Observed, Snapshot};
use kube::Client;
use tracing::{debug, info};

pub use error::ExecuteError;

use crate::identity::RunRef;

/// Whose actions are executed, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The run, or what it was.
    pub run: &'a RunRef,
    /// What was observed of it; `None` when it is gone.
    pub observed: Option<&'a Observed>,
    /// Its status after the plan, for the report.
    pub status: Option<&'a BenchmarkRunStatus>,
}

/// A write that was made: something that the caches will show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// A pod is there.
    Pod {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// A pod has lost its gate.
    Released {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// A pod is being deleted, or gone.
    Deleted {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
        /// UID.
        uid: String,
    },
    /// A ConfigMap is there.
    ConfigMap {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// A claim is there.
    Claimed {
        /// Name of the Lease.
        name: String,
    },
    /// A claim is gone.
    Unclaimed {
        /// Name of the Lease.
        name: String,
    },
    /// Credentials are there: no cache shows Secrets.
    Credentials,
}

/// Whether the plan still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// Something was found that the plan did not know: its status would not be true. Observe anew.
    Replan,
}

/// What became of a plan.
#[derive(Debug)]
pub struct Done {
    /// Writes that were made, in order.
    pub written: Vec<Written>,
    /// Whether the plan was executed to its end.
    pub flow: Flow,
}

/// Executes actions.
pub struct Executor {
    client: Client,
    operator_namespace: String,
    /// UIDs of runs whose credentials are known to exist. They can be made but not read; to try
    /// again after a restart is harmless.
    credentials: Mutex<BTreeSet<String>>,
    patience: log::Patience,
}

impl Executor {
    /// An executor that writes through this client.
    pub fn new(client: Client, operator_namespace: &str) -> Self {
        Self {
            client,
            operator_namespace: operator_namespace.to_owned(),
            credentials: Mutex::default(),
            patience: log::Patience::default(),
        }
    }

    /// Whether the credentials of a run are known to exist.
    pub fn has_credentials(&self, run_uid: &str) -> bool {
        self.credentials.lock().is_ok_and(|known| known.contains(run_uid))
    }

    /// Forgets what is only kept of a run that is under way.
    pub fn forget(&self, run_uid: &str) {
        if let Ok(mut known) = self.credentials.lock() {
            known.remove(run_uid);
        }
        self.patience.forget(run_uid);
    }

    /// Executes actions in their order, up to the first that fails.
    pub async fn execute(&self, subject: Subject<'_>, actions: &[Action]) -> Result<Done, ExecuteError> {
        let mut written = Vec::new();
        let mut snapshot = subject.observed.and_then(|observed| observed.snapshot.as_ref());
        let mut logs_kept = false;
        for action in actions {
            match action {
                Action::Freeze(frozen) => snapshot = Some(frozen),
                // All of a plan are kept at once, in one object.
                Action::KeepLog { .. } if std::mem::replace(&mut logs_kept, true) => continue,
                _ => {}
            }
            let flow = self.execute_one(subject, snapshot, actions, action, &mut written).await?;
            if flow == Flow::Replan {
                info!(action = name(action), "the plan was overtaken by what was found");
                return Ok(Done { written, flow });
            }
        }
        Ok(Done { written, flow: Flow::Continue })
    }

    async fn execute_one(
        &self,
        subject: Subject<'_>,
        snapshot: Option<&Snapshot>,
        actions: &[Action],
        action: &Action,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        debug!(action = name(action), "executing");
        let run = subject.run;
        match action {
            Action::Claim { node } => self.claim(run, node, written).await,
            Action::Freeze(frozen) => self.freeze(run, frozen, written).await,
            Action::MakeCredentials => self.make_credentials(run, need(snapshot)?, written).await,
            Action::Create(unit) => self.create_unit(subject, need(snapshot)?, unit, written).await,
            Action::Release { unit, name, target } => self.release(run, *unit, name, target.as_deref(), written).await,
            Action::Store(conclusion) => self.store(run, need(snapshot)?, conclusion, written).await,
            Action::Delete { unit, name, uid } => self.delete(run, *unit, name, uid, written).await,
            Action::KeepLog { .. } => self.keep_logs(run, need(snapshot)?, actions).await,
            Action::WriteResult => self.write_result(subject, need(snapshot)?, written).await,
            Action::Unclaim => self.unclaim(run, written).await,
            Action::DeleteRun => self.delete_run(run).await,
        }
    }
}

fn need(snapshot: Option<&Snapshot>) -> Result<&Snapshot, ExecuteError> {
    snapshot.ok_or(ExecuteError::NotFrozen)
}

/// The action as a word, for logs.
fn name(action: &Action) -> &'static str {
    match action {
        Action::Claim { .. } => "claim",
        Action::Freeze(_) => "freeze",
        Action::MakeCredentials => "make-credentials",
        Action::Create(_) => "create",
        Action::Release { .. } => "release",
        Action::Store(_) => "store",
        Action::Delete { .. } => "delete",
        Action::KeepLog { .. } => "keep-log",
        Action::WriteResult => "write-result",
        Action::Unclaim => "unclaim",
        Action::DeleteRun => "delete-run",
    }
}
