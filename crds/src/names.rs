//! Label and annotation keys, and the names of everything the operator creates. They stand here
//! and nowhere else.

use std::fmt::Write as _;

/// API group.
pub const GROUP: &str = "gaugeblock.dev";
/// API version.
pub const VERSION: &str = "v1alpha1";

/// Label on everything of a run: the run's UID.
pub const LABEL_RUN_UID: &str = "gaugeblock.dev/run-uid";
/// Label on everything of a run: the run's name, shortened to a label value.
pub const LABEL_RUN: &str = "gaugeblock.dev/run";
/// Label on objects: which part they play, such as `target` or `trial-record`.
pub const LABEL_ROLE: &str = "gaugeblock.dev/role";
/// Label on pods and records: block number.
pub const LABEL_BLOCK: &str = "gaugeblock.dev/block";
/// Label on pods and records: index of the arm in the manifest.
pub const LABEL_ARM: &str = "gaugeblock.dev/arm";
/// Label on pods and records: stage inside the trial.
pub const LABEL_STAGE: &str = "gaugeblock.dev/stage";
/// Label on pods and records: attempt at the block.
pub const LABEL_ATTEMPT: &str = "gaugeblock.dev/attempt";
/// Label on pods: index of the dependency in the manifest.
pub const LABEL_DEPENDENCY: &str = "gaugeblock.dev/dependency";
/// Label by which the world knows who manages an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "gaugeblock";
/// Annotation on pods outside the run's namespace: `namespace/name` of the run.
pub const ANNOTATION_RUN: &str = "gaugeblock.dev/run";
/// Annotation on load generators: address and port of the target, known when they are let go.
pub const ANNOTATION_TARGET: &str = "gaugeblock.dev/target";
/// Annotation on claims: name of the node, which may be too long for the claim's own name.
pub const ANNOTATION_NODE: &str = "gaugeblock.dev/node";
/// Scheduling gate on a target until its sampler watches.
pub const GATE_SAMPLER: &str = "gaugeblock.dev/sampler";

/// Role of the ConfigMap with the frozen plan.
pub const ROLE_PLAN: &str = "plan";
/// Role of ConfigMaps with one trial each.
pub const ROLE_TRIAL_RECORD: &str = "trial-record";
/// Role of the ConfigMap with the result.
pub const ROLE_RESULT: &str = "result";
/// Role of the Secret with the password of dependencies.
pub const ROLE_CREDENTIALS: &str = "credentials";
/// Role of the Secret with the ends of logs.
pub const ROLE_LOG: &str = "log";
/// Role of the Lease that claims a node.
pub const ROLE_CLAIM: &str = "claim";

/// Name of the container that is measured.
pub const CONTAINER_TARGET: &str = "target";
/// Name of the dependency's container.
pub const CONTAINER_DEPENDENCY: &str = "dependency";
/// Name of the generator's container.
pub const CONTAINER_GENERATOR: &str = "load-generator";
/// Name of the sampler's container.
pub const CONTAINER_SAMPLER: &str = "sampler";

/// Longest name of an object that we make, and of a label value.
const LONGEST: usize = 63;

/// 64-bit FNV-1a in hexadecimal: short, stable over versions, and not for secrets.
pub fn short_hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut out = String::with_capacity(16);
    let _ = write!(out, "{hash:016x}");
    out
}

/// A name as a label value or a part of a name: DNS label characters only, at most `longest`
/// bytes, never ending in a dash. Different names may give the same text: add a hash where that
/// matters.
pub fn slug(name: &str, longest: usize) -> String {
    let text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(longest)
        .collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "run".to_owned() } else { text.to_owned() }
}

/// The stem of the names of everything of a run: part of its name for people, and a hash of its
/// UID, so that run `a-1` never meets trial 1 of run `a`, nor a later run of the same name.
pub fn stem(run_name: &str, run_uid: &str) -> String {
    format!("{}-{}", slug(run_name, 24), &short_hash(run_uid)[..10])
}

/// `stem-suffix`, at most 63 bytes: stems are at most 35 long and suffixes are ours.
pub fn with_suffix(stem: &str, suffix: &str) -> String {
    let mut name = format!("{stem}-{suffix}");
    name.truncate(LONGEST);
    name
}

/// The run's name as a label value.
pub fn run_label(run_name: &str) -> String {
    slug(run_name, LONGEST)
}

/// Name of the Secret with the ends of logs of a run, from the stem of its names.
pub fn log_secret(stem: &str) -> String {
    with_suffix(stem, "log")
}

/// Name of the Lease that claims a node.
pub fn node_claim(node: &str) -> String {
    format!("gaugeblock-node-{}-{}", slug(node, 30), &short_hash(node)[..8])
}
