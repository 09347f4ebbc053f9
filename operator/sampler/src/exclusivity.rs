//! Whether the target has its CPUs to itself, and if not, why.
//!
//! The API never tells. The kernel does: the kubelet's static policy gives a container CPUs of its
//! own only when its pod is Guaranteed (limits equal requests in *every* container) and the
//! container's CPU is a whole number; it then takes them out of the CPU set of all others
//! (`pkg/kubelet/cm/cpumanager/policy_static.go`). Everything else lives in the shared pool, silently.

use gaugeblock_measurement::{
    UnixNanos,
    sampler::{Exclusivity, Neighbour},
};

use crate::{cgroup::kubepods::Qos, cpu_set::CpuSet};

/// The target's side of the question.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its CPU set.
    pub cpus: CpuSet,
    /// CFS quota in CPUs.
    pub quota: Option<f64>,
    /// Quality of service of its pod; `None` without Kubernetes.
    pub qos: Option<Qos>,
}

/// Another container or process unit of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// UID of its pod, or name of the unit.
    pub pod_uid: String,
    /// Its container ID, empty for a process unit.
    pub container_id: String,
    /// Its CPU set.
    pub cpus: CpuSet,
}

/// Judges one reading; `online` are the machine's CPUs.
pub fn judge(at: UnixNanos, claim: &Claim, others: &[Other], online: &CpuSet) -> Exclusivity {
    let symptoms = symptoms(claim, others, online);
    let cause = cause(claim);
    let reasons: Vec<String> = if claim.qos.is_some() && !symptoms.is_empty() {
        let cause = cause.unwrap_or_else(|| pool(claim, others, online).to_owned());
        symptoms.into_iter().chain([cause]).collect()
    } else {
        symptoms.into_iter().chain(cause).collect()
    };
    Exclusivity {
        at,
        target_cpus: claim.cpus.to_string(),
        quota_cpus: claim.quota,
        others: others
            .iter()
            .map(|other| Neighbour {
                pod_uid: other.pod_uid.clone(),
                container_id: other.container_id.clone(),
                cpus: other.cpus.to_string(),
                overlaps: !other.cpus.shared_with(&claim.cpus).is_empty(),
            })
            .collect(),
        exclusive: reasons.is_empty(),
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

const SHARED_POOL: &str = "the kubelet gave it the shared pool (cpu is no whole number such as 1500m, limits differ from \
     requests, a container of the pod has no limits, or the node's CPU manager policy is not static)";

const NOT_YET: &str = "the kubelet has given it CPUs of its own, but not yet taken them from the others: it does that at \
     its next reconciliation (cpuManagerReconcilePeriod, by default 10 s)";

/// Why CPUs are shared although the pod could have been given its own: in the shared pool, all have
/// the same set; a neighbour with a larger one has been there before, and has not been told yet.
fn pool(claim: &Claim, others: &[Other], online: &CpuSet) -> &'static str {
    let mut sharing = others.iter().filter(|other| !other.cpus.shared_with(&claim.cpus).is_empty());
    let larger = |other: &Other| claim.cpus.is_within(&other.cpus) && claim.cpus != other.cpus;
    if !online.is_within(&claim.cpus) && sharing.all(larger) { NOT_YET } else { SHARED_POOL }
}

/// What is seen.
fn symptoms(claim: &Claim, others: &[Other], online: &CpuSet) -> Vec<String> {
    let mut symptoms = Vec::new();
    if claim.cpus.is_empty() {
        symptoms.push("its CPU set could not be read".to_owned());
    } else if online.is_within(&claim.cpus) {
        symptoms.push(format!("its CPU set ({}) is the whole machine", claim.cpus));
    }
    let shared: Vec<String> = others.iter().filter_map(|other| other.sharing(&claim.cpus)).collect();
    match shared.as_slice() {
        [] => {}
        [one] => symptoms.push(format!("it shares {one}")),
        [one, rest @ ..] => symptoms.push(format!("it shares {one}, and with {} more", rest.len())),
    }
    symptoms
}

/// What the folders tell of why, where they do: a set that nobody overlaps at the moment is still
/// the shared pool when the pod could not have been given CPUs of its own.
fn cause(claim: &Claim) -> Option<String> {
    match claim.qos {
        None => return None,
        Some(Qos::Guaranteed) => {}
        Some(qos) => {
            return Some(format!(
                "its pod is {}, and the kubelet gives CPUs of their own only to pods whose every container has \
                 limits equal to its requests",
                qos.name()
            ));
        }
    }
    // Newer kubelets set no quota on exclusive CPUs, older ones one of exactly as many CPUs.
    let quota = claim.quota.filter(|quota| (quota - claim.cpus.len() as f64).abs() > 1e-3)?;
    Some(format!(
        "its CPU limit is {quota}, and the kubelet gives CPUs of their own only to containers that ask for a whole number"
    ))
}

impl Other {
    fn sharing(&self, cpus: &CpuSet) -> Option<String> {
        let shared = self.cpus.shared_with(cpus);
        if shared.is_empty() {
            return None;
        }
        Some(if self.container_id.is_empty() {
            format!("CPU {shared} with {}", self.pod_uid)
        } else {
            let id: String = self.container_id.chars().take(12).collect();
            format!("CPU {shared} with container {id} of pod {}", self.pod_uid)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(cpus: &str, quota: Option<f64>, qos: Option<Qos>) -> Claim {
        Claim { cpus: cpus.parse().unwrap(), quota, qos }
    }

    fn reason(claim: &Claim, others: &[&str]) -> Option<String> {
        let others: Vec<Other> = others
            .iter()
            .map(|cpus| Other {
                pod_uid: "p".into(),
                container_id: "0123456789abcdef".into(),
                cpus: cpus.parse().unwrap(),
            })
            .collect();
        let judged = judge(UnixNanos(0), claim, &others, &"0-3".parse().unwrap());
        assert_eq!(judged.exclusive, judged.reason.is_none());
        judged.reason
    }

    #[test]
    fn a_cpu_of_its_own_is_exclusive_with_no_quota_or_a_whole_one() {
        for quota in [None, Some(1.0)] {
            assert_eq!(reason(&claim("1", quota, Some(Qos::Guaranteed)), &["0,2-3", "0,2-3"]), None);
        }
    }

    #[test]
    fn the_whole_machine_is_never_exclusive() {
        let why = reason(&claim("0-3", None, Some(Qos::Guaranteed)), &[]).unwrap();
        assert!(
            why.starts_with("its CPU set (0-3) is the whole machine; the kubelet gave it the shared pool"),
            "{why}"
        );
    }

    #[test]
    fn a_neighbour_is_named() {
        let why = reason(&claim("0,3", Some(1.5), Some(Qos::Guaranteed)), &["0,3", "0,3"]).unwrap();
        assert_eq!(
            why,
            "it shares CPU 0,3 with container 0123456789ab of pod p, and with 1 more; its CPU limit is 1.5, and the \
             kubelet gives CPUs of their own only to containers that ask for a whole number"
        );
    }

    #[test]
    fn a_neighbour_that_has_not_been_moved_yet_is_told_from_the_shared_pool() {
        let owner = claim("1", None, Some(Qos::Guaranteed));
        assert!(reason(&owner, &["0-3", "0,2-3"]).unwrap().contains("but not yet taken them from the others"));
        assert!(reason(&owner, &["0-3", "1"]).unwrap().contains("the kubelet gave it the shared pool"));
    }

    #[test]
    fn the_shared_pool_is_not_exclusive_even_when_nobody_is_in_it() {
        assert!(reason(&claim("0,3", None, Some(Qos::Burstable)), &["1"]).unwrap().starts_with("its pod is Burstable"));
        assert!(
            reason(&claim("0,3", Some(0.1), Some(Qos::Guaranteed)), &["1"])
                .unwrap()
                .starts_with("its CPU limit is 0.1")
        );
    }

    #[test]
    fn without_kubernetes_only_the_sets_count() {
        assert_eq!(reason(&claim("1", None, None), &["0"]), None);
        assert!(reason(&claim("0-3", None, None), &[]).unwrap().ends_with("is the whole machine"));
    }
}
