//! From objects of Kubernetes to what the planner knows: pods as units, nodes as nodes.
//!
//! A pod is judged by the state of *its* container, which leads `phase` by about a second, by its
//! conditions and by its deletion timestamp. `status.reason` goes first, because after an eviction
//! the container states are misleading. `tests/cluster` has the table of what the API shows for
//! each failure.

use gaugeblock_crds::names;
use gaugeblock_measurement::plan::Watch;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Node, Pod, PodCondition,
    PodStatus,
};

use crate::observed::{FailureKind, NodeView, Role, Slot, Unit, UnitKey, UnitState, Waiting};

/// The pod as a unit; `None` where its labels do not say which.
pub fn unit(pod: &Pod) -> Option<Unit> {
    let key = key(pod)?;
    let spec = pod.spec.as_ref()?;
    let empty = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&empty);
    let name = pod.metadata.name.clone()?;
    let uid = pod.metadata.uid.clone()?;
    let container = container(key.role, status);
    let watched = spec.hostname.as_deref().unwrap_or(key.role.name()).to_owned();
    let gates = spec.scheduling_gates.iter().flatten();
    Some(Unit {
        key,
        name,
        gated: gates.into_iter().any(|gate| gate.name == names::GATE_SAMPLER),
        deleting: pod.metadata.deletion_timestamp.is_some(),
        disrupted: condition(status, "DisruptionTarget", "True").map(in_words),
        created: pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |at| at.0),
        state: state(key.role, status),
        address: status.pod_ip.clone().filter(|address| !address.is_empty()),
        port: None,
        node: spec.node_name.clone(),
        restarts: container.map_or(0, |one| u32::try_from(one.restart_count).unwrap_or(0)),
        image: container.and_then(resolved_image),
        watch: Watch::Pod { name: watched, uid: uid.clone() },
        uid,
    })
}

/// UID of the run that a pod belongs to.
pub fn run_uid(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(names::LABEL_RUN_UID).map(String::as_str)
}

/// Which unit a pod is, from its labels.
pub fn key(pod: &Pod) -> Option<UnitKey> {
    let labels = pod.metadata.labels.as_ref()?;
    let number = |label: &str| labels.get(label)?.parse::<u32>().ok();
    let role = match labels.get(names::LABEL_ROLE)?.as_str() {
        name if name == Role::Target.name() => Role::Target,
        name if name == Role::Sampler.name() => Role::Sampler,
        name if name == Role::Generator.name() => Role::Generator,
        name if name == Role::Dependency(0).name() => Role::Dependency(number(names::LABEL_DEPENDENCY)?),
        _ => return None,
    };
    let slot = Slot {
        block: number(names::LABEL_BLOCK)?,
        attempt: number(names::LABEL_ATTEMPT)?,
        arm: number(names::LABEL_ARM)?,
        stage: number(names::LABEL_STAGE)?,
    };
    Some(UnitKey { slot, role })
}

/// The node as the planner sees it.
pub fn node(node: &Node) -> NodeView {
    let spec = node.spec.as_ref();
    let unschedulable = spec.and_then(|spec| spec.unschedulable).unwrap_or(false);
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    NodeView {
        name: node.metadata.name.clone().unwrap_or_default(),
        usable: node_ready(node) == Some("True") && !unschedulable,
        labels: node.metadata.labels.clone().unwrap_or_default(),
        taints: taints
            .map(|taint| (taint.key.clone(), taint.value.clone().unwrap_or_default(), taint.effect.clone()))
            .collect(),
    }
}

/// Why what runs on this node must be taken as lost: nobody has heard from its kubelet for as long
/// as the cluster waits. Its pods' last states are stale from then on.
pub fn lost(node: &Node) -> Option<String> {
    if node_ready(node) != Some("Unknown") {
        return None;
    }
    let name = node.metadata.name.as_deref().unwrap_or_default();
    Some(format!("node {name} is not heard from any more"))
}

