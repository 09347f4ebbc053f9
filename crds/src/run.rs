//! `BenchmarkRun`: one study, run once.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    comparison::Comparison,
    dependency::Dependency,
    pool::Isolation,
    scenario::Scenario,
    status::BenchmarkRunStatus,
    target::{Resources, Target},
    text::GoDuration,
};

/// One study, run once. Everything but `suspend`, `cancel`, `priority` and
/// `ttlSecondsAfterFinished` is immutable.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "gaugeblock.dev",
    version = "v1alpha1",
    kind = "BenchmarkRun",
    namespaced,
    shortname = "brun",
    category = "gaugeblock",
    status = "BenchmarkRunStatus",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Progress",
        type_ = "string",
        json_path = ".status.progress",
        description = "Blocks measured of those planned"
    ),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool", priority = 1),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node", priority = 1),
    printcolumn(name = "Activity", type_ = "string", json_path = ".status.activity", priority = 1),
    selectable = ".status.phase",
    selectable = ".status.verdict"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = (
        "self.purpose == oldSelf.purpose && self.pool == oldSelf.pool && self.targets == oldSelf.targets \
         && has(self.dependencies) == has(oldSelf.dependencies) && (!has(self.dependencies) || self.dependencies == oldSelf.dependencies) \
         && self.scenarios == oldSelf.scenarios && self.repetitions == oldSelf.repetitions && self.comparison == oldSelf.comparison \
         && has(self.isolation) == has(oldSelf.isolation) && (!has(self.isolation) || self.isolation == oldSelf.isolation) \
         && self.generator == oldSelf.generator && self.deadline == oldSelf.deadline",
        "a BenchmarkRun is immutable, but for suspend, cancel, priority and ttlSecondsAfterFinished: delete it, or create another one under a new name"
    ),
    validation = (
        "self.targets.all(t, self.targets.exists_one(o, o.name == t.name))",
        "target names must be unique"
    ),
    validation = (
        "self.scenarios.all(s, self.scenarios.exists_one(o, o.name == s.name))",
        "scenario names must be unique"
    ),
    validation = (
        "!has(self.dependencies) || self.dependencies.all(d, self.dependencies.exists_one(o, o.name == d.name))",
        "dependency names must be unique"
    ),
    validation = (
        "!has(self.comparison.baseline) || self.targets.exists(t, t.name == self.comparison.baseline)",
        "comparison.baseline must name one of the targets"
    ),
    validation = (
        "!has(self.comparison.metrics) || self.comparison.metrics.all(m, !has(m.scenario) || self.scenarios.exists(s, s.name == m.scenario))",
        "comparison.metrics[].scenario must name one of the scenarios"
    ),
    validation = (
        "!oldSelf.cancel || self.cancel",
        "a cancelled run cannot be taken up again: create another one under a new name"
    ),
)]
pub struct BenchmarkRunSpec {
    /// What the run is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// Pool of nodes to use. Not used in local mode.
    #[serde(default = "default_pool")]
    #[schemars(length(min = 1, max = 253))]
    pub pool: String,
    /// The arms.
    #[schemars(length(min = 1, max = 16))]
    pub targets: Vec<Target>,
    /// What every arm needs beside it, made fresh for each trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub dependencies: Vec<Dependency>,
    /// What is asked of every arm.
    #[schemars(length(min = 1, max = 32))]
    pub scenarios: Vec<Scenario>,
    /// How often.
    #[serde(default)]
    pub repetitions: Repetitions,
    /// What becomes of the run when the target does not have its CPUs for itself; the pool's
    /// setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What is compared, and how surely.
    #[serde(default)]
    pub comparison: Comparison,
    /// The load generator.
    #[serde(default)]
    pub generator: Generator,
    /// Time allowed for the whole run from its first pod on. What was measured until then is
    /// kept and reported.
    #[serde(default = "default_deadline")]
    pub deadline: GoDuration,
    /// Start nothing new while true.
    #[serde(default)]
    pub suspend: bool,
    /// End the run and keep its results.
    #[serde(default)]
    pub cancel: bool,
    /// Runs of a higher priority go first.
    #[serde(default)]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: i32,
    /// Delete the run this long after it has ended; keep it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 315_360_000))]
    pub ttl_seconds_after_finished: Option<i64>,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Purpose {
    /// Candidates against a baseline: verdicts.
    #[default]
    Gate,
    /// Arms against each other: a table, no verdict.
    Study,
}

/// How often everything is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repetitions {
    /// Blocks of trials at most; each holds one trial of each arm, in random order. One more
    /// before them is thrown away (cold caches).
    #[serde(default = "default_blocks")]
    #[schemars(range(min = 1, max = 100))]
    pub blocks: i32,
    /// Whether to stop as soon as every gate is decided, at the looks after 4, 6, 8, 12, 16 and 20
    /// blocks.
    #[serde(default = "default_true")]
    pub stop_early: bool,
    /// Void blocks that are measured anew, at most.
    #[serde(default = "default_repeats")]
    #[schemars(range(min = 0, max = 100))]
    pub void_blocks: i32,
    /// Seed of order, mix and arrivals; made from the run's UID when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub seed: Option<i64>,
    /// Quiet time before the first and after the last scenario of a trial.
    #[serde(default = "default_idle")]
    pub idle: GoDuration,
}

impl Default for Repetitions {
    fn default() -> Self {
        Self {
            blocks: default_blocks(),
            stop_early: true,
            void_blocks: default_repeats(),
            seed: None,
            idle: default_idle(),
        }
    }
}

/// The load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Generator {
    /// CPU and memory. With whole CPUs of its own it paces by spinning.
    #[serde(default)]
    pub resources: Resources,
}

impl Default for Generator {
    fn default() -> Self {
        Self { resources: Resources { cpu: "1".into(), memory: "128Mi".into() } }
    }
}

fn default_pool() -> String {
    "default".into()
}

fn default_blocks() -> i32 {
    20
}

fn default_true() -> bool {
    true
}

fn default_repeats() -> i32 {
    5
}

fn default_idle() -> GoDuration {
    "2s".into()
}

fn default_deadline() -> GoDuration {
    "6h".into()
}
