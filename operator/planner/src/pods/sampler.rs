//! The sampler: reads the kernel's figures of one target, on its node, as nobody.

use gaugeblock_crds::names;
use gaugeblock_measurement::SamplerPlan;
use k8s_openapi::{
    api::core::v1::{
        Container, HostPathVolumeSource, Pod, PodSecurityContext, PodSpec, ResourceRequirements, SecurityContext,
        Volume, VolumeMount,
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};

use super::{PodError, environment, generator::image, security, skeleton};
use crate::{action::UnitSpec, observed::ClusterView, snapshot::Snapshot};

/// Where the node's cgroup tree is seen.
const CGROUP_ROOT: &str = "/host/sys/fs/cgroup";
/// User without any rights: a read-only mount of cgroup v1 does not stop root from writing, so the
/// sampler is not root, whatever its image says.
const NOBODY: i64 = 65_533;

pub(super) fn pod(
    snapshot: &Snapshot,
    unit: &UnitSpec,
    plan: &SamplerPlan,
    cluster: &ClusterView,
) -> Result<Pod, PodError> {
    let mut container = Container {
        name: names::CONTAINER_SAMPLER.to_owned(),
        image: Some(image(snapshot, cluster)),
        command: Some(vec!["gaugeblock-sampler".to_owned()]),
        env: Some(vec![
            environment::plan(plan)?,
            environment::plain("GAUGEBLOCK_CGROUP_ROOT", CGROUP_ROOT),
            environment::node(),
        ]),
        resources: Some(resources()),
        security_context: Some(SecurityContext { read_only_root_filesystem: Some(true), ..SecurityContext::default() }),
        volume_mounts: Some(vec![VolumeMount {
            name: "cgroup".to_owned(),
            mount_path: CGROUP_ROOT.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    security::restrict_container(&mut container);
    let spec = PodSpec {
        containers: vec![container],
        host_pid: Some(true),
        security_context: Some(PodSecurityContext {
            run_as_user: Some(NOBODY),
            run_as_group: Some(NOBODY),
            ..PodSecurityContext::default()
        }),
        volumes: Some(vec![Volume {
            name: "cgroup".to_owned(),
            host_path: Some(HostPathVolumeSource {
                path: "/sys/fs/cgroup".to_owned(),
                type_: Some("Directory".to_owned()),
            }),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    };
    let mut pod = skeleton::complete(ObjectMeta::default(), spec, snapshot, unit);
    // Outside the run's namespace: no owner can be named across namespaces, so it is swept by the
    // run's UID.
    pod.metadata.namespace = Some(cluster.operator_namespace.clone());
    pod.metadata.owner_references = None;
    Ok(pod)
}

/// Small and Burstable, so that it stays on the CPUs that all share, and without a CPU limit, so
/// that no quota delays a sample.
fn resources() -> ResourceRequirements {
    let amount = |name: &str, amount: &str| (name.to_owned(), Quantity(amount.to_owned()));
    ResourceRequirements {
        requests: Some([amount("cpu", "50m"), amount("memory", "32Mi")].into()),
        limits: Some([amount("memory", "128Mi")].into()),
        claims: None,
    }
}
