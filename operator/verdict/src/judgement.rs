//! What a verdict says, ready for a status or a report.

use crate::evidence::{Direction, MetricName};
pub use crate::rule_name::Rule;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answer, for one metric or a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// Worse, by at least δ, beyond the noise.
    Regressed,
    /// Better, by at least δ, beyond the noise.
    Improved,
    /// Shown to differ by less than δ.
    NoChange,
    /// Neither could be shown.
    Inconclusive,
    /// Not of the same kind: another machine, another definition.
    NotComparable,
    /// The numbers themselves cannot be believed.
    Invalid,
}

impl Verdict {
    /// Its name, as the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regressed => "Regressed",
            Self::Improved => "Improved",
            Self::NoChange => "NoChange",
            Self::Inconclusive => "Inconclusive",
            Self::NotComparable => "NotComparable",
            Self::Invalid => "Invalid",
        }
    }

    /// Whether further blocks cannot change it.
    pub fn is_final(self) -> bool {
        self != Self::Inconclusive
    }

    /// Which of the two decides about a whole. A proven regression stands whatever else is in
    /// doubt; what is in doubt outweighs good news.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if self.weight() >= other.weight() { self } else { other }
    }

    fn weight(self) -> u8 {
        match self {
            Self::Regressed => 5,
            Self::Invalid => 4,
            Self::NotComparable => 3,
            Self::Inconclusive => 2,
            Self::Improved => 1,
            Self::NoChange => 0,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an effect is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Candidate ÷ baseline − 1.
    Relative,
    /// Candidate − baseline, in the metric's unit.
    Absolute,
}

/// A repeated confidence interval, on the scale of the effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Nominal level of this look, as 0.998: wider than the level that holds over all looks.
    pub level: f64,
}

/// How the numbers were got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// Student's t on log ratios of pairs.
    PairedT,
    /// The same, with the variance moderated by a history.
    ModeratedT,
    /// Student's t on differences of pairs.
    DifferenceT,
    /// Exact Hodges–Lehmann interval between the arms, on logs (outliers, pairs hardly related).
    HodgesLehmann,
    /// Exact Walsh-average interval within pairs, on logs (outliers, pairs related).
    SignedRank,
    /// No noise: compared, not tested.
    Exact,
}

/// One arm's values of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArmSummary {
    /// Trials.
    pub n: u32,
    /// Arithmetic mean, in the metric's unit.
    pub mean: f64,
    /// Geometric mean, where every value is positive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub geometric_mean: Option<f64>,
    /// Median.
    pub median: f64,
    /// Standard deviation over trials (n − 1); zero for a single one.
    pub standard_deviation: f64,
    /// Standard deviation ÷ mean, where the mean is not zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coefficient_of_variation: Option<f64>,
}

impl ArmSummary {
    /// The middle to show: geometric where it exists, as the effect is a ratio of these.
    pub fn centre(&self) -> f64 {
        self.geometric_mean.unwrap_or(self.mean)
    }
}

/// One rule's word on the matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Who says so.
    pub rule: Rule,
    /// One sentence, with numbers and units.
    pub sentence: String,
}

/// The verdict on one metric of one candidate, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The candidate.
    pub arm: String,
    /// The scenario, if the metric belongs to one.
    pub scenario: Option<String>,
    /// The metric.
    pub metric: MetricName,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Whether the run's verdict depends on it.
    pub gates: bool,
    /// The answer.
    pub verdict: Verdict,
    /// Relative or absolute: what effect, interval and δ are measured in.
    pub scale: Scale,
    /// Best estimate of the change, at the last look; none when nothing can be said.
    pub effect: Option<f64>,
    /// Its repeated confidence interval; none where too few pairs allow none.
    pub interval: Option<Interval>,
    /// p-value. Of a gate: adjusted for gates and looks, so that it crosses at the run's error
    /// rate. Of others: adjusted after Benjamini and Hochberg over all others.
    pub p: Option<f64>,
    /// Pairs behind these numbers (the last look; all, when the run has ended).
    pub pairs: u32,
    /// δ, on the scale of the effect.
    pub minimum_effect: f64,
    /// The smallest change that so many pairs would have shown in four of five runs.
    pub smallest_visible_effect: Option<f64>,
    /// The same at the whole budget.
    pub smallest_visible_effect_at_budget: Option<f64>,
    /// After how many pairs the verdict was reached; it stands from there on.
    pub crossed_at: Option<u32>,
    /// The baseline's values.
    pub baseline: Option<ArmSummary>,
    /// The candidate's values.
    pub candidate: Option<ArmSummary>,
    /// How the numbers were got.
    pub method: Method,
    /// Why: first the rule that gave the verdict, then what else is worth knowing.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// The sentence of the rule that gave the verdict.
    pub fn reason(&self) -> &str {
        self.findings.first().map_or("", |finding| &finding.sentence)
    }
}

/// The verdict on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunJudgement {
    /// The worst of its gates.
    pub verdict: Verdict,
    /// Every gate has its answer: no further block is needed.
    pub decided: bool,
    /// After how many clean blocks to judge again; none when decided or the budget is used.
    pub next_look: Option<u32>,
    /// How many gates share the error rate.
    pub gates: u32,
    /// One per piece of evidence, in its order.
    pub judgements: Vec<Judgement>,
    /// What concerns the whole run.
    pub findings: Vec<Finding>,
}

impl RunJudgement {
    /// Why, in one sentence: that of the first gate with the run's verdict.
    pub fn reason(&self) -> &str {
        let gates = self.judgements.iter().filter(|judgement| judgement.gates);
        let first = gates.map(|gate| (gate.verdict, gate.reason()));
        let of_run = self.findings.first().map_or("", |finding| &finding.sentence);
        first.into_iter().find(|(verdict, _)| *verdict == self.verdict).map_or(of_run, |(_, why)| why)
    }
}
