//! The load generator, behind the gate: it learns the target's address when it is let go.

use gaugeblock_crds::names;
use gaugeblock_measurement::{GeneratorPlan, plan::TARGET_VARIABLE};
use k8s_openapi::{
    api::core::v1::{Container, Pod, PodSpec, SecurityContext},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{PodError, environment, security, skeleton};
use crate::{
    action::{UnitSpec, Variable},
    observed::ClusterView,
    snapshot::Snapshot,
};

pub(super) fn pod(
    snapshot: &Snapshot,
    unit: &UnitSpec,
    plan: &GeneratorPlan,
    variables: &[Variable],
    cluster: &ClusterView,
) -> Result<Pod, PodError> {
    let annotation = format!("metadata.annotations['{}']", names::ANNOTATION_TARGET);
    let own = vec![environment::plan(plan)?, environment::field(TARGET_VARIABLE, &annotation), environment::node()];
    let variables = variables.iter().map(|one| environment::variable(one, snapshot)).collect();
    let mut container = Container {
        name: names::CONTAINER_GENERATOR.to_owned(),
        image: Some(image(snapshot, cluster)),
        command: Some(vec!["gaugeblock-load-generator".to_owned()]),
        env: Some(environment::join([variables, own])),
        resources: Some(skeleton::guaranteed(&snapshot.spec.generator.resources)),
        security_context: Some(SecurityContext { read_only_root_filesystem: Some(true), ..SecurityContext::default() }),
        ..Container::default()
    };
    security::restrict_container(&mut container);
    let mut spec = PodSpec { containers: vec![container], ..PodSpec::default() };
    skeleton::gate(&mut spec);
    Ok(skeleton::complete(ObjectMeta::default(), spec, snapshot, unit))
}

/// The image of our own programs: the frozen one, whatever the operator has become since.
pub(super) fn image(snapshot: &Snapshot, cluster: &ClusterView) -> String {
    snapshot.measuring_image.clone().unwrap_or_else(|| cluster.measuring_image.clone())
}
