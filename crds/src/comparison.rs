//! What is compared, and how surely.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{Percent, Quantity};

/// What is compared with what, and how surely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The arm that the others are compared with; the first target when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40))]
    pub baseline: Option<String>,
    /// Chance that a run of identical arms flags anything, over all gates and looks together.
    #[serde(default = "default_error_rate")]
    pub error_rate: Percent,
    /// Which metrics gate, and the smallest effect that matters; the defaults stand for what is
    /// not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub metrics: Vec<MetricRule>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { baseline: None, error_rate: default_error_rate(), metrics: Vec::new() }
    }
}

/// How one metric is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricRule {
    /// Name of the metric, such as `cpu_per_request`.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub metric: String,
    /// Scenario it is limited to; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40))]
    pub scenario: Option<String>,
    /// Whether it decides the verdict; the metric's own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<bool>,
    /// Smallest relative effect that matters; the metric's own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_effect: Option<Percent>,
    /// Smallest absolute effect that matters, in the metric's unit; the larger of the two holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_effect_absolute: Option<Quantity>,
}

fn default_error_rate() -> Percent {
    "2%".into()
}
