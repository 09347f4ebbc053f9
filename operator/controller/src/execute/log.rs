//! Reads logs of pods: whole, for the records in them; their ends, for those who look for a fault.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use futures::future::join_all;
use gaugeblock_crds::names;
use gaugeblock_planner::{Action, Role, Snapshot, UnitKey, observe::container_name};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use tracing::warn;

use super::{ExecuteError, Executor, Flow, object::secret};
use crate::{
    call::{CallError, within},
    identity::RunRef,
};

/// Most that is read of a log with a record: runtimes keep 10 MiB before they rotate it away.
const MOST: i64 = 64 << 20;
/// Time for it.
const TIME: Duration = Duration::from_mins(1);
/// How long a log that cannot be read is tried again: a kubelet that restarts takes seconds, one
/// that is gone never comes back.
const PATIENCE: Duration = Duration::from_mins(1);
/// Lines kept of a log's end, and bytes of them: four such ends stay far below a Secret's 1 MiB.
const TAIL_LINES: i64 = 200;
const TAIL_BYTES: usize = 64 << 10;

/// Since when a log cannot be read, by run and pod.
#[derive(Debug, Default)]
pub(super) struct Patience(Mutex<BTreeMap<(String, String), Instant>>);

impl Patience {
    /// Whether to try again another time.
    fn left(&self, run: &RunRef, pod: &str) -> bool {
        let key = (run.uid.clone(), pod.to_owned());
        self.0.lock().is_ok_and(|mut since| since.entry(key).or_insert_with(Instant::now).elapsed() < PATIENCE)
    }

    /// Forgets a run.
    pub(super) fn forget(&self, run_uid: &str) {
        if let Ok(mut since) = self.0.lock() {
            since.retain(|(run, _), _| run != run_uid);
        }
    }
}

impl Executor {
    /// The whole log of a unit that has ended; empty where there is none and never will be.
    pub(super) async fn log(&self, run: &RunRef, unit: UnitKey, name: &str) -> Result<String, ExecuteError> {
        let parameters = LogParams {
            container: Some(container_name(unit.role).to_owned()),
            limit_bytes: Some(MOST),
            ..LogParams::default()
        };
        match within(TIME, self.pods(run, unit.role).logs(name, &parameters)).await {
            Ok(log) => Ok(log),
            Err(error) if never(&error) || !self.patience.left(run, name) => {
                warn!(pod = name, %error, "its log cannot be read");
                Ok(String::new())
            }
            Err(error) => Err(ExecuteError::call("read the log of", format!("Pod {name}"))(error)),
        }
    }

    /// Keeps the ends of all logs that the plan names in one Secret: logs hold secrets. The first
    /// failure of a run is the one that is kept.
    pub(super) async fn keep_logs(
        &self,
        run: &RunRef,
        snapshot: &Snapshot,
        actions: &[Action],
    ) -> Result<Flow, ExecuteError> {
        let ends = actions.iter().filter_map(|action| match action {
            Action::KeepLog { unit, name } => {
                Some(async move { (format!("{name}.log"), self.end_of_log(run, *unit, name).await) })
            }
            _ => None,
        });
        let ends: BTreeMap<_, _> = join_all(ends).await.into_iter().collect();
        let name = names::log_secret(&snapshot.stem());
        self.create_secret(run, &secret(snapshot, &name, names::ROLE_LOG, ends)).await?;
        Ok(Flow::Continue)
    }

    /// A log that cannot be read must not keep a run from ending: what is kept then says so.
    async fn end_of_log(&self, run: &RunRef, unit: UnitKey, name: &str) -> String {
        let parameters = LogParams {
            container: Some(container_name(unit.role).to_owned()),
            tail_lines: Some(TAIL_LINES),
            limit_bytes: Some(MOST),
            ..LogParams::default()
        };
        match crate::call::call(self.pods(run, unit.role).logs(name, &parameters)).await {
            Ok(log) => end(&log, TAIL_BYTES).to_owned(),
            Err(error) => format!("[gaugeblock could not read this log: {error}]\n"),
        }
    }

    fn pods(&self, run: &RunRef, role: Role) -> Api<Pod> {
        Api::namespaced(self.client.clone(), self.namespace_of(run, role))
    }
}

/// No such pod, or a container that never ran.
fn never(error: &CallError) -> bool {
    error.is_not_found() || matches!(error, CallError::Api(status) if status.code == 400)
}

/// The last `most` bytes of a text, from the beginning of a character.
fn end(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::end;

    #[test]
    fn the_end_of_a_log_starts_at_a_character() {
        assert_eq!(end("abc", 8), "abc");
        assert_eq!(end("abc", 2), "bc");
        assert_eq!(end("aéb", 2), "b");
    }
}
