//! The target: the system under test, behind the gate.
//!
//! The user's pod template is completed, not replaced. Its container `target` keeps what it says;
//! image, command, arguments, variables and port come from the typed fields. Probes of that
//! container are left out: the kubelet's requests would be measured, too.

use gaugeblock_crds::{names, target::Target};
use k8s_openapi::{
    api::core::v1::{Container, ContainerPort, HostAlias, Pod, PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};

use super::{PodError, environment, security, skeleton, template};
use crate::{
    action::{UnitSpec, Variable},
    snapshot::Snapshot,
};

pub(super) fn pod(
    snapshot: &Snapshot,
    unit: &UnitSpec,
    arm: u32,
    hosts: &[(String, String)],
    variables: &[Variable],
) -> Result<Pod, PodError> {
    let target = snapshot.spec.targets.get(arm as usize).ok_or(PodError::NoSuchArm(arm))?;
    let template = template::read(target)?;
    let mut spec = template.spec.unwrap_or_default();

    let variables = variables.iter().map(|one| environment::variable(one, snapshot)).collect();
    complete_container(container(&mut spec), target, variables);
    if !hosts.is_empty() {
        spec.host_aliases.get_or_insert_default().extend(aliases(hosts));
    }
    skeleton::gate(&mut spec);
    let metadata = template.metadata.unwrap_or_default();
    Ok(skeleton::complete(metadata, spec, snapshot, unit))
}

/// The container that is measured; the first one, so that `kubectl logs` shows it.
fn container(spec: &mut PodSpec) -> &mut Container {
    let found = spec.containers.iter().position(|one| one.name == names::CONTAINER_TARGET);
    let given = found.map_or_else(Container::default, |index| spec.containers.remove(index));
    spec.containers.insert(0, Container { name: names::CONTAINER_TARGET.to_owned(), ..given });
    &mut spec.containers[0]
}

fn complete_container(container: &mut Container, target: &Target, variables: Vec<k8s_openapi::api::core::v1::EnvVar>) {
    container.image = Some(target.image.clone());
    if !target.command.is_empty() {
        container.command = Some(target.command.clone());
    }
    if !target.args.is_empty() {
        container.args = Some(target.args.clone());
    }
    // PORT and the connection variables come first: the user's own may refer to them.
    container.env = Some(environment::join([
        vec![environment::plain("PORT", &target.port.to_string())],
        variables,
        container.env.take().unwrap_or_default(),
        target.env.iter().map(environment::given).collect(),
    ]));
    let ports = container.ports.get_or_insert_default();
    if !ports.iter().any(|port| port.container_port == target.port) {
        ports.push(ContainerPort { container_port: target.port, ..ContainerPort::default() });
    }
    complete_resources(container.resources.get_or_insert_default(), target);
    container.readiness_probe = None;
    container.liveness_probe = None;
    container.startup_probe = None;
    security::restrict_container(container);
}

/// CPU and memory of the typed field, where the template names neither a request nor a limit. A
/// limit alone is its own request, as the API server has it.
fn complete_resources(resources: &mut ResourceRequirements, target: &Target) {
    let amounts = [("cpu", &target.resources.cpu), ("memory", &target.resources.memory)];
    let limits = resources.limits.get_or_insert_default();
    let requests = resources.requests.get_or_insert_default();
    for (name, amount) in amounts {
        match (requests.get(name), limits.get(name)) {
            (None, None) => {
                requests.insert(name.to_owned(), Quantity(amount.0.clone()));
                limits.insert(name.to_owned(), Quantity(amount.0.clone()));
            }
            (None, Some(limit)) => {
                let limit = limit.clone();
                requests.insert(name.to_owned(), limit);
            }
            (Some(_), _) => {}
        }
    }
}

/// One alias per address: host names resolve without a DNS hop inside a measurement.
fn aliases(hosts: &[(String, String)]) -> Vec<HostAlias> {
    let mut aliases: Vec<HostAlias> = Vec::new();
    for (name, address) in hosts {
        if let Some(alias) = aliases.iter_mut().find(|alias| alias.ip == *address) {
            alias.hostnames.get_or_insert_default().push(name.clone());
        } else {
            aliases.push(HostAlias { ip: address.clone(), hostnames: Some(vec![name.clone()]) });
        }
    }
    aliases
}
