//! The cases of CASES.md that a verdict answers.

#![allow(clippy::unwrap_used)]

mod support;

use gaugeblock_verdict::{Comparison, Direction, MinimumEffect, Verdict};
use support::{Dice, gate, judged, with_pairs};

/// Every trial is 1 % slower than the one before; the order inside a pair is drawn.
fn drifting(dice: &mut Dice, noise: f64, pairs: i32) -> Vec<(f64, f64)> {
    (0..pairs)
        .map(|pair| {
            let mut trial = |slot: i32| 0.1 * 1.01_f64.powi(slot) * (1.0 + noise * dice.normal());
            let (first, second) = (trial(2 * pair), trial(2 * pair + 1));
            if dice.coin() { (first, second) } else { (second, first) }
        })
        .collect()
}

#[test]
fn case_12_a_machine_that_drifts_one_per_cent_per_trial_changes_nothing() {
    for noise in [0.0, 0.003, 0.01] {
        for seed in 0..200 {
            let values = drifting(&mut Dice::seeded(seed), noise, 20);
            let run = judged(&[with_pairs(gate(0.03), &values)]);
            assert_eq!(run.verdict, Verdict::NoChange, "noise {noise}, seed {seed}: {run:?}");
        }
    }
}

#[test]
fn case_12_a_real_difference_is_found_on_such_a_machine() {
    for seed in 0..200 {
        let values = drifting(&mut Dice::seeded(seed), 0.003, 20);
        let slower: Vec<_> = values.iter().map(|(b, c)| (*b, 1.06 * c)).collect();
        let run = judged(&[with_pairs(gate(0.03), &slower)]);
        assert_eq!(run.verdict, Verdict::Regressed, "seed {seed}: {run:?}");
    }
}

#[test]
fn case_18_a_series_constant_on_both_sides_gets_a_verdict() {
    for (candidate, effect, verdict) in [
        (100.0, 0.0, Verdict::NoChange),
        (101.0, 0.01, Verdict::NoChange),
        (110.0, 0.1, Verdict::Regressed),
        (90.0, -0.1, Verdict::Improved),
    ] {
        let run = judged(&[with_pairs(gate(0.03), &[(100.0, candidate); 4])]);
        let judgement = &run.judgements[0];
        assert_eq!(judgement.verdict, verdict);
        assert!((judgement.effect.unwrap() - effect).abs() < 1e-12);
        let interval = judgement.interval.unwrap();
        assert!((interval.high - interval.low).abs() < 1e-12);
        assert!(!judgement.p.unwrap().is_nan());
    }
}

#[test]
fn case_18_a_series_constant_on_one_side_gets_a_verdict() {
    let noisy = [100.1, 99.8, 100.2, 99.9, 100.0, 100.1, 99.9, 100.0];
    let values: Vec<_> = noisy.map(|candidate| (100.0, candidate)).to_vec();
    let run = judged(&[with_pairs(gate(0.03), &values)]);
    assert_eq!(run.verdict, Verdict::NoChange);
    let slower: Vec<_> = noisy.map(|candidate| (100.0, 1.1 * candidate)).to_vec();
    assert_eq!(judged(&[with_pairs(gate(0.03), &slower)]).verdict, Verdict::Regressed);
}

#[test]
fn case_18_zeros_get_a_verdict() {
    let zeros = with_pairs(gate(0.03), &[(0.0, 0.0); 4]);
    assert_eq!(judged(&[zeros]).verdict, Verdict::NoChange);
    let appeared = with_pairs(gate(0.03), &[(0.0, 5.0); 4]);
    assert_eq!(judged(&[appeared]).verdict, Verdict::Regressed);
    let mut stopped = with_pairs(gate(0.03), &[(5.0, 0.0); 4]);
    stopped.direction = Direction::HigherIsBetter;
    assert_eq!(judged(&[stopped]).verdict, Verdict::Regressed);
}

#[test]
fn case_18_errors_that_are_zero_in_the_baseline_get_a_verdict() {
    let mut errors = gate(0.0);
    errors.unit = "1".to_owned();
    errors.comparison = Comparison::Errors;
    errors.minimum_effect = MinimumEffect::absolute(0.001);
    let none = with_pairs(errors.clone(), &[(0.0, 0.0); 4]);
    assert_eq!(judged(&[none]).verdict, Verdict::NoChange);
    let failing = with_pairs(errors, &[(0.0, 0.02), (0.0, 0.021), (0.0, 0.019), (0.0, 0.02)]);
    let run = judged(&[failing]);
    assert_eq!(run.verdict, Verdict::Regressed);
    assert!((run.judgements[0].effect.unwrap() - 0.02).abs() < 1e-12);
}
