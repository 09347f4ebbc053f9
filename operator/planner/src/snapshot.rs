//! What a run uses, written once and never changed: a moved tag or an upgrade in the middle of a
//! run changes nothing.

use gaugeblock_crds::{BenchmarkPoolSpec, BenchmarkRunSpec, names, pool::Isolation};
use serde::{Deserialize, Serialize};

use crate::order;

/// Version of the snapshot's shape.
pub const SNAPSHOT_VERSION: u32 = 1;

/// Everything that a run's trials follow from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// [`SNAPSHOT_VERSION`].
    pub version: u32,
    /// Namespace of the run.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
    /// UID of the run.
    pub uid: String,
    /// The run as it was when it got its node.
    pub spec: BenchmarkRunSpec,
    /// The pool as it was then; `None` in local mode.
    pub pool: Option<BenchmarkPoolSpec>,
    /// Image of our own measuring programs; `None` in local mode.
    pub measuring_image: Option<String>,
    /// Seed of order, mix and arrivals.
    pub seed: u64,
    /// Indices of the scenarios of each stage of a trial.
    pub stages: Vec<Vec<usize>>,
}

impl Snapshot {
    /// Freezes a run.
    pub fn freeze(
        namespace: &str,
        name: &str,
        uid: &str,
        spec: &BenchmarkRunSpec,
        pool: Option<&BenchmarkPoolSpec>,
        measuring_image: Option<&str>,
    ) -> Self {
        Self {
            version: SNAPSHOT_VERSION,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            spec: spec.clone(),
            pool: pool.cloned(),
            measuring_image: measuring_image.map(str::to_owned),
            seed: spec.repetitions.seed.map_or_else(|| order::seed_of(uid), |seed| seed as u64),
            stages: stages(spec),
        }
    }

    /// Stem of the names of everything of the run.
    pub fn stem(&self) -> String {
        names::stem(&self.name, &self.uid)
    }

    /// Index of the arm that the others are compared with.
    pub fn baseline(&self) -> usize {
        let named = self.spec.comparison.baseline.as_deref();
        named.and_then(|name| self.spec.targets.iter().position(|target| target.name == name)).unwrap_or(0)
    }

    /// Index of the arm of this name.
    pub fn arm(&self, name: &str) -> Option<usize> {
        self.spec.targets.iter().position(|target| target.name == name)
    }

    /// Whether the run must not go on without CPUs of its own: on a cluster, as the run or else its
    /// pool says.
    pub fn needs_isolation(&self) -> bool {
        let Some(pool) = &self.pool else { return false };
        self.spec.isolation.unwrap_or(pool.isolation) == Isolation::Required
    }

    /// Name of the Secret with the generated password of dependencies.
    pub fn credentials_name(&self) -> String {
        names::with_suffix(&self.stem(), "credentials")
    }

    /// Name of the ConfigMap with this snapshot.
    pub fn plan_name(&self) -> String {
        names::with_suffix(&self.stem(), "plan")
    }

    /// Name of the ConfigMap with the result.
    pub fn result_name(&self) -> String {
        names::with_suffix(&self.stem(), "result")
    }
}

/// Scenarios that may share a target and its data; after a writing one everything is made anew.
fn stages(spec: &BenchmarkRunSpec) -> Vec<Vec<usize>> {
    let mut stages = vec![Vec::new()];
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        if let Some(stage) = stages.last_mut() {
            stage.push(index);
        }
        if scenario.writes && index + 1 < spec.scenarios.len() {
            stages.push(Vec::new());
        }
    }
    stages
}