/// Marks the units of nodes that are lost or gone as disrupted. A node that is not there yet is no
/// lost one: the news of a new node may come after that of its first pods, but not after they run.
pub fn mark_lost(units: &mut [Unit], nodes: &[&Node]) {
    for unit in units.iter_mut().filter(|unit| unit.disrupted.is_none() && !unit.ended()) {
        let Some(name) = &unit.node else { continue };
        let node = nodes.iter().find(|node| node.metadata.name.as_ref() == Some(name));
        unit.disrupted = match node {
            Some(node) => lost(node),
            None if matches!(unit.state, UnitState::Running { .. }) => Some(format!("node {name} is gone")),
            None => None,
        };
    }
}

fn node_ready(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.status.as_str())
}

/// Name of the container that plays this part.
pub const fn container_name(role: Role) -> &'static str {
    match role {
        Role::Dependency(_) => names::CONTAINER_DEPENDENCY,
        Role::Target => names::CONTAINER_TARGET,
        Role::Sampler => names::CONTAINER_SAMPLER,
        Role::Generator => names::CONTAINER_GENERATOR,
    }
}

fn container(role: Role, status: &PodStatus) -> Option<&ContainerStatus> {
    let name = container_name(role);
    status.container_statuses.iter().flatten().find(|container| container.name == name)
}

fn state(role: Role, status: &PodStatus) -> UnitState {
    if let Some(failed) = failed_as_a_whole(status) {
        return failed;
    }
    let container = container(role, status);
    if let Some(ended) = container.and_then(|one| ended(role, one)) {
        return ended;
    }
    if let Some(failed) = failed_beside(role, status) {
        return failed;
    }
    if let Some(waiting) = waits(status) {
        return UnitState::Pending(waiting);
    }
    match container {
        Some(one) if one.state.as_ref().is_some_and(|state| state.running.is_some()) => {
            // Only dependencies have a probe that says when they serve; the others are at work
            // as soon as they run.
            let ready = one.ready || !matches!(role, Role::Dependency(_));
            UnitState::Running { ready }
        }
        _ => UnitState::Pending(unschedulable(status).unwrap_or(Waiting::Starting)),
    }
}

/// `status.reason` of a pod that ended as a whole: by the kubelet's hand, not by its program's.
fn failed_as_a_whole(status: &PodStatus) -> Option<UnitState> {
    let reason = status.reason.as_deref()?;
    let kind = match reason {
        "DeadlineExceeded" => FailureKind::DeadlineExceeded,
        // "Terminated" and its older names are a node that shuts down.
        "Evicted" | "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" | "Preempting" => FailureKind::Lost,
        // Refused at the door: UnexpectedAdmissionError, OutOfcpu, NodeAffinity and their like. A
        // refused pod never got as far as having containers.
        _ if status.phase.as_deref() == Some("Failed")
            && status.container_statuses.as_ref().is_none_or(Vec::is_empty) =>
        {
            FailureKind::AdmissionRefused
        }
        _ => return None,
    };
    let message = match status.message.as_deref() {
        Some(message) if !message.is_empty() => format!("{reason}: {message}"),
        _ => reason.to_owned(),
    };
    Some(UnitState::Failed { kind, exit_code: None, message })
}

/// How our container ended, if it did, or if it had to be started again after it was killed for
/// memory: that trial is spoilt, however well the second start goes.
fn ended(role: Role, container: &ContainerStatus) -> Option<UnitState> {
    let now = container.state.as_ref().and_then(|state| state.terminated.as_ref());
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let killed_before = before.filter(|ended| ended.reason.as_deref() == Some("OOMKilled"));
    let terminated = now.or(killed_before)?;
    Some(end_of(container_name(role), terminated))
}

