//! Which run something belongs to.

use gaugeblock_crds::{BenchmarkRun, names};
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Resource as _, core::DeserializeGuard, runtime::reflector::ObjectRef};

/// A run as the watch delivers it: one that cannot be read stops nothing but itself.
pub type Guarded = DeserializeGuard<BenchmarkRun>;

/// A run by name and UID: a later one of the same name is another run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

impl RunRef {
    /// The run itself, by its metadata.
    pub fn of_run(meta: &ObjectMeta) -> Option<Self> {
        Some(Self { namespace: meta.namespace.clone()?, name: meta.name.clone()?, uid: meta.uid.clone()? })
    }

    /// The run that an object of ours belongs to, by its label and annotation.
    pub fn of_part(meta: &ObjectMeta) -> Option<Self> {
        let uid = meta.labels.as_ref()?.get(names::LABEL_RUN_UID)?;
        let run = meta.annotations.as_ref()?.get(names::ANNOTATION_RUN)?;
        let (namespace, name) = run.split_once('/')?;
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned(), uid: uid.clone() })
    }

    /// Value of the annotation [`names::ANNOTATION_RUN`].
    pub fn annotation(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Its key in the cache.
    pub fn key(&self) -> ObjectRef<Guarded> {
        ObjectRef::new(&self.name).within(&self.namespace)
    }

    /// As the subject of events.
    pub fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(BenchmarkRun::api_version(&()).into_owned()),
            kind: Some(BenchmarkRun::kind(&()).into_owned()),
            namespace: Some(self.namespace.clone()),
            name: Some(self.name.clone()),
            uid: Some(self.uid.clone()),
            ..ObjectReference::default()
        }
    }
}

/// Whether an object carries the label of this run.
pub fn is_of(meta: &ObjectMeta, uid: &str) -> bool {
    let label = meta.labels.as_ref().and_then(|labels| labels.get(names::LABEL_RUN_UID));
    label.is_some_and(|label| label == uid)
}

/// Whether an object plays this role.
pub fn has_role(meta: &ObjectMeta, role: &str) -> bool {
    let label = meta.labels.as_ref().and_then(|labels| labels.get(names::LABEL_ROLE));
    label.is_some_and(|label| label == role)
}
