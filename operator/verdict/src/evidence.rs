//! What a verdict is made from: one metric of one candidate against the baseline, pair by pair.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a metric, as the API spells it: `cpu_per_request`, `memory_anonymous`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricName(pub String);

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for MetricName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Latency, CPU, memory, start-up, errors.
    LowerIsBetter,
    /// Throughput.
    HigherIsBetter,
}

impl Direction {
    /// +1 where a rise is worse, −1 where a fall is.
    pub(crate) fn worse(self) -> f64 {
        match self {
            Self::LowerIsBetter => 1.0,
            Self::HigherIsBetter => -1.0,
        }
    }
}

/// How the two values of a pair become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// By the logarithm of candidate ÷ baseline; where a value is zero or negative, by difference.
    Ratio,
    /// By candidate − baseline, in the metric's unit.
    Difference,
    /// A share or count of failures, by difference (zero in the baseline is the normal case).
    /// When it regresses, improvements of the same scenario are not believed.
    Errors,
    /// A quantity without noise (bytes of an artifact): compared, not tested. One pair is enough.
    Exact,
}

/// δ, the smallest change that matters. The larger of the two parts holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MinimumEffect {
    /// As a share of the baseline: 0.03 is three per cent. It holds on the log scale, so that
    /// δ = 3 % reaches from ÷ 1.03 to × 1.03.
    pub relative: f64,
    /// In the metric's unit: bytes, seconds, or a share of requests for errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
}

impl MinimumEffect {
    /// A share of the baseline alone.
    pub fn relative(relative: f64) -> Self {
        Self { relative, absolute: None }
    }

    /// An amount in the metric's unit alone.
    pub fn absolute(absolute: f64) -> Self {
        Self { relative: 0.0, absolute: Some(absolute) }
    }
}

/// The two trials of one clean block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Which block they come from.
    pub block: u32,
    /// The baseline's value, in the metric's unit.
    pub baseline: f64,
    /// The candidate's value, in the metric's unit.
    pub candidate: f64,
}

/// What the history of the same metric and fingerprint says about its noise (opt-in).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prior {
    /// Variance of the log ratio of a pair.
    pub variance: f64,
    /// How many degrees of freedom that variance is worth; at most eight.
    pub degrees_of_freedom: f64,
}

/// One metric of one candidate in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricEvidence {
    /// The candidate's name.
    pub arm: String,
    /// The scenario; none for what belongs to the whole trial (start-up, artifact).
    pub scenario: Option<String>,
    /// The metric.
    pub metric: MetricName,
    /// Its unit: `s`, `B`, `1/s`, `1` (a share), or any other word.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// How its pairs are compared.
    pub comparison: Comparison,
    /// Whether the run's verdict depends on it.
    pub gates: bool,
    /// Why it may not gate although it was asked to ("only 80 requests beyond p99 per trial").
    pub gate_refused: Option<String>,
    /// δ.
    pub minimum_effect: MinimumEffect,
    /// Clean blocks only, in the order in which they ran.
    pub pairs: Vec<Pair>,
    /// Noise of the past, where the user opted in.
    pub prior: Option<Prior>,
    /// Why no number of this metric may be believed ("GeneratorSaturated: …").
    pub invalid: Option<String>,
    /// Named differences of identity between the arms' machines or definitions.
    #[serde(default)]
    pub not_comparable: Vec<String>,
}

impl MetricEvidence {
    /// A gating, lower-is-better ratio with nothing special about it; change fields as needed.
    pub fn new(arm: &str, metric: &str, unit: &str, minimum_effect: MinimumEffect) -> Self {
        Self {
            arm: arm.to_owned(),
            scenario: None,
            metric: metric.into(),
            unit: unit.to_owned(),
            direction: Direction::LowerIsBetter,
            comparison: Comparison::Ratio,
            gates: true,
            gate_refused: None,
            minimum_effect,
            pairs: Vec::new(),
            prior: None,
            invalid: None,
            not_comparable: Vec::new(),
        }
    }

    /// Whether it gates in the end: asked to, and not refused.
    pub fn is_gate(&self) -> bool {
        self.gates && self.gate_refused.is_none()
    }
}
