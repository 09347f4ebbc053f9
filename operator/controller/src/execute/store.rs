//! Reads the records of a trial, concludes and stores them: one immutable ConfigMap per stage of a
//! trial, so that no trial is counted twice.

use std::collections::BTreeMap;

use gaugeblock_crds::names;
use gaugeblock_measurement::{Record, ResultUnreadable, TrialRecord, UnixNanos, frame};
use gaugeblock_planner::{Snapshot, TrialSummary, UnitKey, action::Conclusion, conclude};
use jiff::Timestamp;
use tracing::info;

use super::{ExecuteError, Executor, Flow, Written, object::config_map};
use crate::{identity::RunRef, observe::key};

/// Most bytes of a packed record: an object may have 1 MiB, keys and summary included.
const LARGEST_RECORD: usize = 800 << 10;

impl Executor {
    pub(super) async fn store(
        &self,
        run: &RunRef,
        snapshot: &Snapshot,
        conclusion: &Conclusion,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let (generator, sampler) = futures::try_join!(
            self.record(run, conclusion.generator.as_ref()),
            self.record(run, conclusion.sampler.as_ref()),
        )?;
        let now = UnixNanos(i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX));
        let (record, summary) = conclude(snapshot, conclusion, generator, sampler, now);
        let outcome = format!("{:?}", summary.outcome);
        let data = data(&record, summary)?;
        let mut map = config_map(snapshot, &conclusion.record_name, names::ROLE_TRIAL_RECORD, data);
        if let Some(labels) = &mut map.metadata.labels {
            let slot = conclusion.slot;
            labels.extend([
                (names::LABEL_BLOCK.to_owned(), slot.block.to_string()),
                (names::LABEL_ATTEMPT.to_owned(), slot.attempt.to_string()),
                (names::LABEL_ARM.to_owned(), slot.arm.to_string()),
                (names::LABEL_STAGE.to_owned(), slot.stage.to_string()),
            ]);
        }
        self.create_config_map(run, &map, written).await?;
        info!(trial = conclusion.slot.suffix(), outcome, "stored");
        Ok(Flow::Continue)
    }

    async fn record<R: Record>(
        &self,
        run: &RunRef,
        unit: Option<&(UnitKey, String)>,
    ) -> Result<Option<Result<R, ResultUnreadable>>, ExecuteError> {
        let Some((unit, name)) = unit else { return Ok(None) };
        let log = self.log(run, *unit, name).await?;
        Ok(Some(frame::decode(&log)))
    }
}

/// What is written of a trial. A record that does not fit is left out rather than the trial: all
/// that is judged is in the summary.
fn data(record: &TrialRecord, mut summary: TrialSummary) -> Result<BTreeMap<String, String>, ExecuteError> {
    let text = |source| ExecuteError::Text { what: "the record of a trial", source };
    let packed = frame::pack(record).map_err(text)?;
    let mut data = BTreeMap::new();
    if packed.len() <= LARGEST_RECORD {
        data.insert(key::RECORD.to_owned(), packed);
    } else {
        summary
            .notes
            .push(format!("its raw record of {} bytes is too large to be kept; its values are kept", packed.len()));
    }
    data.insert(key::SUMMARY.to_owned(), serde_json::to_string(&summary).map_err(text)?);
    Ok(data)
}
