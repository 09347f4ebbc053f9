//! Writes the result of a run, with its reports: the one place that knows which documents there
//! are.

use std::collections::BTreeMap;

use gaugeblock_crds::{BenchmarkRunStatus, names};
use gaugeblock_measurement::{TrialRecord, frame};
use gaugeblock_planner::{Snapshot, TrialSummary, compare};
use gaugeblock_report as report;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::{ExecuteError, Executor, Flow, Subject, Written, object::config_map};
use crate::{call::call, identity::RunRef, observe::key};

/// Most bytes of all documents: an object may have 1 MiB, keys and metadata included.
const LARGEST: usize = 900 << 10;
/// Raw records that are looked at again for what the report says of the machine.
const RECORDS: usize = 8;

impl Executor {
    pub(super) async fn write_result(
        &self,
        subject: Subject<'_>,
        snapshot: &Snapshot,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let trials = subject.observed.map_or(&[][..], |observed| &observed.trials);
        let status = subject.status.cloned().unwrap_or_default();
        let records = self.records(subject.run, snapshot, trials).await?;
        let documents = documents(snapshot, &status, trials, &records)
            .map_err(|source| ExecuteError::Text { what: "the result", source })?;
        let map = config_map(snapshot, &snapshot.result_name(), names::ROLE_RESULT, fitting(documents));
        self.create_config_map(subject.run, &map, written).await?;
        Ok(Flow::Continue)
    }

    /// The latest whole trials: the caches keep no raw records.
    async fn records(
        &self,
        run: &RunRef,
        snapshot: &Snapshot,
        trials: &[TrialSummary],
    ) -> Result<Vec<TrialRecord>, ExecuteError> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &run.namespace);
        let mut records = Vec::new();
        let whole = trials.iter().filter(|trial| trial.outcome == gaugeblock_measurement::Outcome::Complete);
        for trial in whole.rev().take(RECORDS) {
            let name = names::with_suffix(&snapshot.stem(), &trial.slot.suffix());
            let map = call(maps.get_opt(&name)).await;
            let map = map.map_err(ExecuteError::call("read", format!("ConfigMap {name}")))?;
            let packed = map.as_ref().and_then(|map| map.data.as_ref()?.get(key::RECORD));
            records.extend(packed.and_then(|packed| frame::unpack(packed).ok()));
        }
        records.reverse();
        Ok(records)
    }
}

/// The documents of a result, the most wanted first.
fn documents(
    snapshot: &Snapshot,
    status: &BenchmarkRunStatus,
    trials: &[TrialSummary],
    records: &[TrialRecord],
) -> Result<Vec<(&'static str, String)>, serde_json::Error> {
    let judgement = compare::judge(snapshot, trials, true);
    let report = report::Report::of(report::Input { snapshot, status, judgement: Some(&judgement), trials, records });
    Ok(vec![
        ("judgement.json", serde_json::to_string_pretty(&judgement)?),
        ("report.md", report::markdown::render(&report)),
        ("report.json", report::json::render(&report)?),
    ])
}

/// As many of the documents as an object holds, and a word about those that it does not.
fn fitting(documents: Vec<(&'static str, String)>) -> BTreeMap<String, String> {
    let mut room = LARGEST;
    let mut data = BTreeMap::new();
    for (name, text) in documents {
        if text.len() <= room {
            room -= text.len();
            data.insert(name.to_owned(), text);
        } else {
            let word = format!("{name} has {} bytes, more than an object may hold\n", text.len());
            data.insert(format!("{name}.missing"), word);
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, fitting};

    #[test]
    fn what_does_not_fit_is_named() {
        let data = fitting(vec![("small", "a".into()), ("large", "b".repeat(LARGEST)), ("also-small", "c".into())]);
        let keys: Vec<_> = data.keys().map(String::as_str).collect();
        assert_eq!(keys, ["also-small", "large.missing", "small"]);
    }
}
