//! Targets: the arms of a run.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{GoDuration, Quantity};

/// One arm: a system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("!has(self.env) || self.env.all(e, e.name != 'PORT')", "PORT is set by Gaugeblock from `port`"))]
pub struct Target {
    /// Name of the arm, unique in the run.
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Image. Name a digest (`…@sha256:…`) to be sure of what is measured. Not used in local mode.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// Entry point, instead of the image's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    pub command: Vec<String>,
    /// Arguments. `$(PORT)` and other variables are replaced, as Kubernetes does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub args: Vec<String>,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub env: Vec<EnvironmentVariable>,
    /// Port on which it serves HTTP. Handed to it as `PORT`.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// What a ready target answers.
    #[serde(default)]
    pub readiness: Readiness,
    /// CPU and memory, as requests and limits alike. A whole number of CPUs is needed to have them
    /// exclusively.
    #[serde(default)]
    pub resources: Resources,
    /// Everything else of the pod: a pod template (`metadata`, `spec`) that is completed with the
    /// fields above. Its container named `target`, if any, is completed, not replaced. The API
    /// server checks it by a dry run before anything is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub pod_template: Option<serde_json::Value>,
    /// How to build and start this arm on one machine without a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalTarget>,
    /// Facts that are shown beside the results and never judged, such as lines of code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::text::map_of::<16, 200>")]
    pub facts: BTreeMap<String, String>,
}

/// One environment variable: a value, or a reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "(has(self.value) ? 1 : 0) + (has(self.secretKeyRef) ? 1 : 0) + (has(self.configMapKeyRef) ? 1 : 0) == 1",
    "set exactly one of value, secretKeyRef and configMapKeyRef"
))]
pub struct EnvironmentVariable {
    /// Name.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"))]
    pub name: String,
    /// Plain value. Secrets belong into a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub value: Option<String>,
    /// Value from a key of a Secret of the run's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeyReference>,
    /// Value from a key of a ConfigMap of the run's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeyReference>,
}

/// A key of a Secret or ConfigMap in the run's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyReference {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key inside it.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// What a ready target answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// Path to `GET`.
    #[serde(default = "default_path")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^/"))]
    pub path: String,
    /// Expected status code.
    #[serde(default = "default_status")]
    #[schemars(range(min = 100, max = 599))]
    pub status: i32,
    /// Time allowed from the start of the process, and for pulling its image.
    #[serde(default = "default_readiness_time_out")]
    pub timeout: GoDuration,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { path: default_path(), status: default_status(), timeout: default_readiness_time_out() }
    }
}

/// CPU and memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// CPUs. A whole number gives exclusive ones under the kubelet's static CPU manager policy.
    #[serde(default = "default_cpu")]
    pub cpu: Quantity,
    /// Memory.
    #[serde(default = "default_memory")]
    pub memory: Quantity,
}

impl Default for Resources {
    fn default() -> Self {
        Self { cpu: default_cpu(), memory: default_memory() }
    }
}

/// How to build and start an arm without a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalTarget {
    /// Command that builds it, run once before the first trial; empty when there is nothing to
    /// build.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub build: Vec<String>,
    /// Command that starts it; the target's `args` are added.
    #[schemars(length(min = 1, max = 64), inner(length(max = 1024)))]
    pub command: Vec<String>,
    /// Folder for both commands, relative to the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub working_directory: Option<String>,
}

fn default_port() -> i32 {
    8080
}

fn default_path() -> String {
    "/".into()
}

fn default_status() -> i32 {
    200
}

fn default_readiness_time_out() -> GoDuration {
    "60s".into()
}

fn default_cpu() -> Quantity {
    "1".into()
}

fn default_memory() -> Quantity {
    "256Mi".into()
}

fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
