//! From the evidence of a run to its verdict.

use crate::arms;
use crate::case::Case;
use crate::evidence::{Comparison, MetricEvidence, Pair};
use crate::judgement::{Finding, Interval, Judgement, Method, Rule, RunJudgement, Scale, Verdict};
use crate::notes::notes;
use crate::policy::Policy;
use crate::reading::Reading;
use crate::rules::rule;
use crate::schedule::Schedule;
use crate::validity::Validity;
use gaugeblock_statistics::adjustment::benjamini_hochberg;

/// Judge a run by what it has measured so far.
///
/// The history of looks is read anew from the pairs: each look sees the pairs it had then, the
/// first decision stands, and nothing is looked at in between. So the same pairs give the same
/// verdict whether it is asked for after every block or once.
pub fn judge(evidence: &[MetricEvidence], policy: &Policy, validity: &Validity) -> RunJudgement {
    let tested = |e: &&MetricEvidence| e.is_gate() && e.comparison != Comparison::Exact;
    let sharing = policy.planned_gates.unwrap_or(evidence.iter().filter(tested).count() as u32);
    judge_by(&Schedule::planned(policy, sharing), evidence, policy, validity)
}

/// The same by a schedule made before, for many runs of one policy: making it takes longer than
/// judging by it.
pub fn judge_by(planned: &Schedule, evidence: &[MetricEvidence], policy: &Policy, validity: &Validity) -> RunJudgement {
    let evidence: Vec<MetricEvidence> = evidence.iter().cloned().map(refuse_non_numbers).collect();
    let ended = validity.ended || validity.clean_blocks >= policy.budget();
    let readings = read(&evidence, policy, planned, ended);
    let judged = |errors: &[(usize, Judgement)], only_errors: bool| -> Vec<(usize, Judgement)> {
        let cases = evidence.iter().zip(&readings).enumerate();
        cases
            .filter(|(_, (e, _))| (e.comparison == Comparison::Errors) == only_errors)
            .map(|(i, (evidence, reading))| {
                let errors = regressed_errors(errors, evidence);
                (i, conclude(&Case { evidence, policy, validity, reading, ended, errors }))
            })
            .collect()
    };
    // Errors first: they bear on what is said about the others.
    let mut all = judged(&[], true);
    all.extend(judged(&all, false));
    all.sort_by_key(|(i, _)| *i);
    let judgements: Vec<Judgement> = all.into_iter().map(|(_, judgement)| judgement).collect();
    conclude_run(judgements, policy, validity, ended)
}

/// A value that is no number makes its metric invalid.
fn refuse_non_numbers(mut evidence: MetricEvidence) -> MetricEvidence {
    let is_number = |pair: &Pair| pair.baseline.is_finite() && pair.candidate.is_finite();
    if let Some(pair) = evidence.pairs.iter().find(|pair| !is_number(pair)) {
        let reason = format!("Block {} has a value of {} that is no number.", pair.block, evidence.metric);
        evidence.invalid.get_or_insert(reason);
        evidence.pairs.clear();
    }
    evidence
}

/// Read every metric; those that do not gate are adjusted among themselves.
fn read(evidence: &[MetricEvidence], policy: &Policy, planned: &Schedule, ended: bool) -> Vec<Reading> {
    let mut readings: Vec<Reading> = evidence
        .iter()
        .map(|evidence| {
            if evidence.is_gate() {
                Reading::of_gate(evidence, policy, planned, ended)
            } else {
                Reading::of_information(evidence, policy, planned, ended)
            }
        })
        .collect();
    let informing: Vec<(usize, f64)> = evidence
        .iter()
        .zip(&readings)
        .enumerate()
        .filter(|(_, (evidence, reading))| !evidence.is_gate() && !reading.is_exact())
        .filter_map(|(i, (_, reading))| reading.p.map(|p| (i, p)))
        .collect();
    let p: Vec<f64> = informing.iter().map(|(_, p)| *p).collect();
    for ((i, _), adjusted) in informing.into_iter().zip(benjamini_hochberg(&p)) {
        readings[i].inform(adjusted, evidence[i].direction, policy);
    }
    readings
}

/// The sentence of an error metric of the same arm that regressed, in the same scenario or in
/// the whole trial.
fn regressed_errors<'a>(errors: &'a [(usize, Judgement)], evidence: &MetricEvidence) -> Option<&'a str> {
    errors
        .iter()
        .map(|(_, judgement)| judgement)
        .filter(|errors| errors.verdict == Verdict::Regressed && errors.arm == evidence.arm)
        .find(|errors| errors.scenario.is_none() || errors.scenario == evidence.scenario)
        .map(Judgement::reason)
}

