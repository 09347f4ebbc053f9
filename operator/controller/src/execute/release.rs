//! Lets a gated pod go.

use gaugeblock_crds::names;
use gaugeblock_planner::{Role, UnitKey};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tracing::info;

use super::{ExecuteError, Executor, Flow, Written};
use crate::{call::call, identity::RunRef};

impl Executor {
    /// Removes our gate, and for a generator says in the same patch where the target is: it must
    /// not start without knowing. Removing a gate that is gone changes nothing.
    pub(super) async fn release(
        &self,
        run: &RunRef,
        unit: UnitKey,
        name: &str,
        target: Option<&str>,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let namespace = self.namespace_of(run, unit.role).to_owned();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let patch = Patch::Strategic(patch(target));
        match call(pods.patch(name, &PatchParams::default(), &patch)).await {
            Ok(_) => {
                info!(pod = name, trial = unit.slot.suffix(), ?target, "let go");
                written.push(Written::Released { namespace, name: name.to_owned() });
                Ok(Flow::Continue)
            }
            // Someone deleted it: the next observation knows what that means.
            Err(error) if error.is_not_found() => Ok(Flow::Replan),
            Err(error) => Err(ExecuteError::call("release", format!("Pod {namespace}/{name}"))(error)),
        }
    }

    /// Where the pod of a role lives.
    pub(super) fn namespace_of<'a>(&'a self, run: &'a RunRef, role: Role) -> &'a str {
        match role {
            Role::Sampler => &self.operator_namespace,
            Role::Dependency(_) | Role::Target | Role::Generator => &run.namespace,
        }
    }
}

/// A strategic merge patch: gates are merged by name, so other gates stay.
fn patch(target: Option<&str>) -> Value {
    let mut patch = json!({
        "spec": { "schedulingGates": [{ "$patch": "delete", "name": names::GATE_SAMPLER }] }
    });
    if let Some(target) = target {
        patch["metadata"] = json!({ "annotations": { names::ANNOTATION_TARGET: target } });
    }
    patch
}
