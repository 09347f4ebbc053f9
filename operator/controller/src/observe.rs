//! From the caches to what the planner sees of one run.

use std::sync::Arc;

use gaugeblock_crds::{BenchmarkRun, names};
use gaugeblock_measurement::frame;
use gaugeblock_planner::{
    Observed, RunView, Snapshot, TrialSummary, Unit, observe,
    observed::{Claim, ClusterView, Place, Waiter},
    snapshot::SNAPSHOT_VERSION,
};
use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{Resource as _, runtime::reflector::ObjectRef};

use crate::{
    cache::Caches,
    identity::{RunRef, has_role, is_of},
    watch::has_finished,
};

/// Keys of our ConfigMaps.
pub mod key {
    /// The frozen plan, packed.
    pub const SNAPSHOT: &str = "snapshot";
    /// A trial's record, packed.
    pub const RECORD: &str = "record";
    /// A trial's summary, JSON.
    pub const SUMMARY: &str = "summary";
}

/// What the operator knows of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Namespace of the operator.
    pub operator_namespace: String,
    /// Image of our own measuring programs.
    pub measuring_image: String,
}

/// Why a run cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The object is not whole.
    #[error("the run has no namespace, name or UID")]
    NoIdentity,
    /// The frozen plan cannot be read.
    #[error("failed to read the plan in ConfigMap {name}: {what}")]
    Snapshot {
        /// Name of the ConfigMap.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A stored trial cannot be read.
    #[error("failed to read the trial in ConfigMap {name}: {what}")]
    Summary {
        /// Name of the ConfigMap.
        name: String,
        /// What is wrong.
        what: String,
    },
}

/// One run and everything that belongs to it. `has_credentials` cannot be seen: the operator may
/// make Secrets, not read them.
pub fn observe(
    caches: &Caches,
    installation: &Installation,
    run: &BenchmarkRun,
    has_credentials: bool,
) -> Result<Observed, ObserveError> {
    let identity = RunRef::of_run(&run.metadata).ok_or(ObserveError::NoIdentity)?;
    let snapshot = snapshot(caches, &identity)?;
    let result = snapshot.as_ref().map(Snapshot::result_name);
    let result = result.filter(|name| config_map(caches, &identity, name).is_some());
    Ok(Observed {
        place: Place::Cluster(cluster(caches, installation, run, &identity)),
        has_credentials,
        result,
        units: units(caches, &identity.uid),
        trials: trials(caches, &identity)?,
        snapshot,
        run: RunView {
            namespace: identity.namespace,
            name: identity.name,
            uid: identity.uid,
            generation: run.metadata.generation.unwrap_or_default(),
            created: created(run),
            deleting: run.metadata.deletion_timestamp.is_some(),
            spec: run.spec.clone(),
            status: run.status.clone().unwrap_or_default(),
        },
    })
}

