//! Creates the pod of a unit.

use gaugeblock_crds::dependency::Postgres;
use gaugeblock_planner::{Snapshot, UnitPlan, UnitSpec, observed::Place, pods};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use tracing::info;

use super::{
    ExecuteError, Executor, Flow, Subject, Written,
    object::{Created, create, describe},
};
use crate::{call::call, identity::RunRef};

impl Executor {
    pub(super) async fn create_unit(
        &self,
        subject: Subject<'_>,
        snapshot: &Snapshot,
        unit: &UnitSpec,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let Some(Place::Cluster(cluster)) = subject.observed.map(|observed| &observed.place) else {
            return Err(ExecuteError::NotFrozen);
        };
        if let UnitPlan::Postgres { dependency, postgres } = &unit.plan {
            self.check_scripts(subject.run, dependency, postgres).await?;
        }
        let pod = pods::build(snapshot, unit, cluster).map_err(|source| ExecuteError::Build {
            object: format!("Pod {}/{}", snapshot.namespace, unit.name),
            source,
        })?;
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let created = create(&api, subject.run, &pod).await?;
        if matches!(created, Created::New(_)) {
            info!(pod = describe(&pod), trial = unit.key.slot.suffix(), "created");
        }
        written.push(Written::Pod { namespace, name: unit.name.clone() });
        Ok(Flow::Continue)
    }

    /// A pod whose ConfigMap is missing waits for ever, and only an event tells why. So it is not
    /// created.
    async fn check_scripts(&self, run: &RunRef, dependency: &str, postgres: &Postgres) -> Result<(), ExecuteError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &run.namespace);
        for script in &postgres.init_sql {
            let object = format!("ConfigMap {}/{}", run.namespace, script.name);
            let found = call(api.get_opt(&script.name)).await;
            let found = found.map_err(ExecuteError::call("read", object.clone()))?;
            let missing = match found {
                None => format!("{object} does not exist"),
                Some(map) if !has_key(&map, &script.key) => {
                    format!("{object} has no key {}", script.key)
                }
                Some(_) => continue,
            };
            return Err(ExecuteError::Refused {
                object: format!("the pod of dependency {dependency}"),
                message: format!("{missing}, which its initSql names"),
            });
        }
        Ok(())
    }
}

fn has_key(map: &ConfigMap, key: &str) -> bool {
    map.data.as_ref().is_some_and(|data| data.contains_key(key))
        || map.binary_data.as_ref().is_some_and(|data| data.contains_key(key))
}
