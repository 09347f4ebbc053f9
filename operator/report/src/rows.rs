//! The tables of a report: one section per scenario and one for the trial as a whole, one row per
//! metric, one comparison per candidate.

use std::collections::BTreeMap;

use gaugeblock_crds::status::RunVerdict;
use gaugeblock_measurement::{Direction, MetricName, Unit};
use gaugeblock_planner::{Snapshot, TrialSummary, status::run_verdict};
use gaugeblock_verdict::{Interval, Judgement, Method, RunJudgement, Scale};
use serde::{Deserialize, Serialize};

use crate::{
    group::Group,
    values::{self, Spread, Subject},
};

/// All rows about one scenario, or about the trial as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// Scenario; `None` for the trial as a whole.
    pub scenario: Option<String>,
    /// Rows, in the order in which metrics are shown; named requests after all together.
    pub rows: Vec<Row>,
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Metric.
    pub metric: MetricName,
    /// Named request; `None` for all together.
    pub request: Option<String>,
    /// What it is about.
    pub group: Group,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Version of its definition.
    pub definition_version: u32,
    /// Values of each arm, in the order of the manifest; an arm without any is missing.
    pub values: Vec<ArmValues>,
    /// One per candidate that was judged.
    pub comparisons: Vec<Comparison>,
}

/// One arm's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArmValues {
    /// Arm.
    pub arm: String,
    /// The value to show: of a judged metric what the effect is a ratio of, else the median.
    pub shown: f64,
    /// All of them.
    pub spread: Spread,
}

/// What is said about one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Candidate.
    pub arm: String,
    /// Whether the run's verdict depends on it.
    pub gate: bool,
    /// The answer; none of a metric of which neither more nor less is better.
    pub verdict: Option<RunVerdict>,
    /// What effect, interval and smallest effects are measured in.
    pub scale: Scale,
    /// Best estimate of the change.
    pub effect: Option<f64>,
    /// Its repeated confidence interval.
    pub interval: Option<Interval>,
    /// Adjusted p-value.
    pub p: Option<f64>,
    /// Smallest change that matters.
    pub minimum_effect: f64,
    /// Smallest change that these pairs would have shown in four of five runs.
    pub smallest_visible_effect: Option<f64>,
    /// Pairs behind it.
    pub pairs: u32,
    /// After how many pairs the verdict was reached.
    pub crossed_at: Option<u32>,
    /// How the numbers were got.
    pub method: Method,
    /// Why, one sentence each: first the rule that gave the verdict.
    pub sentences: Vec<String>,
}

impl Row {
    /// The value to show of an arm.
    pub fn shown(&self, arm: &str) -> Option<f64> {
        self.values.iter().find(|values| values.arm == arm).map(|values| values.shown)
    }

    /// What is said about a candidate.
    pub fn comparison(&self, arm: &str) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.arm == arm)
    }

    /// Whether any candidate's verdict of it decides the run's.
    pub fn gates(&self) -> bool {
        self.comparisons.iter().any(|comparison| comparison.gate)
    }
}

/// The sections of a run, in the order of the manifest, the trial as a whole last.
pub fn sections(snapshot: &Snapshot, trials: &[TrialSummary], judgement: Option<&RunJudgement>) -> Vec<Section> {
    let arms: Vec<&str> = snapshot.spec.targets.iter().map(|target| target.name.as_str()).collect();
    let mut gathered = values::gather(trials);
    let judged = judgement.map_or(&[] as &[Judgement], |judgement| &judgement.judgements);
    for judgement in judged {
        // What was judged without a value left (all trials lost) is shown with its reason.
        if let Some(subject) = subject(judgement) {
            gathered.entry(subject).or_default();
        }
    }
    let scenarios = snapshot.spec.scenarios.iter().map(|scenario| Some(scenario.name.as_str()));
    scenarios
        .chain([None])
        .map(|scenario| Section {
            scenario: scenario.map(str::to_owned),
            rows: gathered
                .iter()
                .filter(|(subject, _)| subject.scenario.as_deref() == scenario)
                .map(|(subject, values)| row(subject, values, &arms, judged))
                .collect(),
        })
        .filter(|section| !section.rows.is_empty())
        .collect()
}

fn row(subject: &Subject, values: &BTreeMap<u32, Vec<f64>>, arms: &[&str], judged: &[Judgement]) -> Row {
    let judged: Vec<&Judgement> =
        judged.iter().filter(|judgement| self::subject(judgement).as_ref() == Some(subject)).collect();
    let values = arms
        .iter()
        .enumerate()
        .filter_map(|(index, arm)| {
            let spread = Spread::of(values.get(&(index as u32))?)?;
            let shown = centre(arm, &judged).unwrap_or(spread.median);
            Some(ArmValues { arm: (*arm).to_owned(), shown, spread })
        })
        .collect();
    let metric = subject.metric;
    Row {
        metric,
        request: subject.request.clone(),
        group: Group::of(metric),
        unit: metric.unit(),
        direction: metric.direction(),
        definition_version: metric.definition_version(),
        values,
        comparisons: judged.into_iter().map(|judgement| comparison(metric, judgement)).collect(),
    }
}

/// The middle that the effect is a ratio of. The baseline's is the same for all candidates when
/// their pairs are.
fn centre(arm: &str, judged: &[&Judgement]) -> Option<f64> {
    let own = judged.iter().find(|judgement| judgement.arm == arm);
    let summary = match own {
        Some(judgement) => judgement.candidate,
        None => judged.first()?.baseline,
    };
    summary.map(|summary| summary.centre()).filter(|value| value.is_finite())
}

fn subject(judgement: &Judgement) -> Option<Subject> {
    let metric: MetricName = judgement.metric.0.parse().ok()?;
    Some(Subject { scenario: judgement.scenario.clone(), metric, request: None })
}

fn comparison(metric: MetricName, judgement: &Judgement) -> Comparison {
    // Destructured, so that a new field of a judgement is shown or left out on purpose.
    let Judgement {
        arm,
        scenario: _,
        metric: _,
        unit: _,
        direction: _,
        gates,
        verdict,
        scale,
        effect,
        interval,
        p,
        pairs,
        minimum_effect,
        smallest_visible_effect,
        smallest_visible_effect_at_budget: _,
        crossed_at,
        baseline: _,
        candidate: _,
        method,
        findings,
    } = judgement;
    let finite = |value: &Option<f64>| value.filter(|value| value.is_finite());
    Comparison {
        arm: arm.clone(),
        gate: *gates,
        verdict: (metric.direction() != Direction::Neutral).then_some(run_verdict(*verdict)),
        scale: *scale,
        effect: finite(effect),
        interval: interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite()),
        p: finite(p),
        minimum_effect: *minimum_effect,
        smallest_visible_effect: finite(smallest_visible_effect),
        pairs: *pairs,
        crossed_at: *crossed_at,
        method: *method,
        sentences: findings.iter().map(|finding| finding.sentence.clone()).collect(),
    }
}
