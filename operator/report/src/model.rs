//! The report: everything that is shown of a run, before it has a format.

use std::collections::BTreeMap;

use gaugeblock_crds::{BenchmarkRunStatus, condition::Reason, run::Purpose, status::RunVerdict};
use gaugeblock_measurement::TrialRecord;
use gaugeblock_planner::{Snapshot, TrialSummary};
use gaugeblock_verdict::RunJudgement;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::{self, Evidence},
    rows::{self, Section},
    words,
};

/// Version of the report's shape, for those who read it by program.
pub const REPORT_VERSION: u32 = 1;

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The frozen plan.
    pub snapshot: &'a Snapshot,
    /// The last status.
    pub status: &'a BenchmarkRunStatus,
    /// What was judged; `None` before the first look, or when nothing was measured.
    pub judgement: Option<&'a RunJudgement>,
    /// All stored trials, void ones among them.
    pub trials: &'a [TrialSummary],
    /// Their records, as far as they are at hand: they add the machine and what shared CPUs.
    pub records: &'a [TrialRecord],
}

/// A run and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub report_version: u32,
    /// Who made it: name and version.
    pub program: String,
    /// Namespace; `local` in local mode.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
    /// UID of the run.
    pub uid: String,
    /// What the run is for.
    pub purpose: Purpose,
    /// Seed of order, mix and arrivals, as text: it may exceed what JSON readers keep exact.
    pub seed: String,
    /// What the run found.
    pub verdict: Option<RunVerdict>,
    /// Why it ended as it did.
    pub reason: Option<Reason>,
    /// What was found, in one sentence.
    pub summary: Option<String>,
    /// The same about the run's course, with the next step where something is wrong.
    pub message: Option<String>,
    /// What was said before it started: how long, and what it can see.
    pub expectation: Option<String>,
    /// First unit created, RFC 3339.
    pub started: Option<String>,
    /// Ended, RFC 3339.
    pub finished: Option<String>,
    /// Arms, in the order of the manifest.
    pub arms: Vec<Arm>,
    /// Scenarios, in the order of the manifest.
    pub scenarios: Vec<ScenarioView>,
    /// Dependencies, in words.
    pub dependencies: Vec<String>,
    /// Tables.
    pub sections: Vec<Section>,
    /// What concerns the run as a whole, one sentence each.
    pub findings: Vec<String>,
    /// Trials that did not count: what, and how often.
    pub lost: Vec<(String, u32)>,
    /// What shows that the numbers can be believed.
    pub evidence: Evidence,
    /// Every trial with its values.
    pub trials: Vec<TrialView>,
    /// The whole judgement: what the tables are taken from.
    pub judgement: Option<RunJudgement>,
    /// The status document.
    pub status: BenchmarkRunStatus,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    /// Name.
    pub name: String,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Image of the manifest.
    pub image: String,
    /// What really ran, as the runtime resolved it.
    pub resolved: Option<String>,
    /// Trials measured whole, block 0 not counted.
    pub trials: i32,
    /// Trials lost to causes outside the target.
    pub void_trials: i32,
    /// Declared facts: shown, never judged.
    pub facts: BTreeMap<String, String>,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioView {
    /// Name.
    pub name: String,
    /// Its workload in words.
    pub load: String,
    /// Names of its requests, with method and path.
    pub requests: Vec<String>,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialView {
    /// Arm.
    pub arm: String,
    /// Whether its values count.
    pub counts: bool,
    /// What became of it, in words.
    pub outcome: String,
    /// Length (s).
    pub seconds: f64,
    /// All the rest.
    pub summary: TrialSummary,
}

impl Report {
    /// The report of a run.
    pub fn of(input: Input<'_>) -> Self {
        let Input { snapshot, status, judgement, trials, records } = input;
        let spec = &snapshot.spec;
        let findings = findings(status, judgement);
        Self {
            report_version: REPORT_VERSION,
            program: concat!("gaugeblock ", env!("CARGO_PKG_VERSION")).to_owned(),
            namespace: snapshot.namespace.clone(),
            name: snapshot.name.clone(),
            uid: snapshot.uid.clone(),
            purpose: spec.purpose,
            seed: snapshot.seed.to_string(),
            verdict: status.verdict,
            reason: status.reason,
            summary: status.summary.clone(),
            message: status.message.clone(),
            expectation: status.expectation.clone(),
            started: status.started.clone(),
            finished: status.finished.clone(),
            arms: arms(snapshot, status),
            scenarios: spec.scenarios.iter().map(scenario).collect(),
            dependencies: spec.dependencies.iter().map(words::dependency).collect(),
            sections: rows::sections(snapshot, trials, judgement),
            findings,
            lost: evidence::lost(snapshot, trials),
            evidence: Evidence::of(snapshot, trials, records),
            trials: trial_views(snapshot, trials),
            judgement: judgement.cloned(),
            status: status.clone(),
        }
    }

    /// The arm that the others are compared with.
    pub fn baseline(&self) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.baseline)
    }

    /// The arms that are compared with it.
    pub fn candidates(&self) -> impl Iterator<Item = &Arm> {
        self.arms.iter().filter(|arm| !arm.baseline)
    }

    /// What was found, then what is said about the run's course where it says something else.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        let message = self.message.as_ref().filter(|message| Some(*message) != self.summary.as_ref());
        self.summary.iter().chain(message).map(String::as_str)
    }

    /// The scenario of this name.
    pub fn scenario(&self, name: &str) -> Option<&ScenarioView> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

