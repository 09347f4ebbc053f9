//! What became of a trial, from its records and from what was known when they were read.

use std::collections::BTreeMap;

use gaugeblock_measurement::{
    GeneratorRecord, Outcome, RECORD_VERSION, ResultUnreadable, SamplerRecord, TrialRecord, UnixNanos, derive,
    generator::GeneratorFailure,
    limit::LimitedBy,
    sampler::{End, Exclusivity},
    trial::{TargetLoss, VoidCause},
};

use crate::{action::Conclusion, observed::TrialSummary, snapshot::Snapshot};

/// Share of a window that the hypervisor may take from a target's CPU before the trial is void.
/// Quiet virtual machines show under one per cent.
const STEAL_ALLOWED: f64 = 0.05;

/// The record to store, and its summary. Call with what the two logs gave: `None` where the
/// unit had not ended.
pub fn conclude(
    snapshot: &Snapshot,
    conclusion: &Conclusion,
    generator: Option<Result<GeneratorRecord, ResultUnreadable>>,
    sampler: Option<Result<SamplerRecord, ResultUnreadable>>,
    now: UnixNanos,
) -> (TrialRecord, TrialSummary) {
    let outcome = outcome(&conclusion.outcome, generator.as_ref(), sampler.as_ref(), snapshot.needs_isolation());
    let record = TrialRecord {
        version: RECORD_VERSION,
        trial: conclusion.slot.trial_id(snapshot),
        position: conclusion.position,
        started: conclusion.started,
        ended: now,
        outcome,
        placement: conclusion.placement.clone(),
        generator: generator.and_then(Result::ok),
        sampler: sampler.and_then(Result::ok),
    };
    let summary = summary(conclusion, &record);
    (record, summary)
}

/// What is kept at hand of a record.
fn summary(conclusion: &Conclusion, record: &TrialRecord) -> TrialSummary {
    let both = record.generator.as_ref().zip(record.sampler.as_ref());
    let proof = record.sampler.as_ref().map(|sampler| sampler.exclusivity.as_slice()).unwrap_or_default();
    TrialSummary {
        slot: conclusion.slot,
        position: record.position,
        outcome: record.outcome.clone(),
        metrics: both.map(|(generator, sampler)| derive::metrics(generator, sampler)).unwrap_or_default(),
        scenario_hashes: record.generator.as_ref().map(scenario_hashes).unwrap_or_default(),
        exclusive: proof.last().map(|last| last.exclusive),
        cpus: cpus(proof),
        limits: both
            .map(|(generator, sampler)| {
                generator
                    .scenarios
                    .iter()
                    .map(|scenario| (scenario.name.clone(), derive::limit(scenario, sampler)))
                    .collect()
            })
            .unwrap_or_default(),
        speed: record.sampler.as_ref().map(|sampler| sampler.speed.clone()).unwrap_or_default(),
        image: record.placement.target_image.clone(),
        started: record.started,
        ended: record.ended,
        notes: notes(record),
    }
}

fn scenario_hashes(generator: &GeneratorRecord) -> BTreeMap<String, String> {
    generator.scenarios.iter().map(|scenario| (scenario.name.clone(), scenario.scenario_hash.clone())).collect()
}

fn cpus(proof: &[Exclusivity]) -> String {
    let Some(last) = proof.last() else {
        return String::new();
    };
    match &last.reason {
        Some(reason) => format!("CPU {}: {reason}", last.target_cpus),
        None => format!("CPU {}", last.target_cpus),
    }
}

fn notes(record: &TrialRecord) -> Vec<String> {
    let mut notes = record.placement.shared_cpus.clone();
    if let Some(sampler) = &record.sampler {
        notes.extend(sampler.notes.iter().cloned());
        if sampler.starts.iter().any(|start| !start.watched) {
            notes.push("the sampler did not see the target start: its start-up is not reported".into());
        }
    }
    if let Some(generator) = &record.generator {
        for scenario in &generator.scenarios {
            let checkpoints = scenario.dependency_counters.get("checkpoints").copied().unwrap_or(0.0);
            if checkpoints > 0.0 {
                notes.push(format!("{}: {checkpoints:.0} checkpoint(s) inside the window", scenario.name));
            }
        }
    }
    notes
}

/// The outcome, cause by cause: first what was seen from outside, then what the records say.
fn outcome(
    known: &Outcome,
    generator: Option<&Result<GeneratorRecord, ResultUnreadable>>,
    sampler: Option<&Result<SamplerRecord, ResultUnreadable>>,
    needs_isolation: bool,
) -> Outcome {
    let sampled = sampler.and_then(|sampler| sampler.as_ref().ok());
    // The API's reason is not reliable: the kernel's own count of kills is.
    if let Some(killed) = sampled.and_then(out_of_memory)
        && !matches!(known, Outcome::Void(..))
    {
        return Outcome::LostToTarget(TargetLoss::OomKilled, killed);
    }
    if *known != Outcome::Complete {
        return known.clone();
    }
    let unreadable = |error: &ResultUnreadable| Outcome::Void(VoidCause::ResultUnreadable, error.to_string());
    let generator = match generator {
        None => {
            return Outcome::Void(VoidCause::GeneratorFailed, "the load generator is gone without a record".into());
        }
        Some(Err(error)) => return unreadable(error),
        Some(Ok(record)) => record,
    };
    if let Some(failure) = &generator.failure {
        return failed(failure);
    }
    let sampler = match sampler {
        None => {
            return Outcome::Void(VoidCause::SamplerFailed, "the sampler is gone without a record".into());
        }
        Some(Err(error)) => return unreadable(error),
        Some(Ok(record)) => record,
    };
    void_by_sampler(generator, sampler)
        .or_else(|| void_by_generator(generator))
        .or_else(|| if needs_isolation { not_yet_alone(generator, sampler) } else { None })
        .unwrap_or(Outcome::Complete)
}

