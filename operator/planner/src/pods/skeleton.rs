//! What all pods have in common.

use k8s_openapi::{
    api::core::v1::{Pod, PodSchedulingGate, PodSpec, ResourceRequirements},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};

use gaugeblock_crds::{names, target::Resources};

use super::{metadata, placement, security};
use crate::{action::UnitSpec, snapshot::Snapshot};

/// Time that a program has to end by itself. Everything of a trial is thrown away with it, so
/// there is nothing to save; and a program that ignores SIGTERM should not cost half a minute.
const GRACE_SECONDS: i64 = 5;

/// Completes a pod. What is here cannot be changed by a template, unless it says so.
pub(super) fn complete(given: ObjectMeta, mut spec: PodSpec, snapshot: &Snapshot, unit: &UnitSpec) -> Pod {
    // A restarted program is another measurement: whoever ends has ended.
    spec.restart_policy = Some("Never".to_owned());
    spec.active_deadline_seconds =
        Some(i64::try_from(unit.deadline.as_millis().div_ceil(1000)).unwrap_or(i64::MAX).max(1));
    // A template may say otherwise from here on. Variables of unrelated Services change what a
    // program starts with from one trial to the next, and so does a cluster DNS that is asked.
    spec.enable_service_links.get_or_insert(false);
    spec.automount_service_account_token.get_or_insert(false);
    spec.termination_grace_period_seconds.get_or_insert(GRACE_SECONDS);
    if spec.dns_policy.is_none() {
        spec.dns_policy = Some("Default".to_owned());
    }
    security::restrict_pod(&mut spec);
    placement::place(&mut spec, snapshot, unit);
    Pod { metadata: metadata::complete(given, snapshot, unit), spec: Some(spec), status: None }
}

/// Holds a pod back until its sampler watches.
pub(super) fn gate(spec: &mut PodSpec) {
    let gates = spec.scheduling_gates.get_or_insert_default();
    gates.push(PodSchedulingGate { name: names::GATE_SAMPLER.to_owned() });
}

/// The same as requests and as limits: the pod is Guaranteed, and whole CPUs are its own.
pub(super) fn guaranteed(resources: &Resources) -> ResourceRequirements {
    let amounts = || {
        Some(
            [
                ("cpu".to_owned(), Quantity(resources.cpu.0.clone())),
                ("memory".to_owned(), Quantity(resources.memory.0.clone())),
            ]
            .into(),
        )
    };
    ResourceRequirements { requests: amounts(), limits: amounts(), claims: None }
}
