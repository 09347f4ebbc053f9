//! Removes what a run that is gone has left outside its namespace, which no garbage collector
//! knows of: samplers, and claims on nodes. At the start, when a run or a part of one goes, and
//! now and then.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gaugeblock_crds::BenchmarkRun;
use gaugeblock_planner::sweep::sweep as plan;
use kube::{Api, core::PartialObjectMeta};
use tokio::{sync::Notify, time::timeout};
use tracing::{Instrument as _, info, info_span, warn};

use crate::{
    call::{CallError, call},
    execute::Subject,
    identity::{RunRef, has_role},
    observe::units,
    reconcile::{Context, in_words},
    settle::settle,
};

/// For what no event told of.
const NOW_AND_THEN: Duration = Duration::from_secs(30);
/// Several things of a run go at once: one look is enough for them.
const PAUSE: Duration = Duration::from_millis(100);

/// Sweeps for ever.
pub async fn run(context: Arc<Context>, wake: Arc<Notify>) {
    loop {
        for run in orphaned(&context) {
            let span = info_span!("sweep", run = run.annotation(), uid = run.uid);
            sweep(&context, &run).instrument(span).await;
        }
        tokio::time::sleep(PAUSE).await;
        // Woken, or not woken in time: both are a reason to look.
        let _ = timeout(NOW_AND_THEN, wake.notified()).await;
    }
}

/// Runs that have pods or claims, and are not in the cache.
fn orphaned(context: &Context) -> BTreeSet<RunRef> {
    let caches = &context.caches;
    let of_pods = caches.pods().filter_map(|pod| RunRef::of_part(&pod.metadata)).collect();
    let claims = caches.claims.state();
    let of_claims = claims
        .iter()
        .filter(|lease| has_role(&lease.metadata, gaugeblock_crds::names::ROLE_CLAIM))
        .filter_map(|lease| RunRef::of_part(&lease.metadata));
    let mut runs: BTreeSet<RunRef> = of_pods;
    runs.extend(of_claims);
    runs.retain(|run| !caches.has_run(run));
    runs
}

async fn sweep(context: &Context, run: &RunRef) {
    // The cache may be behind: ask before anything is deleted.
    match exists(context, run).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => {
            warn!(error = in_words(&error), "failed to ask whether the run is gone");
            return;
        }
    }
    let actions = plan(&units(&context.caches, &run.uid));
    let subject = Subject { run, observed: None, status: None };
    match context.executor.execute(subject, &actions).await {
        Ok(done) => {
            if !done.written.is_empty() {
                info!(writes = done.written.len(), "swept up after a run that is gone");
            }
            settle(&context.caches, run, &done.written, None).await;
        }
        Err(error) => warn!(error = in_words(&error), "failed to sweep up"),
    }
    context.executor.forget(&run.uid);
}

async fn exists(context: &Context, run: &RunRef) -> Result<bool, CallError> {
    let runs: Api<PartialObjectMeta<BenchmarkRun>> = Api::namespaced(context.client.clone(), &run.namespace);
    match call(runs.get_metadata(&run.name)).await {
        Ok(found) => Ok(found.metadata.uid.as_deref() == Some(run.uid.as_str())),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}
