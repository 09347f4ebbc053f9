//! One look at one run: observe → plan → execute → tell.

use std::{collections::BTreeMap, sync::Arc, sync::Mutex, time::Duration};

use gaugeblock_crds::BenchmarkRun;
use gaugeblock_planner::{Action, Observed, Plan, failure, plan};
use jiff::Timestamp;
use kube::{
    Client, Resource as _,
    runtime::{controller, events::Recorder},
};
use tracing::{Instrument as _, error, info_span, warn};

use crate::{
    cache::Caches,
    call::CallError,
    event,
    execute::{Done, ExecuteError, Executor, Flow, Subject, Written},
    identity::{Guarded, RunRef},
    malformed,
    observe::{Installation, ObserveError, observe},
    settle::settle,
    status::{self, Wrote},
};

/// After a plan was overtaken: the caches show what overtook it in a moment.
const SOON: Duration = Duration::from_millis(250);
/// First and longest wait after a failure.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What every look at a run needs.
pub struct Context {
    /// Client.
    pub client: Client,
    /// What the operator knows of itself.
    pub installation: Installation,
    /// What the watches have told.
    pub caches: Caches,
    /// Executes plans.
    pub executor: Executor,
    /// Sends events.
    pub recorder: Recorder,
    /// Failures in a row, by UID of the run.
    pub failures: Mutex<BTreeMap<String, u32>>,
}

/// Why a look at a run came to nothing. The next one starts from what is there then.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// It could not be seen what there is.
    #[error("failed to observe the run")]
    Observe(#[from] ObserveError),
    /// The plan could not be executed.
    #[error("failed to execute the plan")]
    Execute(#[from] ExecuteError),
    /// The status could not be written.
    #[error("failed to write the status")]
    Status(#[source] CallError),
}

/// Looks at one run.
pub async fn reconcile(run: Arc<Guarded>, context: Arc<Context>) -> Result<controller::Action, ReconcileError> {
    let meta = run.meta();
    let Some(identity) = RunRef::of_run(meta) else {
        return Ok(controller::Action::await_change());
    };
    let span = info_span!("run", run = identity.annotation(), uid = identity.uid);
    let look = async {
        let again = match &run.0 {
            Ok(run) => look(run, &identity, &context).await?,
            Err(invalid) => {
                let status = malformed::status(invalid);
                let written = status::write(&context.client, &identity, &status).await;
                written.map_err(ReconcileError::Status)?;
                None
            }
        };
        if let Ok(mut failures) = context.failures.lock() {
            failures.remove(&identity.uid);
        }
        Ok(again.map_or_else(controller::Action::await_change, controller::Action::requeue))
    };
    look.instrument(span).await
}

/// Waits longer the more often it fails.
#[allow(clippy::needless_pass_by_value, reason = "the controller calls it so")]
pub fn after_error(run: Arc<Guarded>, error: &ReconcileError, context: Arc<Context>) -> controller::Action {
    let uid = run.meta().uid.clone().unwrap_or_default();
    let times = context.failures.lock().map_or(1, |mut failures| {
        let times = failures.entry(uid).or_insert(0);
        *times += 1;
        *times
    });
    let wait = FIRST_WAIT.saturating_mul(1 << times.min(10).saturating_sub(1)).min(LONGEST_WAIT);
    warn!(
        run = run.meta().name,
        namespace = run.meta().namespace,
        error = in_words(error),
        times,
        "failed; trying again in {wait:?}"
    );
    controller::Action::requeue(wait)
}

/// The whole of it. Answers when to look again.
async fn look(run: &BenchmarkRun, identity: &RunRef, context: &Context) -> Result<Option<Duration>, ReconcileError> {
    let Context { client, installation, caches, executor, recorder, failures: _ } = context;
    let has_credentials = executor.has_credentials(&identity.uid);
    let observed = observe(caches, installation, run, has_credentials)?;
    let mut plan = plan(&observed, Timestamp::now());
    let mut done = match execute(executor, identity, &observed, &plan).await {
        Ok(done) => done,
        Err(failed) => {
            let Some((object, message)) = failed.final_words() else { return Err(failed.into()) };
            error!(object, message, "a creation was refused: the run fails");
            plan = failure::creation_refused(&observed, &object, &message, Timestamp::now());
            execute(executor, identity, &observed, &plan).await?
        }
    };
    if done.flow == Flow::Replan {
        settle(caches, identity, &done.written, None).await;
        return Ok(Some(SOON));
    }
    let said = status::as_read(&plan.status);
    if said != observed.run.status {
        let wrote = status::write(client, identity, &said).await;
        if wrote.map_err(ReconcileError::Status)? == Wrote::Nothing {
            return Ok(None);
        }
        event::send(recorder, identity, &plan.events).await;
    }
    settle(caches, identity, &done.written, Some(&said)).await;
    // No watch shows Secrets, so nothing would wake this run up.
    done.written.retain(|one| *one == Written::Credentials);
    Ok(if done.written.is_empty() { plan.again } else { Some(Duration::ZERO) })
}

async fn execute(executor: &Executor, run: &RunRef, observed: &Observed, plan: &Plan) -> Result<Done, ExecuteError> {
    let actions: &[Action] = &plan.actions;
    let subject = Subject { run, observed: Some(observed), status: Some(&plan.status) };
    executor.execute(subject, actions).await
}

/// An error with all that caused it.
pub fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}
