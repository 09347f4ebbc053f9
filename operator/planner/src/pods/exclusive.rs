//! Whether a target will have its CPUs for itself, foretold from its pod.
//!
//! The kubelet's static CPU manager gives whole CPUs to containers of Guaranteed pods only, and
//! never says when it does not: the target is then silently shared. The proof comes from the
//! kernel's CPU sets, trial by trial; this is for saying so before anything is measured.

use std::time::Duration;

use gaugeblock_crds::{names, text};
use k8s_openapi::{
    api::core::v1::{Container, Pod},
    apimachinery::pkg::api::resource::Quantity,
};

use super::target;
use crate::{
    action::{UnitPlan, UnitSpec},
    observed::{Role, Slot, UnitKey},
    snapshot::Snapshot,
};

/// Whether the target of this arm will have its CPUs for itself under the static policy; else why
/// not, in a sentence.
pub fn exclusive_cpus_of(snapshot: &Snapshot, arm: usize) -> Result<(), String> {
    let arm = arm as u32;
    let slot = Slot { block: 0, attempt: 0, arm, stage: 0 };
    let unit = UnitSpec {
        key: UnitKey { slot, role: Role::Target },
        name: "target".to_owned(),
        plan: UnitPlan::Target { arm, hosts: Vec::new(), variables: Vec::new() },
        node: None,
        deadline: Duration::from_secs(1),
    };
    let pod = target::pod(snapshot, &unit, arm, &[], &[]).map_err(|error| error.to_string())?;
    exclusive_cpus(&pod)
}

/// Whether the container `target` of this pod will have its CPUs for itself under the static
/// policy; else why not, in a sentence.
pub fn exclusive_cpus(pod: &Pod) -> Result<(), String> {
    let spec = pod.spec.as_ref().ok_or("the pod has no spec")?;
    if spec.resources.is_some() {
        return Err(
            "the pod has resources of its own (spec.resources), and the kubelet gives exclusive CPUs only for those of containers"
                .to_owned(),
        );
    }
    let inits = spec.init_containers.iter().flatten();
    for container in spec.containers.iter().chain(inits) {
        for resource in ["cpu", "memory"] {
            guaranteed(container, resource)?;
        }
    }
    let target = spec
        .containers
        .iter()
        .find(|container| container.name == names::CONTAINER_TARGET)
        .ok_or("the pod has no container named target")?;
    let cpu = limit(target, "cpu").map_or("", |quantity| &quantity.0);
    if whole(cpu) {
        Ok(())
    } else {
        Err(format!(
            "cpu: {cpu} is no whole number of CPUs, and only whole ones can be had exclusively: ask for 1 or 2, for instance"
        ))
    }
}

/// Requests = limits, in every container, sidecars included: else the pod is not Guaranteed.
fn guaranteed(container: &Container, resource: &str) -> Result<(), String> {
    let name = &container.name;
    let Some(limit) = limit(container, resource) else {
        return Err(format!(
            "container {name} has no {resource} limit, so its pod is not Guaranteed and all of it shares CPUs: set requests and limits to the same"
        ));
    };
    match request(container, resource) {
        Some(request) if !same(request, limit) => Err(format!(
            "container {name} requests {resource}: {}, but its limit is {}, so its pod is not Guaranteed and all of it shares CPUs: set them to the same",
            request.0, limit.0
        )),
        // A request that is left out is the limit.
        _ if value(limit) == Some(0.0) => Err(format!("container {name} has a {resource} limit of 0, which is none")),
        _ => Ok(()),
    }
}

fn limit<'a>(container: &'a Container, resource: &str) -> Option<&'a Quantity> {
    container.resources.as_ref()?.limits.as_ref()?.get(resource)
}

fn request<'a>(container: &'a Container, resource: &str) -> Option<&'a Quantity> {
    container.resources.as_ref()?.requests.as_ref()?.get(resource)
}

fn value(quantity: &Quantity) -> Option<f64> {
    text::Quantity(quantity.0.clone()).value().ok()
}

/// Whether two quantities are the same amount, however written.
fn same(one: &Quantity, other: &Quantity) -> bool {
    match (value(one), value(other)) {
        // Kubernetes keeps thousandths, so half of one is nothing.
        (Some(one), Some(other)) => (one - other).abs() < 0.000_5,
        _ => one == other,
    }
}

/// Whether this is a whole number of CPUs, however written: `2` as well as `2000m`.
fn whole(cpu: &str) -> bool {
    text::Quantity(cpu.to_owned()).value().is_ok_and(|value| value >= 1.0 && (value - value.round()).abs() < 0.000_5)
}