fn out_of_memory(sampler: &SamplerRecord) -> Option<String> {
    let target = sampler.series.iter().find(|series| series.target && series.oom_kills > 0)?;
    let peak = target.peak.or_else(|| target.anonymous.iter().copied().max()).unwrap_or(0);
    let limit = target.memory_limit.map_or_else(String::new, |limit| format!(", limit {} MiB", limit >> 20));
    Some(format!("the kernel killed {} process(es) of the target; peak {} MiB{limit}", target.oom_kills, peak >> 20))
}

fn failed(failure: &GeneratorFailure) -> Outcome {
    match failure {
        GeneratorFailure::NeverReady { last } => Outcome::LostToTarget(
            TargetLoss::NeverReady,
            format!("the target gave no correct answer in time; last: {last}"),
        ),
        GeneratorFailure::TargetGone { scenario } => {
            Outcome::LostToTarget(TargetLoss::Exited, format!("the target stopped listening during {scenario}"))
        }
        GeneratorFailure::SettleFailed { dependency, message } => {
            Outcome::Void(VoidCause::DependencyFailed, format!("{dependency} could not be settled: {message}"))
        }
        GeneratorFailure::DeadlineExceeded { scenario } => {
            Outcome::Void(VoidCause::GeneratorFailed, format!("the time for the trial was used up during {scenario}"))
        }
        GeneratorFailure::Interrupted => {
            Outcome::Void(VoidCause::Disrupted, "the load generator was told to stop".into())
        }
    }
}

fn void_by_sampler(generator: &GeneratorRecord, sampler: &SamplerRecord) -> Option<Outcome> {
    let void = |cause, message: String| Some(Outcome::Void(cause, message));
    match sampler.end {
        End::TargetGone => {}
        End::NeverAppeared => {
            return void(VoidCause::SamplerFailed, "the sampler never saw the target".into());
        }
        End::DeadlineExceeded => {
            return void(VoidCause::SamplerFailed, "the sampler's time was used up".into());
        }
        End::Interrupted => {
            return void(VoidCause::Disrupted, "the sampler was told to stop".into());
        }
    }
    if !sampler.series.iter().any(|series| series.target && !series.at.is_empty()) {
        let notes = sampler.notes.join("; ");
        return void(
            VoidCause::SamplerFailed,
            format!("the sampler saw the target's pod, but read nothing of its container; {notes}"),
        );
    }
    for scenario in &generator.scenarios {
        if scenario.window.start < sampler.started || sampler.ended < scenario.window.end {
            let message = format!(
                "{}: the window lies outside the sampler's time: the clocks of the two nodes disagree",
                scenario.name
            );
            return void(VoidCause::ClockSkew, message);
        }
        for cpu in &sampler.cpus {
            let stolen = derive::increase(&cpu.at, &cpu.steal, scenario.window).unwrap_or(0.0);
            let share = stolen / scenario.window.seconds().max(f64::MIN_POSITIVE);
            if share > STEAL_ALLOWED {
                let message =
                    format!("{}: the hypervisor took {:.1} % of CPU {}", scenario.name, 100.0 * share, cpu.cpu);
                return void(VoidCause::Steal, message);
            }
        }
    }
    None
}

fn void_by_generator(generator: &GeneratorRecord) -> Option<Outcome> {
    let scenario = generator.scenarios.iter().find(|scenario| scenario.limit.by == LimitedBy::Generator)?;
    let message = format!("{}: {}", scenario.name, scenario.limit.evidence.join("; "));
    Some(Outcome::Void(VoidCause::GeneratorSaturated, message))
}

/// The kubelet moves other containers off a CPU that it gives away exclusively only every ten
/// seconds (`cpuManagerReconcilePeriod`): until then they share it, and a window must not have
/// begun.
fn not_yet_alone(generator: &GeneratorRecord, sampler: &SamplerRecord) -> Option<Outcome> {
    let proof = &sampler.exclusivity;
    if !proof.last()?.exclusive {
        // Not a matter of time: the run is told so, once, by the last proof.
        return None;
    }
    generator.scenarios.iter().find_map(|scenario| {
        let before = proof.iter().rev().find(|proof| proof.at <= scenario.window.start).or(proof.first());
        let inside = proof.iter().filter(|proof| scenario.window.contains(proof.at));
        let shared = before.into_iter().chain(inside).find(|proof| !proof.exclusive)?;
        let reason = shared.reason.as_deref().unwrap_or("another container could use it");
        let message = format!(
            "{}: CPU {} was not the target's alone in the window: {reason} — set the kubelet's cpuManagerReconcilePeriod to 1s, or lengthen repetitions.idle or warmUp",
            scenario.name, shared.target_cpus
        );
        Some(Outcome::Void(VoidCause::Neighbours, message))
    })
}
