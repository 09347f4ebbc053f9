//! Deletes pods, and the run itself.

use gaugeblock_crds::BenchmarkRun;
use gaugeblock_planner::UnitKey;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, Preconditions, PropagationPolicy},
    core::PartialObjectMeta,
};
use tracing::info;

use super::{ExecuteError, Executor, Flow, Written};
use crate::{call::call, identity::RunRef};

impl Executor {
    /// Deletes the pod with this UID; a later one of the same name is not meant. With its grace
    /// period: without one the container outlives its object, and the next trial would meet it.
    pub(super) async fn delete(
        &self,
        run: &RunRef,
        unit: UnitKey,
        name: &str,
        uid: &str,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let namespace = self.namespace_of(run, unit.role).to_owned();
        let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(self.client.clone(), &namespace);
        match call(pods.delete(name, &of_uid(uid))).await {
            Ok(_) => info!(pod = name, trial = unit.slot.suffix(), "deleted"),
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => {
                let object = format!("Pod {namespace}/{name}");
                return Err(ExecuteError::call("delete", object)(error));
            }
        }
        let (name, uid) = (name.to_owned(), uid.to_owned());
        written.push(Written::Deleted { namespace, name, uid });
        Ok(Flow::Continue)
    }

    /// Deletes the run: everything it owns follows.
    pub(super) async fn delete_run(&self, run: &RunRef) -> Result<Flow, ExecuteError> {
        let runs: Api<PartialObjectMeta<BenchmarkRun>> = Api::namespaced(self.client.clone(), &run.namespace);
        let mut parameters = of_uid(&run.uid);
        parameters.propagation_policy = Some(PropagationPolicy::Background);
        match call(runs.delete(&run.name, &parameters)).await {
            Ok(_) => info!("deleted after its time"),
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => {
                let object = format!("BenchmarkRun {}", run.annotation());
                return Err(ExecuteError::call("delete", object)(error));
            }
        }
        Ok(Flow::Continue)
    }
}

fn of_uid(uid: &str) -> DeleteParams {
    DeleteParams {
        preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
        ..DeleteParams::default()
    }
}
