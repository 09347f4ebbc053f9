//! Each rule answers when it should, and says so in a sentence with numbers and units.

#![allow(clippy::unwrap_used)]

mod support;

use gaugeblock_verdict::{
    ArmVoids, Comparison, Direction, Judgement, Method, MetricEvidence, MinimumEffect, Policy, Prior, Rule,
    RunJudgement, Scale, Validity, Verdict, judge,
};
use support::{gate, judged, with_pairs};

/// A share of the true effect by which the eight pairs vary.
const SPREAD: [f64; 8] = [0.004, -0.003, 0.001, -0.002, 0.003, -0.004, 0.002, -0.001];

/// Eight pairs whose log ratios vary by some per mille around an effect.
fn changed_by(effect: f64) -> Vec<(f64, f64)> {
    SPREAD.iter().map(|d| (212e-6, 212e-6 * (1.0 + effect) * (1.0 + d))).collect()
}

fn only(run: &RunJudgement) -> &Judgement {
    assert_eq!(run.judgements.len(), 1);
    &run.judgements[0]
}

fn rules(judgement: &Judgement) -> Vec<Rule> {
    judgement.findings.iter().map(|finding| finding.rule).collect()
}

fn errors(shares: &[(f64, f64)]) -> MetricEvidence {
    let mut errors = MetricEvidence::new("candidate", "errors", "1", MinimumEffect::absolute(1e-3));
    errors.comparison = Comparison::Errors;
    with_pairs(errors, shares)
}

#[test]
fn a_regression_is_told_with_both_middles_the_interval_and_what_matters() {
    let run = judged(&[with_pairs(gate(0.03), &changed_by(0.198))]);
    let judgement = only(&run);
    assert_eq!(judgement.verdict, Verdict::Regressed);
    assert_eq!(judgement.crossed_at, Some(4));
    let sentence = judgement.reason();
    assert!(sentence.starts_with("latency is worse: from 212 µs to 254 µs (+19.8 %, between +"));
    assert!(sentence.ends_with("3 % matter. Shown after 4 pairs."), "{sentence}");
    assert!(rules(judgement).contains(&Rule::SizeApproximate));
    assert!(!rules(judgement).contains(&Rule::CodeLayout));
    assert!(run.decided && run.next_look.is_none());
}

#[test]
fn a_fall_of_what_should_be_high_is_a_regression() {
    let mut throughput = with_pairs(gate(0.03), &changed_by(-0.1));
    throughput.direction = Direction::HigherIsBetter;
    assert_eq!(judged(&[throughput]).verdict, Verdict::Regressed);
    assert_eq!(judged(&[with_pairs(gate(0.03), &changed_by(-0.1))]).verdict, Verdict::Improved);
}

#[test]
fn a_small_difference_may_be_code_layout() {
    let run = judged(&[with_pairs(gate(0.03), &changed_by(0.04))]);
    assert!(rules(only(&run)).contains(&Rule::CodeLayout));
    let mut memory = with_pairs(gate(0.03), &changed_by(0.04));
    memory.unit = "B".to_owned();
    assert!(!rules(only(&judged(&[memory]))).contains(&Rule::CodeLayout));
}

#[test]
fn less_than_delta_is_no_change_though_it_is_significant() {
    let run = judged(&[with_pairs(gate(0.03), &changed_by(0.01))]);
    let judgement = only(&run);
    assert_eq!(judgement.verdict, Verdict::NoChange);
    let sentence = judgement.reason();
    assert!(sentence.starts_with("latency changed by less than the 3 % that matter (+"), "{sentence}");
}

#[test]
fn an_absolute_minimum_effect_holds_where_it_is_larger() {
    let mut memory = MetricEvidence::new(
        "candidate",
        "memory_anonymous",
        "B",
        MinimumEffect { relative: 0.03, absolute: Some(1_048_576.0) },
    );
    memory = with_pairs(memory, &[(4_194_304.0, 4_608_000.0); 4]);
    let run = judged(&[memory]);
    assert_eq!(only(&run).verdict, Verdict::NoChange);
    assert!((only(&run).minimum_effect - 0.25).abs() < 1e-12);
}

