//! What was observed of a run: the whole input of a plan.

use std::collections::BTreeMap;

use gaugeblock_crds::{BenchmarkPoolSpec, BenchmarkRunSpec, BenchmarkRunStatus, pool::Toleration};
use gaugeblock_measurement::{MetricValue, Outcome, TrialId, UnixNanos, plan::Watch, sampler::SpeedProbe};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::snapshot::Snapshot;

/// One run and everything that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The run.
    pub run: RunView,
    /// Where it is executed.
    pub place: Place,
    /// The frozen plan, once it is written.
    pub snapshot: Option<Snapshot>,
    /// Whether the credentials of dependencies are written.
    pub has_credentials: bool,
    /// Name of the written result, once there is one.
    pub result: Option<String>,
    /// Pods or processes of the run, whatever trial they belong to.
    pub units: Vec<Unit>,
    /// Trials whose record is stored.
    pub trials: Vec<TrialSummary>,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// Namespace; `local` in local mode.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Generation of its spec.
    pub generation: i64,
    /// When it was created.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What its owner asked for.
    pub spec: BenchmarkRunSpec,
    /// What was last said about it.
    pub status: BenchmarkRunStatus,
}

/// Where a run is executed.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// On a cluster.
    Cluster(ClusterView),
    /// On this machine, with processes.
    Local,
}

/// What the planner needs to know of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterView {
    /// Image of our own measuring programs.
    pub measuring_image: String,
    /// Namespace of the operator, where samplers live.
    pub operator_namespace: String,
    /// The pool that the run names, if it exists.
    pub pool: Option<BenchmarkPoolSpec>,
    /// All nodes of the cluster.
    pub nodes: Vec<NodeView>,
    /// All claims on nodes.
    pub claims: Vec<Claim>,
    /// Other runs of the same pool that have not ended and hold no node.
    pub waiting: Vec<Waiter>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// Name.
    pub name: String,
    /// Whether it is ready and may be scheduled to.
    pub usable: bool,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Taints that keep pods away: key, value, effect.
    pub taints: Vec<(String, String, String)>,
}

impl NodeView {
    /// Whether the node has all these labels.
    pub fn matches(&self, selector: &BTreeMap<String, String>) -> bool {
        selector.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }

    /// Whether these tolerations let a pod onto the node.
    pub fn tolerated(&self, tolerations: &[Toleration]) -> bool {
        self.taints.iter().filter(|taint| taint.2 != "PreferNoSchedule").all(|(key, value, effect)| {
            tolerations.iter().any(|toleration| {
                toleration.key == *key
                    && toleration.value.as_ref().is_none_or(|wanted| wanted == value)
                    && toleration.effect.is_none_or(|wanted| wanted.name() == effect)
            })
        })
    }
}

/// A claim on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Name of the node.
    pub node: String,
    /// UID of the run that holds it.
    pub holder: String,
}

/// Another run that waits for a node of the same pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// UID.
    pub uid: String,
    /// Priority: higher goes first.
    pub priority: i32,
    /// When it was created: older goes first.
    pub created: Timestamp,
}

/// The part that a unit plays in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The dependency of this index in the manifest.
    Dependency(u32),
    /// The system under test.
    Target,
    /// Reads the kernel's figures of the target.
    Sampler,
    /// Offers the load.
    Generator,
}

impl Role {
    /// As in labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dependency(_) => "dependency",
            Self::Target => "target",
            Self::Sampler => "sampler",
            Self::Generator => "load-generator",
        }
    }
}

/// A place in the plan of a run: one stage of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Block, from 0; block 0 is thrown away.
    pub block: u32,
    /// Attempt at the block, from 0.
    pub attempt: u32,
    /// Index of the arm in the manifest.
    pub arm: u32,
    /// Stage inside the trial.
    pub stage: u32,
}

impl Slot {
    /// Part of the names of its objects.
    pub fn suffix(&self) -> String {
        let Self { block, attempt, arm, stage } = self;
        format!("b{block}-k{attempt}-a{arm}-s{stage}")
    }