/// What concerns the run as a whole: what was said of a single metric stands beside it.
fn findings(status: &BenchmarkRunStatus, judgement: Option<&RunJudgement>) -> Vec<String> {
    let of_run = judgement.into_iter().flat_map(|judgement| &judgement.findings);
    let mut findings: Vec<String> = of_run.map(|finding| finding.sentence.clone()).collect();
    let of_metrics = judgement.into_iter().flat_map(|judgement| &judgement.judgements);
    let said: Vec<&str> =
        of_metrics.flat_map(|judgement| judgement.findings.iter().map(|finding| finding.sentence.as_str())).collect();
    for finding in &status.findings {
        // The status shortens what is long.
        let is_said = said.iter().any(|sentence| sentence.starts_with(finding.as_str()));
        if !is_said && !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    findings
}

fn arms(snapshot: &Snapshot, status: &BenchmarkRunStatus) -> Vec<Arm> {
    let baseline = snapshot.baseline();
    let named = |name: &str| status.arms.iter().find(|arm| arm.name == name);
    snapshot
        .spec
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let seen = named(&target.name);
            Arm {
                name: target.name.clone(),
                baseline: index == baseline,
                image: target.image.clone(),
                resolved: seen.and_then(|arm| arm.image.clone()),
                trials: seen.map_or(0, |arm| arm.trials),
                void_trials: seen.map_or(0, |arm| arm.void_trials),
                facts: target.facts.clone(),
            }
        })
        .collect()
}

fn scenario(scenario: &gaugeblock_crds::scenario::Scenario) -> ScenarioView {
    let requests = scenario.http.iter().flat_map(|http| &http.requests);
    ScenarioView {
        name: scenario.name.clone(),
        load: words::scenario(scenario),
        requests: requests
            .map(|request| format!("{}: {} {}", request.name, request.method.name(), request.path))
            .collect(),
    }
}

fn trial_views(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<TrialView> {
    let clean = crate::values::clean(trials);
    let mut views: Vec<TrialView> = trials
        .iter()
        .map(|trial| TrialView {
            arm: trial.slot.trial_id(snapshot).arm,
            counts: clean.contains(&trial.slot),
            outcome: words::outcome(&trial.outcome),
            seconds: trial.ended.seconds_since(trial.started),
            summary: trial.clone(),
        })
        .collect();
    views.sort_by_key(|view| (view.summary.started, view.summary.slot));
    views
}