#[test]
fn below_four_pairs_nothing_is_decided_but_the_estimate_is_told() {
    let evidence = with_pairs(gate(0.03), &changed_by(0.2)[..3]);
    let run = judge(&[evidence], &Policy::for_budget(12), &Validity::clean("baseline", 3));
    let judgement = only(&run);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.reason(), "3 clean pairs so far; the first look comes after 4.");
    assert!(judgement.effect.unwrap() > 0.19 && judgement.interval.is_none());
    assert_eq!((run.decided, run.next_look), (false, Some(4)));
}

#[test]
fn between_two_looks_nothing_is_looked_at() {
    let mut values = changed_by(0.0);
    values[0].1 *= 1.05;
    let at = |pairs: usize| {
        let evidence = with_pairs(gate(0.01), &values[..pairs]);
        let validity = Validity::clean("baseline", pairs as u32);
        judge(&[evidence], &Policy::for_budget(20), &validity)
    };
    assert_eq!(only(&at(6)), only(&at(7)));
    assert_eq!(at(7).next_look, Some(8));
}

#[test]
fn a_run_that_ends_between_looks_gets_one_more() {
    let evidence = with_pairs(gate(0.01), &changed_by(0.02)[..7]);
    let ended = Validity { ended: true, ..Validity::clean("baseline", 7) };
    let run = judge(&[evidence], &Policy::for_budget(20), &ended);
    assert_eq!(only(&run).pairs, 7);
    assert_eq!(run.next_look, None);
}

#[test]
fn the_first_decision_stands_and_doubt_is_told() {
    let mut values = changed_by(0.06);
    for (baseline, candidate) in &mut values[4..] {
        *candidate = *baseline * 0.9;
    }
    let run = judged(&[with_pairs(gate(0.03), &values)]);
    let judgement = only(&run);
    assert_eq!((judgement.verdict, judgement.crossed_at), (Verdict::Regressed, Some(4)));
    assert!(rules(judgement).contains(&Rule::LaterPairsDisagree));
}

#[test]
fn noise_beyond_twice_delta_is_said_before_the_budget_is_used() {
    let noisy = [(1.0, 1.5), (1.0, 0.6), (1.0, 1.3), (1.0, 0.8)];
    let run = judge(&[with_pairs(gate(0.01), &noisy)], &Policy::for_budget(20), &Validity::clean("baseline", 4));
    assert_eq!(rules(only(&run))[0], Rule::NoiseTooLarge);
    assert!(only(&run).reason().starts_with("latency is too noisy for this run: 20 pairs would"));
    assert_eq!(run.next_look, Some(6));
}

#[test]
fn void_blocks_above_a_fifth_leave_no_verdict() {
    let evidence = with_pairs(gate(0.03), &changed_by(0.2));
    let arms = vec![
        ArmVoids { arm: "baseline".to_owned(), void_trials: 2, trials: 11 },
        ArmVoids { arm: "candidate".to_owned(), void_trials: 1, trials: 11 },
    ];
    let validity = Validity { void_blocks: 3, arms, ..Validity::clean("baseline", 8) };
    let run = judge(std::slice::from_ref(&evidence), &Policy::for_budget(12), &validity);
    assert_eq!(rules(only(&run))[0], Rule::TooManyVoidBlocks);
    assert_eq!((run.verdict, run.decided), (Verdict::Inconclusive, false));
    assert_eq!(
        run.findings[0].sentence,
        "3 of 11 blocks were disturbed from outside and repeated; void trials by arm: baseline 2, \
         candidate 1.",
    );

    let few = Validity { void_blocks: 2, ..validity };
    assert_eq!(judge(&[evidence], &Policy::for_budget(12), &few).verdict, Verdict::Regressed);
}

#[test]
fn voids_of_one_arm_alone_leave_no_verdict() {
    let arms = vec![
        ArmVoids { arm: "baseline".to_owned(), void_trials: 0, trials: 40 },
        ArmVoids { arm: "candidate".to_owned(), void_trials: 8, trials: 40 },
    ];
    let validity = Validity { void_blocks: 8, arms, ..Validity::clean("baseline", 40) };
    let evidence = with_pairs(gate(0.03), &changed_by(0.2));
    let run = judge(&[evidence], &Policy::for_budget(8), &validity);
    assert_eq!(rules(only(&run))[0], Rule::ValidityDependsOnArm);
    assert!(only(&run).reason().starts_with("Trials were void in 0 of 40 of baseline, but in 8"));
}