    /// The identity in its record.
    pub fn trial_id(&self, snapshot: &Snapshot) -> TrialId {
        let arm = snapshot.spec.targets.get(self.arm as usize).map(|target| target.name.clone());
        TrialId {
            run_uid: snapshot.uid.clone(),
            block: self.block,
            arm: arm.unwrap_or_default(),
            stage: self.stage,
            attempt: self.attempt,
        }
    }
}

/// Which unit: its place in the plan and its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UnitKey {
    /// Place in the plan.
    pub slot: Slot,
    /// Part.
    pub role: Role,
}

impl UnitKey {
    /// Name of the pod: deterministic, so that a creation can be repeated after a crash.
    pub fn name(&self, snapshot: &Snapshot) -> String {
        let role = match self.role {
            Role::Dependency(index) => format!("d{index}"),
            Role::Target => "target".to_owned(),
            Role::Sampler => "sampler".to_owned(),
            Role::Generator => "load".to_owned(),
        };
        gaugeblock_crds::names::with_suffix(&snapshot.stem(), &format!("{}-{role}", self.slot.suffix()))
    }
}

/// A pod, or in local mode a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Which.
    pub key: UnitKey,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    pub uid: String,
    /// Whether it is held back by our scheduling gate.
    pub gated: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether Kubernetes said that it is being disrupted (eviction, node lost, preemption).
    pub disrupted: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// Where it stands.
    pub state: UnitState,
    /// Address at which it serves, once it has one.
    pub address: Option<String>,
    /// Port at which it serves, where it is not the one of the manifest (local mode).
    pub port: Option<u16>,
    /// Node it runs on.
    pub node: Option<String>,
    /// Restarts of its container.
    pub restarts: u32,
    /// Image as the runtime resolved it.
    pub image: Option<String>,
    /// How the sampler finds it.
    pub watch: Watch,
}

impl Unit {
    /// Whether its program has ended, for good or bad.
    pub const fn ended(&self) -> bool {
        matches!(self.state, UnitState::Succeeded | UnitState::Failed { .. })
    }
}

/// Where a unit stands, decided from container states rather than from `phase`, which lags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitState {
    /// Not running yet.
    Pending(Waiting),
    /// Running.
    Running {
        /// Whether it serves (dependencies) or is at work (others).
        ready: bool,
    },
    /// Ended with exit code 0.
    Succeeded,
    /// Ended otherwise.
    Failed {
        /// What happened.
        kind: FailureKind,
        /// Exit code, where there is one.
        exit_code: Option<i32>,
        /// In Kubernetes' or the kernel's words.
        message: String,
    },
}

/// What a unit waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The ordinary course of things.
    Starting,
    /// A node; with the scheduler's words.
    Node(String),
    /// Its image, after at least one failure, in the runtime's words.
    Image(String),
    /// Something that its spec names and that is not there.
    Config(String),
    /// Its command could not be started and is tried again.
    Start(String),
}

/// How a unit failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Killed for memory.
    OomKilled,
    /// Its program ended with another code than 0.
    Exited,
    /// Its program could not be started.
    StartError,
    /// The node refused it.
    AdmissionRefused,
    /// Its own deadline passed.
    DeadlineExceeded,
    /// Evicted or lost with its node.
    Lost,
}

/// What a plan needs of a stored trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialSummary {
    /// Place in the plan.
    pub slot: Slot,
    /// Place of the arm inside its block, from 0.
    pub position: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// Its values.
    pub metrics: Vec<MetricValue>,
    /// Hash of each of its scenarios: name → hash.
    pub scenario_hashes: BTreeMap<String, String>,
    /// Whether the target had its CPUs for itself; `None` where nothing could be read.
    pub exclusive: Option<bool>,
    /// The target's CPUs and, where they are shared, why.
    pub cpus: String,
    /// What limited each window: scenario, limit, evidence.
    pub limits: Vec<(String, gaugeblock_measurement::limit::Limit)>,
    /// Machine speed before and after.
    pub speed: Vec<SpeedProbe>,
    /// Image of the target as the runtime resolved it.
    pub image: Option<String>,
    /// When its first unit was created.
    pub started: UnixNanos,
    /// When its record was stored.
    pub ended: UnixNanos,
    /// What else should be known, one sentence each.
    pub notes: Vec<String>,
}
