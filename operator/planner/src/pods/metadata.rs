//! Names, labels, annotations and owners of pods.

use std::collections::BTreeMap;

use gaugeblock_crds::names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::{action::UnitSpec, observed::Role, snapshot::Snapshot};

/// Labels that keep service meshes out: a proxy inside a measured pod is measured, too.
const OPT_OUT_LABELS: &[(&str, &str)] = &[
    ("sidecar.istio.io/inject", "false"),
    ("istio.io/dataplane-mode", "none"),
    ("kuma.io/sidecar-injection", "disabled"),
];

/// Annotations that keep service meshes out, and autoscalers from moving a pod in the middle of a
/// measurement.
const OPT_OUT_ANNOTATIONS: &[(&str, &str)] = &[
    ("sidecar.istio.io/inject", "false"),
    ("linkerd.io/inject", "disabled"),
    ("consul.hashicorp.com/connect-inject", "false"),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
];

/// Labels of everything that belongs to a run.
pub fn labels_of_run(snapshot: &Snapshot) -> BTreeMap<String, String> {
    BTreeMap::from([
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (names::LABEL_RUN_UID.to_owned(), snapshot.uid.clone()),
        (names::LABEL_RUN.to_owned(), names::run_label(&snapshot.name)),
    ])
}

/// The run as owner: the garbage collector removes what a deleted run leaves. Not as controller,
/// and without blocking the run's deletion, which would need a right of its own.
pub fn owner_reference(snapshot: &Snapshot) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/{}", names::GROUP, names::VERSION),
        kind: "BenchmarkRun".to_owned(),
        name: snapshot.name.clone(),
        uid: snapshot.uid.clone(),
        controller: Some(false),
        block_owner_deletion: Some(false),
    }
}

/// Completes the metadata of a pod. What a user's template says about meshes and autoscalers
/// stands; our own labels are ours.
pub(super) fn complete(mut given: ObjectMeta, snapshot: &Snapshot, unit: &UnitSpec) -> ObjectMeta {
    let labels = given.labels.get_or_insert_default();
    for (key, value) in OPT_OUT_LABELS {
        labels.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    labels.extend(labels_of_run(snapshot));
    labels.extend(labels_of_unit(unit));

    let annotations = given.annotations.get_or_insert_default();
    for (key, value) in OPT_OUT_ANNOTATIONS {
        annotations.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    annotations.insert(names::ANNOTATION_RUN.to_owned(), format!("{}/{}", snapshot.namespace, snapshot.name));

    ObjectMeta {
        name: Some(unit.name.clone()),
        namespace: Some(snapshot.namespace.clone()),
        labels: given.labels,
        annotations: given.annotations,
        owner_references: Some(vec![owner_reference(snapshot)]),
        ..ObjectMeta::default()
    }
}

fn labels_of_unit(unit: &UnitSpec) -> Vec<(String, String)> {
    let slot = unit.key.slot;
    let mut labels = vec![
        (names::LABEL_ROLE.to_owned(), unit.key.role.name().to_owned()),
        (names::LABEL_BLOCK.to_owned(), slot.block.to_string()),
        (names::LABEL_ATTEMPT.to_owned(), slot.attempt.to_string()),
        (names::LABEL_ARM.to_owned(), slot.arm.to_string()),
        (names::LABEL_STAGE.to_owned(), slot.stage.to_string()),
    ];
    if let Role::Dependency(index) = unit.key.role {
        labels.push((names::LABEL_DEPENDENCY.to_owned(), index.to_string()));
    }
    labels
}