#[test]
fn more_errors_are_a_regression_and_spoil_improvements_of_their_scenario() {
    let failing = errors(&[(0.0, 0.012), (0.0, 0.013), (0.0, 0.011), (0.0, 0.012)]);
    let mut faster = with_pairs(gate(0.03), &changed_by(-0.2)[..4]);
    let run = judged(&[faster.clone(), failing.clone()]);
    assert_eq!(run.verdict, Verdict::Regressed);
    assert_eq!(run.judgements[0].verdict, Verdict::Inconclusive);
    assert_eq!(rules(&run.judgements[0])[0], Rule::ErrorsIncreased);
    assert_eq!(run.judgements[1].scale, Scale::Absolute);
    let sentence = run.judgements[1].reason();
    let start = "errors rose from 0 % to 1.2 % (+1.2 percentage points, between +";
    assert!(sentence.starts_with(start), "{sentence}");
    assert!(run.decided);

    faster.scenario = Some("read".to_owned());
    let mut of_another = failing;
    of_another.scenario = Some("write".to_owned());
    let run = judged(&[faster, of_another]);
    assert_eq!(run.judgements[0].verdict, Verdict::Improved);
}

#[test]
fn an_exact_metric_is_compared_and_not_tested() {
    let mut artifact = MetricEvidence::new("b", "artifact_bytes", "B", MinimumEffect::relative(0.0));
    artifact.comparison = Comparison::Exact;
    let judge_one = |baseline: f64, candidate: f64| judged(&[with_pairs(artifact.clone(), &[(baseline, candidate)])]);
    assert_eq!(judge_one(1000.0, 1000.0).verdict, Verdict::NoChange);
    assert_eq!(judge_one(1000.0, 1001.0).verdict, Verdict::Regressed);
    assert_eq!(judge_one(1000.0, 999.0).verdict, Verdict::Improved);
    assert_eq!(judge_one(0.0, 0.0).verdict, Verdict::NoChange);
    let run = judge_one(1000.0, 1001.0);
    assert_eq!((only(&run).method, only(&run).p), (Method::Exact, None));
    assert_eq!(only(&run).reason(), "artifact_bytes is worse: from 1,000 B to 1,001 B (+0.1 %); it has no noise.");

    let varying = with_pairs(artifact, &[(1000.0, 1000.0), (1000.0, 1001.0)]);
    let run = judged(&[varying]);
    assert_eq!(only(&run).verdict, Verdict::Inconclusive);
    assert!(rules(only(&run)).contains(&Rule::NotExact));
}

#[test]
fn an_exact_gate_takes_no_share_of_the_error_rate() {
    let mut artifact = MetricEvidence::new("b", "artifact_bytes", "B", MinimumEffect::relative(0.0));
    artifact.comparison = Comparison::Exact;
    let artifact = with_pairs(artifact, &[(5.0, 5.0); 8]);
    let latency = with_pairs(gate(0.03), &changed_by(0.02));
    let alone = judged(std::slice::from_ref(&latency));
    let both = judged(&[latency, artifact]);
    assert_eq!(alone.judgements[0], both.judgements[0]);
    assert_eq!(both.gates, 2);
}

#[test]
fn what_does_not_gate_is_adjusted_and_decides_nothing() {
    let mut shown = with_pairs(gate(0.03), &changed_by(0.2));
    shown.gates = false;
    let steady = with_pairs(gate(0.03), &changed_by(0.0));
    let run = judged(&[steady, shown.clone()]);
    assert_eq!(run.verdict, Verdict::NoChange);
    assert_eq!(run.judgements[1].verdict, Verdict::Regressed);
    assert_eq!(run.gates, 1);

    let run = judged(&[shown]);
    assert_eq!((run.verdict, run.findings[0].rule), (Verdict::Inconclusive, Rule::NothingGates));
    assert!(!run.decided);
}

#[test]
fn a_refused_gate_informs() {
    let mut p99 = with_pairs(gate(0.1), &changed_by(0.3));
    p99.gate_refused = Some("only 80 requests lie beyond p99 in a trial".to_owned());
    let run = judged(&[p99, with_pairs(gate(0.03), &changed_by(0.0))]);
    assert_eq!(run.verdict, Verdict::NoChange);
    assert!(rules(&run.judgements[0]).contains(&Rule::GateRefused));
}

