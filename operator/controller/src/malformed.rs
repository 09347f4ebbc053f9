//! A run that cannot be read: written by another version, or before the rules of this one. It ends
//! with a reason, and stops nothing but itself.

use gaugeblock_crds::{
    BenchmarkRunStatus,
    condition::{ConditionType, Reason},
    status::{LONGEST_MESSAGE, Phase},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::core::error_boundary::InvalidObject;

/// The status of a run that cannot be read. The same object gives the same status, so that writing
/// it again changes nothing, and wakes nobody.
pub fn status(invalid: &InvalidObject) -> BenchmarkRunStatus {
    let InvalidObject { error, metadata } = invalid;
    let message: String = format!(
        "the run cannot be read: {error} — correct the manifest and create it anew under this version's schema (`kubectl explain benchmarkrun.spec`)"
    )
    .chars()
    .take(LONGEST_MESSAGE)
    .collect();
    let since = metadata.creation_timestamp.clone().unwrap_or(Time(Timestamp::UNIX_EPOCH));
    let condition = |type_: ConditionType| Condition {
        type_: type_.name().to_owned(),
        status: "True".to_owned(),
        reason: Reason::InvalidSpec.name().to_owned(),
        message: message.clone(),
        observed_generation: metadata.generation,
        last_transition_time: since.clone(),
    };
    BenchmarkRunStatus {
        observed_generation: metadata.generation,
        phase: Phase::Finished,
        reason: Some(Reason::InvalidSpec),
        conditions: vec![condition(ConditionType::Failed), condition(ConditionType::Finished)],
        message: Some(message),
        ..BenchmarkRunStatus::default()
    }
}
