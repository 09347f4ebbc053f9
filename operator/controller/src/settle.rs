//! Waits until the caches show what was written, so that the next decision sees it. Nothing rests
//! on that: every write may be repeated. But a decision on an old picture costs a round of calls,
//! and could show an old step in the status again.

use std::time::Duration;

use gaugeblock_crds::{BenchmarkRunStatus, names};
use kube::{Resource as _, runtime::reflector::ObjectRef};
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::{cache::Caches, execute::Written, identity::RunRef};

/// A watch is some milliseconds behind; one that is this far behind has a trouble of its own.
const LONGEST: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(5);

/// Waits until the caches show these writes, and this status of the run.
pub async fn settle(caches: &Caches, run: &RunRef, written: &[Written], status: Option<&BenchmarkRunStatus>) {
    let end = Instant::now() + LONGEST;
    loop {
        let missing = written.iter().find(|one| !shows(caches, one));
        if missing.is_none() && status.is_none_or(|status| shows_status(caches, run, status)) {
            return;
        }
        if Instant::now() >= end {
            debug!(?missing, "the caches do not show yet what was written");
            return;
        }
        sleep(STEP).await;
    }
}

fn shows(caches: &Caches, written: &Written) -> bool {
    match written {
        Written::Pod { namespace, name } => caches.pod(namespace, name).is_some(),
        Written::Released { namespace, name } => caches.pod(namespace, name).is_none_or(|pod| {
            let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
            gates.into_iter().flatten().all(|gate| gate.name != names::GATE_SAMPLER)
        }),
        Written::Deleted { namespace, name, uid } => caches
            .pod(namespace, name)
            .is_none_or(|pod| pod.metadata.deletion_timestamp.is_some() || pod.metadata.uid.as_ref() != Some(uid)),
        Written::ConfigMap { namespace, name } => {
            caches.config_maps.get(&ObjectRef::new(name).within(namespace)).is_some()
        }
        Written::Claimed { name } => has_claim(caches, name),
        Written::Unclaimed { name } => !has_claim(caches, name),
        Written::Credentials => true,
    }
}

fn has_claim(caches: &Caches, name: &str) -> bool {
    caches.claims.find(|lease| lease.metadata.name.as_deref() == Some(name)).is_some()
}

fn shows_status(caches: &Caches, run: &RunRef, status: &BenchmarkRunStatus) -> bool {
    let Some(found) = caches.runs.get(&run.key()) else { return true };
    found.meta().uid.as_deref() != Some(run.uid.as_str())
        || found.0.as_ref().map_or(true, |run| run.status.as_ref() == Some(status))
}