#[test]
fn invalid_and_incomparable_numbers_get_no_effect_verdict() {
    let mut invalid = with_pairs(gate(0.03), &changed_by(0.2));
    invalid.invalid = Some("GeneratorSaturated: 31,000/s of 50,000/s at 99 % CPU.".to_owned());
    let mut other_machine = with_pairs(gate(0.03), &changed_by(0.2));
    other_machine.not_comparable = vec!["CPU model EPYC 7763 ≠ EPYC 9V74".to_owned()];
    let run = judged(&[invalid.clone(), other_machine.clone()]);
    assert_eq!(run.judgements[0].verdict, Verdict::Invalid);
    assert_eq!(run.judgements[1].verdict, Verdict::NotComparable);
    assert_eq!((run.verdict, run.decided), (Verdict::Invalid, true));

    let regressed = with_pairs(gate(0.03), &changed_by(0.2));
    assert_eq!(judged(&[invalid, regressed]).verdict, Verdict::Regressed);
}

#[test]
fn a_value_that_is_no_number_makes_its_metric_invalid() {
    let mut values = changed_by(0.0);
    values[2].1 = f64::NAN;
    let run = judged(&[with_pairs(gate(0.03), &values)]);
    assert_eq!(only(&run).verdict, Verdict::Invalid);
    assert_eq!(only(&run).reason(), "Block 3 has a value of latency that is no number.");
}

#[test]
fn outliers_switch_to_ranks() {
    let mut values: Vec<_> =
        (0..12).map(|i| (1.0 + 0.001 * f64::from(i * 5 % 12), 1.0 + 0.001 * f64::from(i * 7 % 12))).collect();
    values[5].1 = 1.5;
    let run = judged(&[with_pairs(gate(0.03), &values)]);
    assert_eq!(only(&run).method, Method::HodgesLehmann);
    assert!(rules(only(&run)).contains(&Rule::OutlierMode));
    assert_eq!(run.verdict, Verdict::NoChange);
}

#[test]
fn a_history_prior_is_used_or_dropped_and_told() {
    let mut evidence = with_pairs(gate(0.03), &changed_by(0.0)[..4]);
    evidence.prior = Some(Prior { variance: 1e-5, degrees_of_freedom: 8.0 });
    let run = judged(std::slice::from_ref(&evidence));
    assert_eq!(only(&run).method, Method::ModeratedT);
    assert!(rules(only(&run)).contains(&Rule::HistoryPrior));
    evidence.prior = Some(Prior { variance: 1e-9, degrees_of_freedom: 8.0 });
    let run = judged(&[evidence]);
    assert_eq!(only(&run).method, Method::PairedT);
    assert!(rules(only(&run)).contains(&Rule::HistoryPrior));
}

#[test]
fn a_judgement_survives_json() {
    let run = judged(&[with_pairs(gate(0.03), &changed_by(0.2)), errors(&[(0.0, 0.0); 8])]);
    let json = serde_json::to_string(&run).unwrap();
    assert!(json.contains(r#""verdict":"Regressed""#) && json.contains(r#""smallestVisibleEffect""#));
    let read: RunJudgement = serde_json::from_str(&json).unwrap();
    assert_eq!((read.verdict, read.findings), (run.verdict, run.findings));
    for (read, judged) in read.judgements.iter().zip(&run.judgements) {
        assert_eq!((read.verdict, &read.findings), (judged.verdict, &judged.findings));
        // serde_json reads a float to its last bit only with the feature `float_roundtrip`.
        assert!((read.effect.unwrap() - judged.effect.unwrap()).abs() < 1e-12);
    }
}

#[test]
fn a_budget_below_four_says_so_at_once() {
    let evidence = with_pairs(gate(0.03), &changed_by(0.2)[..1]);
    let run = judge(&[evidence], &Policy::for_budget(3), &Validity::clean("baseline", 1));
    let expected = "A budget of 3 pairs cannot decide anything; at least 4 are needed.";
    assert_eq!((only(&run).reason(), run.reason()), (expected, expected));
}

#[test]
fn a_constant_ratio_is_told_without_an_interval() {
    let run = judged(&[with_pairs(gate(0.03), &[(0.1, 0.11), (0.2, 0.22), (0.3, 0.33), (0.4, 0.44)])]);
    assert_eq!(run.reason(), "latency is worse: from 221 ms to 243 ms (+10 %); 3 % matter. Shown after 4 pairs.",);
    assert_eq!(only(&run).findings.len(), 1);
}
