//! From stored trials to a judgement.

use std::collections::BTreeSet;

use gaugeblock_crds::{comparison::MetricRule, run::Purpose};
use gaugeblock_measurement::{Direction, MetricName, Outcome, Unit, trial::VoidCause};
use gaugeblock_verdict::{
    ArmVoids, Comparison, Direction as Judged, MetricEvidence, MinimumEffect, Pair, Policy, RunJudgement, Validity,
    quantity::quantity,
};

use crate::{
    observed::{Slot, TrialSummary},
    snapshot::Snapshot,
};

/// Requests that must lie beyond a quantile in every trial before it may gate: its own error is
/// then below that of the trials.
const BEYOND_NEEDED: f64 = 200.0;

/// Share of a latency that may be the generator's own lateness.
const LATE_SHARE: f64 = 0.1;

/// Where one metric of one arm stands: what it is of.
type Key = (MetricName, Option<String>);

/// The policy of a run.
pub fn policy(snapshot: &Snapshot) -> Policy {
    let blocks = u32::try_from(snapshot.spec.repetitions.blocks).unwrap_or(1);
    let mut policy = Policy::for_budget(blocks);
    if let Ok(share) = snapshot.spec.comparison.error_rate.share() {
        policy.alpha_per_run = share.clamp(1e-6, 0.5);
    }
    if !snapshot.spec.repetitions.stop_early {
        policy.looks = vec![blocks];
    }
    policy
}

/// What the trials stored so far say, at the last look reached. `ended`: no more trials will come.
pub fn judge(snapshot: &Snapshot, trials: &[TrialSummary], ended: bool) -> RunJudgement {
    gaugeblock_verdict::judge(&evidence(snapshot, trials), &policy(snapshot), &validity(snapshot, trials, ended))
}

/// Blocks that count: measured whole by every arm, block 0 not among them, in order.
pub fn clean_blocks(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<(u32, u32)> {
    let mut blocks: Vec<(u32, u32)> = trials
        .iter()
        .filter(|trial| trial.slot.block > 0)
        .map(|trial| (trial.slot.block, trial.slot.attempt))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|(block, attempt)| is_clean(snapshot, trials, *block, *attempt))
        .collect();
    blocks.dedup_by_key(|(block, _)| *block);
    blocks
}

/// Whether every stage of every arm of this attempt at a block was measured whole.
pub fn is_clean(snapshot: &Snapshot, trials: &[TrialSummary], block: u32, attempt: u32) -> bool {
    let needed = snapshot.spec.targets.len() * snapshot.stages.len();
    let complete = trials
        .iter()
        .filter(|trial| {
            trial.slot.block == block && trial.slot.attempt == attempt && trial.outcome == Outcome::Complete
        })
        .map(|trial| trial.slot)
        .collect::<BTreeSet<Slot>>();
    complete.len() == needed
}

/// Whether a trial of this attempt was void.
pub fn is_void(trials: &[TrialSummary], block: u32, attempt: u32) -> bool {
    trials.iter().any(|trial| {
        trial.slot.block == block && trial.slot.attempt == attempt && matches!(trial.outcome, Outcome::Void(..))
    })
}

/// Number of void attempts at blocks.
pub fn void_blocks(trials: &[TrialSummary]) -> u32 {
    let void: BTreeSet<_> = trials
        .iter()
        .filter(|trial| matches!(trial.outcome, Outcome::Void(..)))
        .map(|trial| (trial.slot.block, trial.slot.attempt))
        .collect();
    void.len() as u32
}

fn validity(snapshot: &Snapshot, trials: &[TrialSummary], ended: bool) -> Validity {
    let measured: Vec<_> =
        trials.iter().filter(|trial| trial.slot.block > 0 && trial.slot.stage == 0).cloned().collect();
    let void = void_blocks(&measured);
    let arms = if void == 0 {
        Vec::new()
    } else {
        snapshot
            .spec
            .targets
            .iter()
            .enumerate()
            .map(|(index, target)| {
                let own = measured.iter().filter(|trial| trial.slot.arm as usize == index);
                let by_itself = |trial: &&TrialSummary| {
                    matches!(&trial.outcome, Outcome::Void(cause, _) if *cause != VoidCause::BlockVoid)
                };
                ArmVoids {
                    arm: target.name.clone(),
                    void_trials: own.clone().filter(by_itself).count() as u32,
                    trials: own.count() as u32,
                }
            })
            .collect()
    };
    Validity {
        clean_blocks: clean_blocks(snapshot, trials).len() as u32,
        void_blocks: void,
        arms,
        baseline: snapshot.spec.targets.get(snapshot.baseline()).map(|target| target.name.clone()).unwrap_or_default(),
        ended,
    }
}