/// The judgement of one case.
fn conclude(case: &Case) -> Judgement {
    let evidence = case.evidence;
    let reading = case.reading;
    let ruling = rule(case);
    let mut findings = vec![ruling.finding];
    findings.extend(notes(case, ruling.verdict));

    let look = reading.look.as_ref();
    let pairs = look.map_or(evidence.pairs.len() as u32, |look| {
        if look.method == Method::Exact { evidence.pairs.len() as u32 } else { look.planned.pairs }
    });
    let used = &evidence.pairs[..pairs as usize];
    let baseline: Vec<f64> = used.iter().map(|pair| pair.baseline).collect();
    let candidate: Vec<f64> = used.iter().map(|pair| pair.candidate).collect();
    let plain = crate::contrast::Contrast::of(evidence, used);
    let contrast = look.map_or(&plain, |look| &look.contrast);
    Judgement {
        arm: evidence.arm.clone(),
        scenario: evidence.scenario.clone(),
        metric: evidence.metric.clone(),
        unit: evidence.unit.clone(),
        direction: evidence.direction,
        gates: evidence.is_gate(),
        verdict: ruling.verdict,
        scale: contrast.scale,
        effect: look.map(|look| look.contrast.effect(look.estimate)).or(reading.estimate),
        interval: look.map(|look| Interval {
            low: look.contrast.effect(look.interval.low),
            high: look.contrast.effect(look.interval.high),
            level: 1.0 - look.planned.nominal_p,
        }),
        p: reading.p,
        pairs,
        minimum_effect: contrast.effect(contrast.threshold),
        smallest_visible_effect: look
            .and_then(|look| look.smallest_visible(look.planned.pairs, look.planned.nominal_p)),
        smallest_visible_effect_at_budget: look
            .zip(reading.at_budget)
            .and_then(|(look, last)| look.smallest_visible(last.pairs, last.nominal_p)),
        crossed_at: reading.crossed.map(|(_, at)| at),
        baseline: arms::summary(&baseline),
        candidate: arms::summary(&candidate),
        method: look.map_or(plain_method(evidence, contrast.scale), |look| look.method),
        findings,
    }
}

/// How a metric will be tested once it has enough pairs.
fn plain_method(evidence: &MetricEvidence, scale: Scale) -> Method {
    match (evidence.comparison, scale) {
        (Comparison::Exact, _) => Method::Exact,
        (Comparison::Ratio, Scale::Relative) => Method::PairedT,
        (Comparison::Ratio, Scale::Absolute) | (Comparison::Difference | Comparison::Errors, _) => Method::DifferenceT,
    }
}

/// The run's verdict: the worst of its gates.
fn conclude_run(judgements: Vec<Judgement>, policy: &Policy, validity: &Validity, ended: bool) -> RunJudgement {
    let gates = || judgements.iter().filter(|judgement| judgement.gates);
    let count = gates().count() as u32;
    let verdict = gates().map(|gate| gate.verdict).reduce(Verdict::worst);
    let decided = count > 0 && gates().all(is_decided);
    let next_look = if decided || ended { None } else { policy.next_look(validity.clean_blocks) };
    let mut findings = Vec::new();
    if count == 0 {
        let sentence = "No metric of this run gates, so it has no verdict.".to_owned();
        findings.push(Finding { rule: Rule::NothingGates, sentence });
    }
    findings.extend(void_blocks(validity));
    RunJudgement {
        verdict: verdict.unwrap_or(Verdict::Inconclusive),
        decided,
        next_look,
        gates: count,
        judgements,
        findings,
    }
}

/// Whether further blocks cannot change a gate's answer.
fn is_decided(gate: &Judgement) -> bool {
    let last_word = gate.findings.first().is_some_and(|f| f.rule == Rule::ErrorsIncreased);
    gate.verdict.is_final() || last_word
}

/// How many blocks were void, and whose trials made them so.
fn void_blocks(validity: &Validity) -> Option<Finding> {
    if validity.void_blocks == 0 {
        return None;
    }
    let by_arm: Vec<String> =
        validity.arms.iter().map(|voids| format!("{} {}", voids.arm, voids.void_trials)).collect();
    let all = validity.void_blocks + validity.clean_blocks;
    let sentence = format!(
        "{} of {all} blocks were disturbed from outside and repeated; void trials by arm: {}.",
        validity.void_blocks,
        if by_arm.is_empty() { "not recorded".to_owned() } else { by_arm.join(", ") },
    );
    Some(Finding { rule: Rule::VoidBlocks, sentence })
}
