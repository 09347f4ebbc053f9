//! `BenchmarkPool`: which dedicated nodes may be used, by whom and how.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::GoDuration;

/// Dedicated nodes for benchmarks. Written by the cluster's administrator.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "gaugeblock.dev",
    version = "v1alpha1",
    kind = "BenchmarkPool",
    shortname = "bpool",
    category = "gaugeblock",
    status = "BenchmarkPoolStatus",
    printcolumn(
        name = "Nodes",
        type_ = "integer",
        json_path = ".status.nodes",
        description = "Nodes that match and are ready"
    ),
    printcolumn(
        name = "Claimed",
        type_ = "integer",
        json_path = ".status.claimed",
        description = "Nodes that a run holds"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkPoolSpec {
    /// Labels of the nodes on which targets and their dependencies run.
    #[schemars(schema_with = "crate::text::map_of::<16, 63>", extend("minProperties" = 1))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of those nodes that measured pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tolerations: Vec<Toleration>,
    /// Namespaces whose runs may use the pool; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    pub namespaces: Vec<String>,
    /// Where the load generator runs. When absent, on the target's node, on CPUs of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorNodes>,
    /// What a run gets that does not ask for more.
    #[serde(default)]
    pub isolation: Isolation,
    /// How long a pod may wait for a node, a scale-up included.
    #[serde(default = "default_provisioning_time_out")]
    pub provisioning_timeout: GoDuration,
    /// What the sampler may do.
    #[serde(default)]
    pub sampler: SamplerPrivilege,
}

/// Nodes of the load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorNodes {
    /// Labels of the nodes.
    #[schemars(schema_with = "crate::text::map_of::<16, 63>", extend("minProperties" = 1))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that the generator tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tolerations: Vec<Toleration>,
}

/// A taint that pods of the pool tolerate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Value of the taint; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// Effect of the taint; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// Effects of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// `NoSchedule`.
    NoSchedule,
    /// `PreferNoSchedule`.
    PreferNoSchedule,
    /// `NoExecute`.
    NoExecute,
}

impl TaintEffect {
    /// As in Kubernetes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// What becomes of a run whose target does not have its CPUs for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Isolation {
    /// The run fails before anything is measured.
    #[default]
    Required,
    /// The run goes on, and the condition `CPUPinned` and the evidence say so.
    Preferred,
}

/// What the sampler may do on the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SamplerPrivilege {
    /// Read the cgroup tree and `/proc`, as a user without any rights.
    #[default]
    Minimal,
}

/// State of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkPoolStatus {
    /// Generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Nodes that match the selector and are ready.
    #[serde(default)]
    pub nodes: i32,
    /// Nodes that a run holds.
    #[serde(default)]
    pub claimed: i32,
    /// Runs that wait.
    #[serde(default)]
    pub queued: i32,
    /// `Ready`, `Reconciling` and `Stalled`, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
}

fn default_provisioning_time_out() -> GoDuration {
    "10m".into()
}
