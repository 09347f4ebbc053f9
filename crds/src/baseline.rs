//! `Baseline`: an immutable accepted reference.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::Target;

/// An accepted reference: the whole arm, so that it can be run again, and per session the mean,
/// variance and number of every metric. Immutable: promotion makes a new one.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "gaugeblock.dev",
    version = "v1alpha1",
    kind = "Baseline",
    namespaced,
    shortname = "bl",
    category = "gaugeblock",
    printcolumn(name = "Arm", type_ = "string", json_path = ".spec.target.name"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.target.image", priority = 1),
    printcolumn(name = "Run", type_ = "string", json_path = ".spec.promotedFrom"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = ("self.spec == oldSelf.spec", "a Baseline is immutable: promote a run to make a new one")
)]
#[serde(rename_all = "camelCase")]
pub struct BaselineSpec {
    /// The arm as it was measured.
    pub target: Target,
    /// `namespace/name` of the run that it was promoted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub promoted_from: Option<String>,
    /// Image as the runtime resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub image_digest: Option<String>,
    /// Hash of each scenario it was measured under: name → hash.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::text::map_of::<32, 128>")]
    pub scenario_hashes: BTreeMap<String, String>,
    /// What was measured, one entry per run on one claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub sessions: Vec<Session>,
}

/// What one run on one claim measured of the arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// UID of the run.
    #[schemars(length(max = 64))]
    pub run_uid: String,
    /// When it ended, RFC 3339.
    #[schemars(length(max = 40))]
    pub finished: String,
    /// What the machine is and cannot change: key → value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::text::map_of::<64, 256>")]
    pub identity: BTreeMap<String, String>,
    /// What may change under it: key → value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::text::map_of::<64, 256>")]
    pub environment: BTreeMap<String, String>,
    /// Every metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 400))]
    pub metrics: Vec<SessionMetric>,
}

/// One metric of one session. Numbers are decimal text, as the API has no floats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMetric {
    /// Name of the metric.
    #[schemars(length(max = 64))]
    pub metric: String,
    /// Version of its definition.
    #[schemars(range(min = 1, max = 1000))]
    pub definition_version: i32,
    /// Scenario, unless it is of the trial as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40))]
    pub scenario: Option<String>,
    /// Mean over the trials, in the metric's unit.
    #[schemars(length(max = 32), regex(pattern = r"^-?[0-9.]+(e-?[0-9]+)?$"))]
    pub mean: String,
    /// Variance over the trials.
    #[schemars(length(max = 32), regex(pattern = r"^-?[0-9.]+(e-?[0-9]+)?$"))]
    pub variance: String,
    /// Number of trials.
    #[schemars(range(min = 1, max = 10000))]
    pub trials: i32,
}