/// Pods of a run, whatever trial they belong to, in the order of the plan.
pub fn units(caches: &Caches, run_uid: &str) -> Vec<Unit> {
    let pods = caches.pods().filter(|pod| is_of(pod.meta(), run_uid));
    let mut units: Vec<Unit> = pods.filter_map(|pod| observe::unit(&pod)).collect();
    units.sort_by(|one, other| (one.key, &one.name).cmp(&(other.key, &other.name)));
    let nodes = caches.nodes.state();
    observe::mark_lost(&mut units, &nodes.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    units
}

/// The claim that a Lease stands for.
pub fn claim(lease: &Lease) -> Option<Claim> {
    if !has_role(&lease.metadata, names::ROLE_CLAIM) {
        return None;
    }
    Some(Claim {
        node: lease.metadata.annotations.as_ref()?.get(names::ANNOTATION_NODE)?.clone(),
        holder: lease.spec.as_ref()?.holder_identity.clone()?,
    })
}

fn cluster(caches: &Caches, installation: &Installation, run: &BenchmarkRun, identity: &RunRef) -> ClusterView {
    let claims: Vec<Claim> = caches.claims.state().iter().filter_map(|lease| claim(lease)).collect();
    let mut nodes: Vec<_> = caches.nodes.state().iter().map(|node| observe::node(node)).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let pool = caches.pools.state();
    let pool = pool
        .iter()
        .filter_map(|pool| pool.0.as_ref().ok())
        .find(|pool| pool.metadata.name.as_ref() == Some(&run.spec.pool))
        .map(|pool| pool.spec.clone());
    ClusterView {
        measuring_image: installation.measuring_image.clone(),
        operator_namespace: installation.operator_namespace.clone(),
        pool,
        nodes,
        waiting: waiting(caches, run, identity, &claims),
        claims,
    }
}

/// Other runs that want a node of the same pool. One that is suspended, cancelled or on its way out
/// keeps nobody waiting.
fn waiting(caches: &Caches, run: &BenchmarkRun, identity: &RunRef, claims: &[Claim]) -> Vec<Waiter> {
    let waits = |other: &BenchmarkRun, uid: &str| {
        uid != identity.uid
            && other.spec.pool == run.spec.pool
            && !other.spec.suspend
            && !other.spec.cancel
            && other.metadata.deletion_timestamp.is_none()
            && !has_ended(other)
            && !claims.iter().any(|claim| claim.holder == uid)
    };
    let runs = caches.runs.state();
    runs.iter()
        .filter_map(|guarded| guarded.0.as_ref().ok())
        .filter_map(|other| Some((other, other.metadata.uid.as_deref()?)))
        .filter(|(other, uid)| waits(other, uid))
        .map(|(other, uid)| Waiter { uid: uid.to_owned(), priority: other.spec.priority, created: created(other) })
        .collect()
}

/// Whether a run has its verdict or failure; it may still be cleaning up.
fn has_ended(run: &BenchmarkRun) -> bool {
    use gaugeblock_crds::condition::ConditionType::{Complete, Failed};
    let conditions = run.status.iter().flat_map(|status| &status.conditions);
    let mut ended =
        conditions.filter(|one| one.status == "True" && [Complete.name(), Failed.name()].contains(&one.type_.as_str()));
    has_finished(run) || ended.next().is_some()
}

fn snapshot(caches: &Caches, run: &RunRef) -> Result<Option<Snapshot>, ObserveError> {
    let name = names::with_suffix(&names::stem(&run.name, &run.uid), "plan");
    let Some(map) = config_map(caches, run, &name) else {
        return Ok(None);
    };
    let error = |what: String| ObserveError::Snapshot { name: name.clone(), what };
    let packed = value(&map, key::SNAPSHOT).ok_or_else(|| error("it has no snapshot".into()))?;
    let snapshot: Snapshot = frame::unpack(packed).map_err(error)?;
    if snapshot.version == SNAPSHOT_VERSION {
        Ok(Some(snapshot))
    } else {
        Err(error(format!("it has version {}, this operator reads version {SNAPSHOT_VERSION}", snapshot.version)))
    }
}

fn trials(caches: &Caches, run: &RunRef) -> Result<Vec<TrialSummary>, ObserveError> {
    let read = |map: ConfigMap| {
        let name = map.metadata.name.clone().unwrap_or_default();
        let error = |what: String| ObserveError::Summary { name: name.clone(), what };
        let json = value(&map, key::SUMMARY).ok_or_else(|| error("it has no summary".into()))?;
        serde_json::from_str::<TrialSummary>(json).map_err(|cause| error(cause.to_string()))
    };
    let maps = parts(caches, run, names::ROLE_TRIAL_RECORD);
    let mut trials = maps.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    trials.sort_by_key(|trial| trial.slot);
    Ok(trials)
}

fn config_map(caches: &Caches, run: &RunRef, name: &str) -> Option<Arc<ConfigMap>> {
    let found = caches.config_maps.get(&ObjectRef::new(name).within(&run.namespace))?;
    is_of(&found.metadata, &run.uid).then_some(found)
}

fn parts(caches: &Caches, run: &RunRef, role: &str) -> Vec<ConfigMap> {
    let maps = caches.config_maps.state_filter(|map| {
        map.metadata.namespace.as_ref() == Some(&run.namespace)
            && is_of(&map.metadata, &run.uid)
            && has_role(&map.metadata, role)
    });
    maps.iter().map(|map| map.as_ref().clone()).collect()
}

fn value<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    map.data.as_ref()?.get(key).map(String::as_str)
}

fn created(run: &BenchmarkRun) -> Timestamp {
    run.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |at| at.0)
}
