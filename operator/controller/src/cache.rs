//! What the watches have told: the only memory of the operator, and made anew by every start.

use gaugeblock_crds::BenchmarkPool;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Node, Pod},
};
use kube::{
    Resource as _,
    core::DeserializeGuard,
    runtime::reflector::{ObjectRef, Store, store::WriterDropped},
};

use crate::identity::{Guarded, RunRef};

/// One cache per kind.
#[derive(Clone, Debug)]
pub struct Caches {
    /// Runs.
    pub runs: Store<Guarded>,
    /// Our pods: of all namespaces, or of the watched one and the operator's.
    pub pods: Vec<Store<Pod>>,
    /// Our ConfigMaps, without the raw records.
    pub config_maps: Store<ConfigMap>,
    /// Nodes.
    pub nodes: Store<Node>,
    /// Claims on nodes.
    pub claims: Store<Lease>,
    /// Pools.
    pub pools: Store<DeserializeGuard<BenchmarkPool>>,
}

impl Caches {
    /// Waits until every watch has delivered what there is. Deciding on half a picture would, for
    /// one, create pods that exist.
    pub async fn ready(&self) -> Result<(), WriterDropped> {
        let Self { runs, pods, config_maps, nodes, claims, pools } = self;
        runs.wait_until_ready().await?;
        for pods in pods {
            pods.wait_until_ready().await?;
        }
        config_maps.wait_until_ready().await?;
        nodes.wait_until_ready().await?;
        claims.wait_until_ready().await?;
        pools.wait_until_ready().await
    }

    /// All pods of ours.
    pub fn pods(&self) -> impl Iterator<Item = std::sync::Arc<Pod>> {
        self.pods.iter().flat_map(Store::state)
    }

    /// One pod.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<std::sync::Arc<Pod>> {
        let key = ObjectRef::new(name).within(namespace);
        self.pods.iter().find_map(|pods| pods.get(&key))
    }

    /// Whether this very run is there.
    pub fn has_run(&self, run: &RunRef) -> bool {
        let found = self.runs.get(&run.key());
        found.is_some_and(|found| found.meta().uid.as_deref() == Some(run.uid.as_str()))
    }
}
