//! Status of a run: small, for people first; raw data lives elsewhere.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Reason;

/// Most rows of results in the status; the result object has all of them.
pub const MOST_RESULTS: usize = 48;
/// Most findings in the status.
pub const MOST_FINDINGS: usize = 16;
/// Longest message in the status, in characters.
pub const LONGEST_MESSAGE: usize = 1024;

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkRunStatus {
    /// Generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where the run stands, for people; programs read the conditions.
    #[serde(default)]
    pub phase: Phase,
    /// Why it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The same in words, with the next step where something is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// Blocks measured of those planned, such as `7/12`; `7/≤12` while it may end earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub progress: Option<String>,
    /// What the run found. Separate from success: a run that finds a regression completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// One sentence that says what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub summary: Option<String>,
    /// Node of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub node: Option<String>,
    /// Place in the queue, from 1, while waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_position: Option<i32>,
    /// What is being done right now, such as `block 3, candidate: measuring json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub activity: Option<String>,
    /// How long the whole run takes, and what it can see, said before it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub expectation: Option<String>,
    /// When the first pod was created, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub started: Option<String>,
    /// When the run ended, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub finished: Option<String>,
    /// The arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub arms: Vec<ArmStatus>,
    /// Results: gates first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 48))]
    pub results: Vec<ResultRow>,
    /// What else should be known, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 512)))]
    pub findings: Vec<String>,
    /// Name of the ConfigMap that holds the whole result and report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub result_config_map: Option<String>,
    /// Name of the Secret that holds the end of the log of what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub log_secret: Option<String>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
}

/// Where a run stands, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Waiting for a node.
    Queued,
    /// The plan is being frozen and checked.
    Preparing,
    /// Trials are under way.
    Measuring,
    /// It has ended, and its pods are being removed.
    CleaningUp,
    /// It has ended.
    Finished,
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RunVerdict {
    /// A gate is worse.
    Regressed,
    /// A gate is better, none worse.
    Improved,
    /// All gates are the same within the smallest effect that matters.
    NoChange,
    /// Not decided.
    Inconclusive,
    /// What was measured cannot be compared.
    NotComparable,
    /// What was measured is not valid.
    Invalid,
}

impl RunVerdict {
    /// The same as a reason of `Finished`.
    pub const fn reason(self) -> Reason {
        match self {
            Self::Regressed => Reason::Regressed,
            Self::Improved => Reason::Improved,
            Self::NoChange => Reason::NoChange,
            Self::Inconclusive => Reason::Inconclusive,
            Self::NotComparable => Reason::NotComparable,
            Self::Invalid => Reason::Invalid,
        }
    }
}

/// One arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArmStatus {
    /// Name.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Image as the runtime resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Trials measured whole, block 0 not counted.
    #[serde(default)]
    pub trials: i32,
    /// Trials lost to causes outside the target.
    #[serde(default)]
    pub void_trials: i32,
}

/// One metric of one arm, in words and units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultRow {
    /// Arm that is judged.
    #[schemars(length(max = 40))]
    pub arm: String,
    /// Scenario, unless the metric is of the trial as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub scenario: Option<String>,
    /// Metric.
    #[schemars(length(max = 64))]
    pub metric: String,
    /// Whether it decides the run's verdict.
    #[serde(default)]
    pub gate: bool,
    /// Verdict; absent where nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Baseline's typical value with unit, such as `213 µs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub baseline: Option<String>,
    /// This arm's typical value with unit.
    #[schemars(length(max = 40))]
    pub value: String,
    /// Effect, such as `+20.1%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub effect: Option<String>,
    /// Its repeated confidence interval, such as `+18.7% … +21.5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 60))]
    pub interval: Option<String>,
    /// Smallest effect that these trials could have shown, such as `1.4%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub smallest_visible: Option<String>,
    /// Pairs of trials behind it.
    #[serde(default)]
    pub pairs: i32,
}
