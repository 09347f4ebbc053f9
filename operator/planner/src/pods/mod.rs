//! Builders of pods: pure functions of the frozen plan. The same plan gives the same pod, to the
//! byte, so that a creation can be repeated after a crash.
//!
//! Every pod starts from one skeleton: names, labels, owner, opt-outs, placement. It ends with
//! its own container. All but the sampler live in the namespace of the run, which can
//! stay under Pod Security `restricted`; the sampler needs the host's process IDs and cgroup tree
//! and lives in the operator's.

mod environment;
mod exclusive;
mod generator;
mod metadata;
mod placement;
mod postgres;
mod sampler;
mod security;
mod skeleton;
mod target;
mod template;

pub use environment::PASSWORD_KEY;
pub use exclusive::{exclusive_cpus, exclusive_cpus_of};
pub use metadata::{labels_of_run, owner_reference};

use k8s_openapi::api::core::v1::Pod;

use crate::{
    action::{UnitPlan, UnitSpec},
    observed::ClusterView,
    snapshot::Snapshot,
};

/// Why a pod cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The plan names an arm that the run does not have.
    #[error("the run has no target number {0}")]
    NoSuchArm(u32),
    /// The pod template of a target is none.
    #[error("podTemplate of target {target}: {what}")]
    Template {
        /// Name of the target.
        target: String,
        /// What is wrong with it.
        what: String,
    },
    /// The plan of a measuring program does not fit into an environment variable.
    #[error(
        "the scenarios need a plan of {bytes} bytes, which is more than the {limit} that a process can be started with: use shorter bodies or fewer requests"
    )]
    PlanTooLarge {
        /// Its length in bytes.
        bytes: usize,
        /// The longest that fits.
        limit: usize,
    },
    /// A plan could not be written as JSON.
    #[error("failed to write the plan of a measuring program")]
    Plan(#[from] serde_json::Error),
}

/// The pod of a unit. Its namespace is set: the run's, or for samplers the operator's.
pub fn build(snapshot: &Snapshot, unit: &UnitSpec, cluster: &ClusterView) -> Result<Pod, PodError> {
    match &unit.plan {
        UnitPlan::Postgres { dependency, postgres } => Ok(postgres::pod(snapshot, unit, dependency, postgres)),
        UnitPlan::Target { arm, hosts, variables } => target::pod(snapshot, unit, *arm, hosts, variables),
        UnitPlan::Sampler(plan) => sampler::pod(snapshot, unit, plan, cluster),
        UnitPlan::Generator { plan, variables } => generator::pod(snapshot, unit, plan, variables, cluster),
    }
}
