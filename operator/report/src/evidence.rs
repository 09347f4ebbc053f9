//! What shows that the numbers can be believed: where things ran, what limited each window, what
//! was void.

use std::collections::{BTreeMap, BTreeSet};

use gaugeblock_measurement::{Outcome, TrialRecord, fingerprint::Fingerprint, limit::LimitedBy};
use gaugeblock_planner::{Snapshot, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::{values, words};

/// The evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Whether the target had its CPUs for itself: trials that prove it, trials that disprove it,
    /// trials that cannot tell.
    pub exclusive: Exclusive,
    /// CPUs of the target, each once.
    pub target_cpus: Vec<String>,
    /// What shared CPUs, in words, each once.
    pub shared_cpus: Vec<String>,
    /// What limited the windows of each scenario and arm.
    pub limits: Vec<WindowLimit>,
    /// Slowest over fastest machine speed over all trials; 1 is a steady machine.
    pub speed_ratio: Option<f64>,
    /// The machine; of the first record that has one.
    pub machine: Option<Fingerprint>,
    /// What else the trials say, each once, with how often.
    pub notes: Vec<(String, u32)>,
}

/// How many trials say what about the target's CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusive {
    /// Had them for itself.
    pub yes: u32,
    /// Shared them.
    pub no: u32,
    /// Nothing could be read.
    pub unknown: u32,
}

/// What limited one arm's windows of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowLimit {
    /// Scenario.
    pub scenario: String,
    /// Arm.
    pub arm: String,
    /// What limited how many windows.
    pub by: Vec<(LimitedBy, u32)>,
    /// The evidence of the last window.
    pub evidence: Vec<String>,
}

impl Evidence {
    /// From the trials of a run.
    pub fn of(snapshot: &Snapshot, trials: &[TrialSummary], records: &[TrialRecord]) -> Self {
        let clean = values::clean(trials);
        let counted: Vec<&TrialSummary> = trials.iter().filter(|trial| clean.contains(&trial.slot)).collect();
        let mut exclusive = Exclusive::default();
        for trial in &counted {
            match trial.exclusive {
                Some(true) => exclusive.yes += 1,
                Some(false) => exclusive.no += 1,
                None => exclusive.unknown += 1,
            }
        }
        let sampler = |record: &TrialRecord| record.sampler.as_ref().map(|sampler| sampler.fingerprint.clone());
        Self {
            exclusive,
            target_cpus: once(counted.iter().map(|trial| trial.cpus.clone())),
            shared_cpus: once(records.iter().flat_map(|record| record.placement.shared_cpus.iter().cloned())),
            limits: limits(snapshot, &counted),
            speed_ratio: speed_ratio(&counted),
            machine: records.iter().find_map(sampler),
            notes: counts(trials.iter().flat_map(|trial| trial.notes.iter().cloned())),
        }
    }
}

/// Trials that did not count, in words: what, and how often.
pub fn lost(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<(String, u32)> {
    counts(trials.iter().filter(|trial| trial.outcome != Outcome::Complete).map(|trial| {
        let arm = snapshot.spec.targets.get(trial.slot.arm as usize);
        let arm = arm.map_or("", |target| target.name.as_str());
        format!("{arm}: {}", words::outcome(&trial.outcome))
    }))
}

fn limits(snapshot: &Snapshot, trials: &[&TrialSummary]) -> Vec<WindowLimit> {
    let mut limits = Vec::new();
    for scenario in &snapshot.spec.scenarios {
        for (index, target) in snapshot.spec.targets.iter().enumerate() {
            let windows: Vec<_> = trials
                .iter()
                .filter(|trial| trial.slot.arm as usize == index)
                .flat_map(|trial| &trial.limits)
                .filter(|(name, _)| *name == scenario.name)
                .map(|(_, limit)| limit)
                .collect();
            let Some(last) = windows.last() else { continue };
            let mut by: BTreeMap<LimitedBy, u32> = BTreeMap::new();
            for window in &windows {
                *by.entry(window.by).or_default() += 1;
            }
            limits.push(WindowLimit {
                scenario: scenario.name.clone(),
                arm: target.name.clone(),
                by: by.into_iter().collect(),
                evidence: last.evidence.clone(),
            });
        }
    }
    limits
}

fn speed_ratio(trials: &[&TrialSummary]) -> Option<f64> {
    let nanos = trials.iter().flat_map(|trial| &trial.speed).map(|probe| probe.nanos);
    let (fastest, slowest) = (nanos.clone().min()?, nanos.max()?);
    (fastest > 0).then(|| slowest as f64 / fastest as f64)
}

fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.filter(|text| !text.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn counts(texts: impl Iterator<Item = String>) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts.into_iter().collect()
}
