//! Objects that the operator creates besides pods: made once, immutable, owned by the run.

use std::{collections::BTreeMap, fmt::Debug};

use gaugeblock_crds::names;
use gaugeblock_measurement::frame;
use gaugeblock_planner::{Snapshot, pods};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Resource,
    api::{ObjectMeta, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{ExecuteError, Executor, Flow, Written};
use crate::{
    call::call,
    identity::{RunRef, is_of},
    observe::key,
};

/// Bytes of a generated password: 128 bits are beyond guessing.
const PASSWORD_BYTES: usize = 16;

/// What became of a creation.
#[derive(Debug)]
pub(super) enum Created<K> {
    /// It is new.
    New(K),
    /// It was there, and is of this run.
    Existed(K),
}

impl Executor {
    /// Writes the frozen plan.
    pub(super) async fn freeze(
        &self,
        run: &RunRef,
        snapshot: &Snapshot,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let packed = frame::pack(snapshot).map_err(|source| ExecuteError::Text { what: "the frozen plan", source })?;
        let data = BTreeMap::from([(key::SNAPSHOT.to_owned(), packed)]);
        let name = snapshot.plan_name();
        let map = config_map(snapshot, &name, names::ROLE_PLAN, data);
        match self.create_config_map(run, &map, written).await? {
            Created::New(_) => Ok(Flow::Continue),
            // An earlier one holds, whatever it says: what follows has to follow from that one.
            Created::Existed(_) => Ok(Flow::Replan),
        }
    }

    /// Makes the password of the run's dependencies. It is never read again by anything but pods.
    pub(super) async fn make_credentials(
        &self,
        run: &RunRef,
        snapshot: &Snapshot,
        written: &mut Vec<Written>,
    ) -> Result<Flow, ExecuteError> {
        let mut bytes = [0_u8; PASSWORD_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| ExecuteError::Random(error.to_string()))?;
        // Hexadecimal needs no escaping in a connection URL.
        let password = bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let name = snapshot.credentials_name();
        let data = BTreeMap::from([(pods::PASSWORD_KEY.to_owned(), password)]);
        self.create_secret(run, &secret(snapshot, &name, names::ROLE_CREDENTIALS, data)).await?;
        if let Ok(mut known) = self.credentials.lock() {
            known.insert(run.uid.clone());
        }
        written.push(Written::Credentials);
        Ok(Flow::Continue)
    }

    /// Creates a ConfigMap.
    pub(super) async fn create_config_map(
        &self,
        run: &RunRef,
        map: &ConfigMap,
        written: &mut Vec<Written>,
    ) -> Result<Created<ConfigMap>, ExecuteError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &run.namespace);
        let created = create(&api, run, map).await?;
        written.push(Written::ConfigMap {
            namespace: run.namespace.clone(),
            name: map.metadata.name.clone().unwrap_or_default(),
        });
        Ok(created)
    }

    /// Creates a Secret. One that is there cannot be looked at, for want of the right to; its name
    /// holds a hash of the run's UID, so it is the run's.
    pub(super) async fn create_secret(&self, run: &RunRef, secret: &Secret) -> Result<(), ExecuteError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &run.namespace);
        let object = describe(secret);
        match call(api.create(&PostParams::default(), secret)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_already_exists() => Ok(()),
            Err(error) => Err(refused_or_failed(object, error)),
        }
    }
}

/// Creates an object, or finds it created already for this very run.
pub(super) async fn create<K>(api: &Api<K>, run: &RunRef, object: &K) -> Result<Created<K>, ExecuteError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let text = describe(object);
    match call(api.create(&PostParams::default(), object)).await {
        Ok(created) => Ok(Created::New(created)),
        Err(error) if error.is_already_exists() => {
            let name = object.meta().name.as_deref().unwrap_or_default();
            let found = call(api.get(name)).await;
            let found = found.map_err(ExecuteError::call("read", text.clone()))?;
            if is_of(found.meta(), &run.uid) {
                Ok(Created::Existed(found))
            } else {
                Err(ExecuteError::Foreign { object: text, found: whose(found.meta()) })
            }
        }
        Err(error) => Err(refused_or_failed(text, error)),
    }
}

fn refused_or_failed(object: String, source: crate::call::CallError) -> ExecuteError {
    match source.refusal() {
        Some(message) => ExecuteError::Refused { message: message.to_owned(), object },
        None => ExecuteError::Call { verb: "create", object, source },
    }
}

/// A ConfigMap of the run.
pub(super) fn config_map(snapshot: &Snapshot, name: &str, role: &str, data: BTreeMap<String, String>) -> ConfigMap {
    ConfigMap {
        metadata: metadata(snapshot, name, role),
        data: Some(data),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// A Secret of the run.
pub(super) fn secret(snapshot: &Snapshot, name: &str, role: &str, data: BTreeMap<String, String>) -> Secret {
    let data = data.into_iter().map(|(key, value)| (key, ByteString(value.into_bytes())));
    Secret {
        metadata: metadata(snapshot, name, role),
        data: Some(data.collect()),
        immutable: Some(true),
        ..Secret::default()
    }
}

fn metadata(snapshot: &Snapshot, name: &str, role: &str) -> ObjectMeta {
    let mut labels = pods::labels_of_run(snapshot);
    labels.insert(names::LABEL_ROLE.to_owned(), role.to_owned());
    let run = format!("{}/{}", snapshot.namespace, snapshot.name);
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(snapshot.namespace.clone()),
        labels: Some(labels),
        annotations: Some([(names::ANNOTATION_RUN.to_owned(), run)].into()),
        owner_references: Some(vec![pods::owner_reference(snapshot)]),
        ..ObjectMeta::default()
    }
}

/// Kind, namespace and name, for messages.
pub(super) fn describe<K: Resource<DynamicType = ()>>(object: &K) -> String {
    let meta = object.meta();
    format!(
        "{} {}/{}",
        K::kind(&()),
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default()
    )
}

/// Whose an object is, for messages.
fn whose(meta: &ObjectMeta) -> String {
    let label = meta.labels.as_ref().and_then(|labels| labels.get(names::LABEL_RUN_UID));
    let owner = meta.owner_references.iter().flatten().next();
    match (label, owner) {
        (Some(uid), _) => format!("of the run with UID {uid}"),
        (None, Some(owner)) => format!("of {} {}", owner.kind, owner.name),
        (None, None) => "of nobody".to_owned(),
    }
}