/// Every metric of every candidate, pair by pair.
fn evidence(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<MetricEvidence> {
    let blocks = clean_blocks(snapshot, trials);
    let keys = keys(snapshot, trials);
    let baseline = snapshot.baseline();
    let mut evidence = Vec::new();
    for (index, target) in snapshot.spec.targets.iter().enumerate().filter(|(index, _)| *index != baseline) {
        for key in &keys {
            let pairs: Vec<Pair> = blocks
                .iter()
                .filter_map(|(block, attempt)| {
                    let value = |arm| value(trials, *block, *attempt, arm, key);
                    Some(Pair { block: *block, baseline: value(baseline)?, candidate: value(index)? })
                })
                .collect();
            if !pairs.is_empty() {
                evidence.push(of_metric(snapshot, trials, &target.name, key, pairs));
            }
        }
    }
    evidence
}

/// What was measured anywhere, in the order in which metrics and scenarios are shown.
fn keys(snapshot: &Snapshot, trials: &[TrialSummary]) -> Vec<Key> {
    let seen: BTreeSet<Key> = trials
        .iter()
        .flat_map(|trial| &trial.metrics)
        .filter(|value| value.request.is_none() && !of_the_generator(value.metric))
        .map(|value| (value.metric, value.scenario.clone()))
        .collect();
    let place = |scenario: &Option<String>| {
        let name = scenario.as_deref();
        snapshot.spec.scenarios.iter().position(|scenario| Some(scenario.name.as_str()) == name)
    };
    let mut keys: Vec<Key> = seen.into_iter().collect();
    keys.sort_by_key(|(metric, scenario)| (place(scenario), *metric));
    keys
}

/// What is said of the load generator itself is no property of an arm.
fn of_the_generator(metric: MetricName) -> bool {
    matches!(metric, MetricName::SendLatenessP50 | MetricName::SendLatenessP99)
}

/// One arm's value in one block. A metric of the trial as a whole is that of its first stage.
fn value(trials: &[TrialSummary], block: u32, attempt: u32, arm: usize, key: &Key) -> Option<f64> {
    trials
        .iter()
        .filter(|trial| trial.slot.block == block && trial.slot.attempt == attempt && trial.slot.arm as usize == arm)
        .flat_map(|trial| &trial.metrics)
        .find(|value| value.metric == key.0 && value.scenario == key.1 && value.request.is_none())
        .map(|value| value.value)
}

fn of_metric(snapshot: &Snapshot, trials: &[TrialSummary], arm: &str, key: &Key, pairs: Vec<Pair>) -> MetricEvidence {
    let (metric, scenario) = key;
    let rule = rule(&snapshot.spec.comparison.metrics, *metric, scenario.as_deref());
    let wanted =
        rule.and_then(|rule| rule.gate).unwrap_or_else(|| gates_by_default(snapshot, *metric, scenario.as_deref()));
    let mut evidence = MetricEvidence::new(arm, metric.name(), unit(metric.unit()), minimum_effect(*metric, rule));
    evidence.scenario.clone_from(scenario);
    evidence.direction = match metric.direction() {
        Direction::HigherIsBetter => Judged::HigherIsBetter,
        Direction::LowerIsBetter | Direction::Neutral => Judged::LowerIsBetter,
    };
    evidence.comparison = match metric {
        MetricName::ErrorShare => Comparison::Errors,
        MetricName::ThrottledShare | MetricName::IdleCores => Comparison::Difference,
        _ => Comparison::Ratio,
    };
    evidence.gates = wanted && snapshot.spec.purpose == Purpose::Gate;
    evidence.gate_refused = if evidence.gates { refused(trials, key) } else { None };
    evidence.pairs = pairs;
    evidence
}

/// The most particular rule that the run's owner wrote for a metric.
fn rule<'a>(rules: &'a [MetricRule], metric: MetricName, scenario: Option<&str>) -> Option<&'a MetricRule> {
    let of_metric = || rules.iter().filter(|rule| rule.metric == metric.name());
    of_metric()
        .find(|rule| rule.scenario.is_some() && rule.scenario.as_deref() == scenario)
        .or_else(|| of_metric().find(|rule| rule.scenario.is_none()))
}