fn end_of(name: &str, terminated: &ContainerStateTerminated) -> UnitState {
    let ContainerStateTerminated { exit_code, reason, message, .. } = terminated;
    let kind = match (reason.as_deref(), exit_code) {
        (Some("OOMKilled"), _) => FailureKind::OomKilled,
        (_, 0) => return UnitState::Succeeded,
        (Some("StartError" | "ContainerCannotRun"), _) => FailureKind::StartError,
        // The runtime has lost the container: its end was not seen by anybody.
        (Some("ContainerStatusUnknown"), _) => FailureKind::Lost,
        _ => FailureKind::Exited,
    };
    let mut words = match kind {
        FailureKind::OomKilled => {
            format!("container {name} was killed for memory (exit code {exit_code})")
        }
        FailureKind::StartError => format!("container {name} could not be started"),
        FailureKind::Lost => format!("the end of container {name} was not seen"),
        _ => format!("container {name} ended with exit code {exit_code}"),
    };
    if let Some(message) = message.as_deref().filter(|message| !message.is_empty()) {
        words = format!("{words}: {}", message.trim_end());
    }
    UnitState::Failed { kind, exit_code: Some(*exit_code), message: words }
}

/// A container before ours that ended badly, so that ours will never start.
fn failed_beside(role: Role, status: &PodStatus) -> Option<UnitState> {
    let started =
        container(role, status).and_then(|one| one.state.as_ref()).is_some_and(|state| state.running.is_some());
    if started || status.phase.as_deref() != Some("Failed") {
        return None;
    }
    let inits = status.init_container_statuses.iter().flatten();
    inits
        .filter_map(|one| Some((one, one.state.as_ref()?.terminated.as_ref()?)))
        .find(|(_, terminated)| terminated.exit_code != 0)
        .map(|(one, terminated)| end_of(&one.name, terminated))
}

/// What the pod waits for, when one of its containers says something worse than "starting".
fn waits(status: &PodStatus) -> Option<Waiting> {
    let inits = status.init_container_statuses.iter().flatten();
    let containers = status.container_statuses.iter().flatten();
    inits.chain(containers).filter_map(|one| waiting(one.state.as_ref()?)).find_map(wait_for)
}

fn waiting(state: &ContainerState) -> Option<&ContainerStateWaiting> {
    state.waiting.as_ref()
}

fn wait_for(waiting: &ContainerStateWaiting) -> Option<Waiting> {
    let reason = waiting.reason.as_deref()?;
    let words = match waiting.message.as_deref() {
        Some(message) if !message.is_empty() => format!("{reason}: {message}"),
        _ => reason.to_owned(),
    };
    match reason {
        // `ErrImagePull` is the first failure, and a registry may have a bad second: the kubelet
        // tries again, and from then on says `ImagePullBackOff`. The others never get better.
        "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "InvalidImageName"
        | "ImageInspectError"
        | "SignatureValidationFailed" => Some(Waiting::Image(words)),
        "CreateContainerConfigError" => Some(Waiting::Config(words)),
        "RunContainerError" | "CrashLoopBackOff" | "CreateContainerError" => Some(Waiting::Start(words)),
        _ => None,
    }
}

/// The scheduler's words, when it found no node. A pod behind a gate is not even looked at.
fn unschedulable(status: &PodStatus) -> Option<Waiting> {
    condition(status, "PodScheduled", "False")
        .filter(|condition| condition.reason.as_deref() == Some("Unschedulable"))
        .map(|condition| Waiting::Node(condition.message.clone().unwrap_or_default()))
}

fn condition<'a>(status: &'a PodStatus, type_: &str, wanted: &str) -> Option<&'a PodCondition> {
    let conditions = status.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == type_ && one.status == wanted)
}

fn in_words(condition: &PodCondition) -> String {
    let reason = condition.reason.as_deref().unwrap_or("DisruptionTarget");
    match condition.message.as_deref() {
        Some(message) if !message.is_empty() => format!("{reason}: {message}"),
        _ => reason.to_owned(),
    }
}

/// The image as the runtime resolved it; empty until it has.
fn resolved_image(container: &ContainerStatus) -> Option<String> {
    let image = container.image_id.strip_prefix("docker-pullable://").unwrap_or(&container.image_id);
    (!image.is_empty()).then(|| image.to_owned())
}
