//! The watches: they fill the caches and say which run to look at.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use futures::{StreamExt as _, channel::mpsc::UnboundedSender};
use gaugeblock_crds::{BenchmarkPool, BenchmarkRun, condition::ConditionType, names};
use gaugeblock_planner::{observe, observed::NodeView};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Node, Pod},
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt as _,
        reflector::{self, ObjectRef, Store},
        watcher::{self, Event},
    },
};
use serde::de::DeserializeOwned;
use tokio::{sync::Notify, task::JoinSet};
use tracing::warn;

use crate::{
    cache::Caches,
    identity::{Guarded, RunRef},
};

/// Which part of a cluster the operator looks at.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Namespace of the operator.
    pub operator_namespace: String,
    /// Namespace of the runs; all when absent.
    pub watch_namespace: Option<String>,
}

/// Who is told that something changed.
#[derive(Clone, Debug)]
pub struct Triggers {
    /// Looks at one run.
    pub run: UnboundedSender<ObjectRef<Guarded>>,
    /// Looks for what a run that is gone has left.
    pub sweep: Arc<Notify>,
}

/// Keys in ConfigMaps that are large and only read when a result is written.
const LARGE: [&str; 4] = ["record", "report.md", "report.json", "judgement.json"];

/// Starts all watches on `tasks`.
pub fn start(client: &Client, scope: &Scope, triggers: &Triggers, tasks: &mut JoinSet<()>) -> Caches {
    let ours = watcher::Config::default().labels(&format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY));
    let everything = watcher::Config::default();
    let runs = {
        let Triggers { run, sweep } = triggers.clone();
        watch(tasks, scoped(client, scope), everything.clone(), strip, move |change| {
            let _ = run.unbounded_send(ObjectRef::from_obj(change.object()));
            if matches!(change, Change::Gone(_)) {
                sweep.notify_one();
            }
        })
    };
    let part = |meta: &kube::core::ObjectMeta, runs: &Store<Guarded>, triggers: &Triggers| {
        let Some(run) = RunRef::of_part(meta) else { return };
        match runs.get(&run.key()) {
            Some(found) if found.meta().uid.as_deref() == Some(run.uid.as_str()) => {
                let _ = triggers.run.unbounded_send(run.key());
            }
            _ => triggers.sweep.notify_one(),
        }
    };
    let pod_namespaces = match &scope.watch_namespace {
        None => vec![None],
        Some(watched) if *watched == scope.operator_namespace => vec![Some(watched.as_str())],
        Some(watched) => vec![Some(watched.as_str()), Some(scope.operator_namespace.as_str())],
    };
    let pods = pod_namespaces.into_iter().map(|namespace| {
        let (runs, triggers) = (runs.clone(), triggers.clone());
        let api: Api<Pod> = within(client, namespace);
        watch(tasks, api, ours.clone(), strip, move |change| {
            part(change.object().meta(), &runs, &triggers);
        })
    });
    let pods = pods.collect();
    let config_maps = {
        let (runs, triggers) = (runs.clone(), triggers.clone());
        watch(tasks, scoped(client, scope), ours.clone(), strip_config_map, move |change| {
            part(change.object().meta(), &runs, &triggers);
        })
    };
    let claims = {
        let (runs, triggers) = (runs.clone(), triggers.clone());
        let api: Api<Lease> = Api::namespaced(client.clone(), &scope.operator_namespace);
        watch(tasks, api, ours, strip, move |change| {
            part(change.object().meta(), &runs, &triggers);
            unfinished(&runs, &triggers);
        })
    };
    let nodes = {
        let (runs, triggers) = (runs.clone(), triggers.clone());
        let mut known: BTreeMap<String, (NodeView, Option<String>)> = BTreeMap::new();
        // A kubelet reports its health every few seconds: only what matters wakes anybody.
        watch(tasks, Api::<Node>::all(client.clone()), everything.clone(), strip_node, move |change| {
            let name = change.object().name_any();
            let before = match change {
                Change::There(node) => {
                    let seen = (observe::node(node), observe::lost(node));
                    let same = known.get(&name) == Some(&seen);
                    known.insert(name, seen);
                    same
                }
                Change::Gone(_) => {
                    known.remove(&name);
                    false
                }
            };
            if !before {
                unfinished(&runs, &triggers);
            }
        })
    };
    let pools = {
        let (runs, triggers) = (runs.clone(), triggers.clone());
        let api: Api<DeserializeGuard<BenchmarkPool>> = Api::all(client.clone());
        watch(tasks, api, everything, strip, move |_| unfinished(&runs, &triggers))
    };
    Caches { runs, pods, config_maps, nodes, claims, pools }
}

/// Wakes every run that has not ended.
fn unfinished(runs: &Store<Guarded>, triggers: &Triggers) {
    for run in runs.state() {
        if !run.0.as_ref().is_ok_and(has_finished) {
            let _ = triggers.run.unbounded_send(ObjectRef::from_obj(run.as_ref()));
        }
    }
}

/// Whether a run has ended.
pub fn has_finished(run: &BenchmarkRun) -> bool {
    let conditions = run.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|one| one.type_ == ConditionType::Finished.name() && one.status == "True")
}

/// What a watch tells about an object.
enum Change<'a, K> {
    There(&'a K),
    Gone(&'a K),
}

impl<K> Change<'_, K> {
    fn object(&self) -> &K {
        match self {
            Self::There(object) | Self::Gone(object) => object,
        }
    }
}

/// Fills a cache, and tells of each change once the cache shows it.
fn watch<K>(
    tasks: &mut JoinSet<()>,
    api: Api<K>,
    config: watcher::Config,
    strip: fn(&mut K),
    mut changed: impl FnMut(&Change<'_, K>) + Send + 'static,
) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (reader, writer) = reflector::store::<K>();
    let events = watcher::watcher(api, config).default_backoff().modify(strip).reflect(writer);
    tasks.spawn(async move {
        let mut events = std::pin::pin!(events);
        // A list replaces the cache in one step, at its end: nobody is told before that.
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(object)) => changed(&Change::There(&object)),
                Ok(Event::Delete(object)) => changed(&Change::Gone(&object)),
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => listed.push(object),
                Ok(Event::InitDone) => {
                    listed.drain(..).for_each(|object| changed(&Change::There(&object)));
                }
                Err(error) => {
                    warn!(kind = %K::kind(&()), %error, "the watch failed and is taken up again");
                }
            }
        }
    });
    reader
}

/// Who wrote which field is of no use here, and most of the size of a small object.
fn strip<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}

fn strip_config_map(object: &mut ConfigMap) {
    strip(object);
    if let Some(data) = &mut object.data {
        data.retain(|key, _| !LARGE.contains(&key.as_str()));
    }
}

fn strip_node(node: &mut Node) {
    strip(node);
    if let Some(status) = &mut node.status {
        status.images = None;
    }
}

fn scoped<K>(client: &Client, scope: &Scope) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    within(client, scope.watch_namespace.as_deref())
}

fn within<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