/// CPU per request at a fixed rate, anonymous memory under it, open-loop median, closed-loop
/// throughput, and errors.
fn gates_by_default(snapshot: &Snapshot, metric: MetricName, scenario: Option<&str>) -> bool {
    let open = snapshot
        .spec
        .scenarios
        .iter()
        .find(|candidate| Some(candidate.name.as_str()) == scenario)
        .and_then(|scenario| scenario.http.as_ref())
        .is_some_and(|http| http.load.open.is_some());
    match metric {
        MetricName::CpuPerRequest | MetricName::LatencyP50 | MetricName::MemoryAnonymous => open,
        MetricName::Throughput => scenario.is_some() && !open,
        MetricName::ErrorShare => true,
        _ => false,
    }
}

/// Why a metric may not gate, whoever asks.
fn refused(trials: &[TrialSummary], key: &Key) -> Option<String> {
    let (metric, _) = key;
    match metric {
        MetricName::ClosedLatencyP50 | MetricName::ClosedLatencyP99 => {
            Some("in a closed loop latency is connections ÷ throughput: gate throughput instead".into())
        }
        MetricName::CpuPerRequestSaturated => {
            Some("CPU per request depends on the rate: gate it in an open workload at a fixed rate".into())
        }
        MetricName::LatencyP50 => late(trials, key, MetricName::SendLatenessP50),
        MetricName::LatencyP90 | MetricName::LatencyP95 | MetricName::LatencyP99 | MetricName::LatencyP999 => {
            if let Some(late) = late(trials, key, MetricName::SendLatenessP99) {
                return Some(late);
            }
            let fewest = trials
                .iter()
                .filter(|trial| trial.slot.block > 0 && trial.outcome == Outcome::Complete)
                .flat_map(|trial| &trial.metrics)
                .filter(|value| (value.metric, &value.scenario) == (key.0, &key.1) && value.request.is_none())
                .filter_map(|value| value.beyond)
                .reduce(f64::min)?;
            (fewest < BEYOND_NEEDED).then(|| {
                format!("only {fewest:.0} requests lie beyond it in a trial, {BEYOND_NEEDED:.0} are needed: measure longer, or at a higher rate")
            })
        }
        _ => None,
    }
}

/// The generator's own lateness is part of every latency from the intended time: where it is not
/// small beside it, the latency tells of the generator.
fn late(trials: &[TrialSummary], key: &Key, lateness: MetricName) -> Option<String> {
    let of = |trial: &TrialSummary, metric| {
        let mut values = trial.metrics.iter().filter(|value| value.request.is_none() && value.scenario == key.1);
        values.find(|value| value.metric == metric).map(|value| value.value)
    };
    let clean = trials.iter().filter(|trial| trial.slot.block > 0 && trial.outcome == Outcome::Complete);
    let worst = clean
        .filter_map(|trial| Some((of(trial, lateness)?, of(trial, key.0)?)))
        .max_by(|(late, all), (other_late, other_all)| (late / all).total_cmp(&(other_late / other_all)))?;
    (worst.0 > LATE_SHARE * worst.1).then(|| {
        format!(
            "the load generator itself sent up to {} late, of {} in all: give it a CPU of its own",
            quantity(worst.0, "s"),
            quantity(worst.1, "s"),
        )
    })
}

/// The smallest effect that matters, by default or by the owner's rule.
fn minimum_effect(metric: MetricName, rule: Option<&MetricRule>) -> MinimumEffect {
    let (relative, absolute) = match metric {
        MetricName::MemoryAnonymous
        | MetricName::MemoryAnonymousPeak
        | MetricName::MemoryAnonymousStart
        | MetricName::MemoryAnonymousIdle
        | MetricName::MemoryPrivate
        | MetricName::MemoryWorkingSet
        | MetricName::MemoryPeak => (0.03, Some(1_048_576.0)),
        MetricName::LatencyP90 | MetricName::LatencyP95 => (0.05, None),
        MetricName::LatencyP99 | MetricName::LatencyP999 | MetricName::LatencyMax => (0.10, None),
        MetricName::StartListening | MetricName::StartAnswering => (0.05, Some(0.005)),
        // A tenth of a percentage point.
        MetricName::ErrorShare | MetricName::ThrottledShare => (0.0, Some(0.001)),
        MetricName::IdleCores => (0.0, Some(0.005)),
        _ => (0.03, None),
    };
    let own = rule.and_then(|rule| rule.minimum_effect.as_ref()).and_then(|percent| percent.share().ok());
    let own_absolute = rule.and_then(|rule| rule.minimum_effect_absolute.as_ref()).and_then(|value| value.value().ok());
    // An owner who names only a share means it: our absolute default must not hide it.
    let absolute = if own.is_some() { own_absolute } else { own_absolute.or(absolute) };
    MinimumEffect { relative: own.unwrap_or(relative), absolute }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::PerSecond => "1/s",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
        Unit::Cores => "cores",
        Unit::Share => "1",
        Unit::Count => "count",
    }
}
