//! Claims on nodes: a Lease per node, whose name only one run can create.
//!
//! The Lease is a lock by its name, not by time: nothing renews it and nothing lets it expire. It
//! ends when its run has ended or is gone, and none of the run's pods is left.

use gaugeblock_crds::names;
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::Pod,
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, ObjectMeta, PostParams, Preconditions},
    core::PartialObjectMeta,
};
use tracing::info;

use super::{ExecuteError, Executor, Flow, Written};
use crate::{call::call, identity::RunRef, observe::claim};

impl Executor {
    /// Claims a node. Losing the race to another run gives back what this plan claimed before, so
    /// that no two runs wait for each other's nodes.
    pub(super) async fn claim(
        &self,
        run: &RunRef,
        node: &str,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let lease = lease(run, node, &self.operator_namespace);
        let name = names::node_claim(node);
        let object = format!("Lease {name}");
        let api = self.leases();
        match call(api.create(&PostParams::default(), &lease)).await {
            Ok(_) => {
                info!(node, "claimed");
                written.push(Written::Claimed { name });
                Ok(Flow::Continue)
            }
            Err(error) if error.is_already_exists() => {
                let found = call(api.get_opt(&name)).await;
                let found = found.map_err(ExecuteError::call("read", object))?;
                let holder = found.as_ref().and_then(claim).map(|claim| claim.holder);
                if holder.as_ref() == Some(&run.uid) {
                    written.push(Written::Claimed { name });
                    return Ok(Flow::Continue);
                }
                info!(node, ?holder, "another run was first");
                self.give_back(run, written).await?;
                Ok(Flow::Replan)
            }
            Err(error) => Err(ExecuteError::call("create", object)(error)),
        }
    }

    async fn give_back(&self, run: &RunRef, written: &mut Vec<Written>) -> Result<(), ExecuteError> {
        let api = self.leases();
        let claimed: Vec<String> = written
            .iter()
            .filter_map(|one| match one {
                Written::Claimed { name } => Some(name.clone()),
                _ => None,
            })
            .collect();
        for name in claimed {
            let found = call(api.get_opt(&name)).await;
            let found = found.map_err(ExecuteError::call("read", format!("Lease {name}")))?;
            if let Some(lease) = found {
                self.delete_claim(run, &lease, written).await?;
            }
            written.retain(|one| *one != Written::Claimed { name: name.clone() });
        }
        Ok(())
    }

    /// Gives the run's nodes back, unless a pod of it is left: asked of the API server itself, as
    /// the caches may not show yet what was created a moment ago.
    pub(super) async fn unclaim(&self, run: &RunRef, written: &mut Vec<Written>) -> Result<Flow, ExecuteError> {
        let of_run = format!("{}={}", names::LABEL_RUN_UID, run.uid);
        let selector = ListParams::default().labels(&of_run);
        for namespace in [&run.namespace, &self.operator_namespace] {
            let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(self.client.clone(), namespace);
            let object = format!("pods of the run in namespace {namespace}");
            let left = call(pods.list_metadata(&selector.clone().limit(1))).await;
            let left = left.map_err(ExecuteError::call("list", object))?;
            if !left.items.is_empty() {
                return Ok(Flow::Replan);
            }
        }
        let leases = call(self.leases().list(&selector)).await;
        let leases = leases.map_err(ExecuteError::call("list", "claims of the run".into()))?;
        for lease in leases {
            self.delete_claim(run, &lease, written).await?;
        }
        Ok(Flow::Continue)
    }

    /// Deletes this very claim, if the run holds it. One that has changed hands is not ours.
    async fn delete_claim(&self, run: &RunRef, lease: &Lease, written: &mut Vec<Written>) -> Result<(), ExecuteError> {
        let name = lease.metadata.name.clone().unwrap_or_default();
        if claim(lease).is_none_or(|claim| claim.holder != run.uid) {
            return Ok(());
        }
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: lease.metadata.uid.clone(),
                resource_version: lease.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        match call(self.leases().delete(&name, &parameters)).await {
            Ok(_) => {
                info!(lease = name, "claim given back");
                written.push(Written::Unclaimed { name });
                Ok(())
            }
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            Err(error) => Err(ExecuteError::call("delete", format!("Lease {name}"))(error)),
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.operator_namespace)
    }
}

fn lease(run: &RunRef, node: &str, namespace: &str) -> Lease {
    let now = Timestamp::now();
    Lease {
        metadata: ObjectMeta {
            name: Some(names::node_claim(node)),
            namespace: Some(namespace.to_owned()),
            labels: Some(
                [
                    (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
                    (names::LABEL_ROLE.to_owned(), names::ROLE_CLAIM.to_owned()),
                    (names::LABEL_RUN_UID.to_owned(), run.uid.clone()),
                    (names::LABEL_RUN.to_owned(), names::run_label(&run.name)),
                ]
                .into(),
            ),
            annotations: Some(
                [
                    (names::ANNOTATION_RUN.to_owned(), run.annotation()),
                    (names::ANNOTATION_NODE.to_owned(), node.to_owned()),
                ]
                .into(),
            ),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(run.uid.clone()),
            acquire_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    }
}
