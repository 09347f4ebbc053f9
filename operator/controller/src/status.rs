//! Writes the status of a run: by server-side apply, under a manager of its own, so that it says
//! all there is to say and nothing else of the object is touched.

use gaugeblock_crds::{BenchmarkRun, BenchmarkRunStatus};
use kube::{
    Api, Client, Resource as _,
    api::{Patch, PatchParams},
    core::PartialObjectMeta,
};
use serde_json::{Value, json};

use crate::{
    call::{CallError, call},
    identity::RunRef,
};

/// Field manager of statuses.
pub const MANAGER: &str = "gaugeblock-status";

/// What became of writing a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// It stands.
    Status,
    /// The run is gone: there is nobody to tell.
    Nothing,
}

/// Writes a status.
pub async fn write(client: &Client, run: &RunRef, status: &BenchmarkRunStatus) -> Result<Wrote, CallError> {
    let runs: Api<PartialObjectMeta<BenchmarkRun>> = Api::namespaced(client.clone(), &run.namespace);
    let parameters = PatchParams::apply(MANAGER).force();
    let patch = Patch::Apply(document(run, status));
    match call(runs.patch_status(&run.name, &parameters, &patch)).await {
        Ok(_) => Ok(Wrote::Status),
        Err(error) if error.is_not_found() => Ok(Wrote::Nothing),
        Err(error) => Err(error),
    }
}

/// The status as it will be read back: the API keeps whole seconds, for one. Only so can it be told
/// whether it says anything new, and whether the caches show it.
pub fn as_read(status: &BenchmarkRunStatus) -> BenchmarkRunStatus {
    let read = serde_json::to_value(status).and_then(serde_json::from_value);
    read.unwrap_or_else(|_| status.clone())
}

/// The UID makes it a condition: a later run of the same name is not meant.
fn document(run: &RunRef, status: &BenchmarkRunStatus) -> Value {
    json!({
        "apiVersion": BenchmarkRun::api_version(&()),
        "kind": BenchmarkRun::kind(&()),
        "metadata": { "name": run.name, "namespace": run.namespace, "uid": run.uid },
        "status": status,
    })
}
