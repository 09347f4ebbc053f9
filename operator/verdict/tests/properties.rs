//! What holds for any input.

#![allow(clippy::unwrap_used)]

mod support;

use gaugeblock_verdict::{
    Comparison, Direction, MetricEvidence, MinimumEffect, OutlierMode, Policy, Prior, RunJudgement, Validity, Verdict,
    judge,
};
use proptest::prelude::*;
use support::{gate, judged, with_pairs};

/// Any finite number, the awkward ones more often.
fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.5..2.0_f64,
        1 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::MAX, -f64::MAX, 5e-324, 1e-300]),
    ]
}

/// Any evidence of finite numbers.
fn evidence() -> impl Strategy<Value = MetricEvidence> {
    let comparison =
        prop::sample::select(vec![Comparison::Ratio, Comparison::Difference, Comparison::Errors, Comparison::Exact]);
    let minimum = (0.0..1.0_f64, prop::option::of(finite().prop_map(f64::abs)));
    let prior = prop::option::of((1e-12..1.0_f64, 0.1..8.0_f64));
    let values = prop::collection::vec((finite(), finite()), 0..24);
    (comparison, minimum, prior, any::<bool>(), any::<bool>(), values).prop_map(
        |(comparison, (relative, absolute), prior, gates, higher, values)| {
            let mut evidence = with_pairs(gate(relative), &values);
            evidence.minimum_effect = MinimumEffect { relative, absolute };
            evidence.comparison = comparison;
            evidence.gates = gates;
            evidence.prior = prior.map(|(variance, degrees_of_freedom)| Prior { variance, degrees_of_freedom });
            if higher {
                evidence.direction = Direction::HigherIsBetter;
            }
            evidence
        },
    )
}

/// Twenty pairs of ordinary noise around an effect.
fn ordinary() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let effect = prop::sample::select(vec![-0.1, -0.03, 0.0, 0.01, 0.03, 0.1]);
    (effect, prop::collection::vec((0.97..1.03_f64, 0.97..1.03_f64), 20))
        .prop_map(|(effect, pairs)| pairs.into_iter().map(|(b, c)| (b, c * (1.0 + effect))).collect())
}

/// Every number in a judgement.
fn numbers(run: &RunJudgement) -> Vec<f64> {
    run.judgements
        .iter()
        .flat_map(|j| {
            let interval = j.interval.map(|i| [i.low, i.high, i.level]);
            let arms = [j.baseline, j.candidate].into_iter().flatten();
            let arms = arms.flat_map(|a| {
                let some = [a.geometric_mean, a.coefficient_of_variation].into_iter().flatten();
                some.chain([a.mean, a.median, a.standard_deviation])
            });
            [j.effect, j.p, j.smallest_visible_effect, j.smallest_visible_effect_at_budget]
                .into_iter()
                .flatten()
                .chain(interval.into_iter().flatten())
                .chain(arms)
                .chain([j.minimum_effect])
        })
        .collect()
}

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Regressed => Verdict::Improved,
        Verdict::Improved => Verdict::Regressed,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_finite_input_makes_a_number_that_is_none(evidence in prop::collection::vec(evidence(), 1..4), ended: bool) {
        let blocks = evidence.iter().map(|e| e.pairs.len()).max().unwrap_or(0) as u32;
        let validity = Validity { ended, ..Validity::clean("baseline", blocks) };
        let run = judge(&evidence, &Policy::for_budget(20), &validity);
        for number in numbers(&run) {
            prop_assert!(number.is_finite(), "{:?}", run);
        }
        let json = serde_json::to_string(&run).unwrap();
        prop_assert!(!json.contains("NaN") && !json.contains("inf"), "{}", json);
        prop_assert!(serde_json::from_str::<RunJudgement>(&json).is_ok());
    }

    #[test]
    fn the_unit_does_not_matter(values in ordinary(), power in -40_i32..40) {
        let scaled: Vec<_> = values.iter().map(|(b, c)| (b * 2.0_f64.powi(power), c * 2.0_f64.powi(power))).collect();
        let (one, other) = (judged(&[with_pairs(gate(0.02), &values)]), judged(&[with_pairs(gate(0.02), &scaled)]));
        prop_assert_eq!(one.verdict, other.verdict);
        let (one, other) = (&one.judgements[0], &other.judgements[0]);
        prop_assert_eq!(one.crossed_at, other.crossed_at);
        prop_assert!((one.effect.unwrap() - other.effect.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn swapped_arms_turn_the_verdict_around(values in ordinary()) {
        let swapped: Vec<_> = values.iter().map(|(b, c)| (*c, *b)).collect();
        let (one, other) = (judged(&[with_pairs(gate(0.02), &values)]), judged(&[with_pairs(gate(0.02), &swapped)]));
        prop_assert_eq!(one.verdict, turned(other.verdict));
        let (one, other) = (&one.judgements[0], &other.judgements[0]);
        prop_assert_eq!(one.crossed_at, other.crossed_at);
        prop_assert!(((1.0 + one.effect.unwrap()) * (1.0 + other.effect.unwrap()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn asking_after_every_block_gives_the_same_answer_as_asking_once(values in ordinary()) {
        let policy = Policy::for_budget(20);
        let at = |pairs: usize| {
            let evidence = with_pairs(gate(0.02), &values[..pairs]);
            judge(&[evidence], &policy, &Validity::clean("baseline", pairs as u32))
        };
        let once = at(20);
        let first = (1..=20).map(at).find(|run| run.decided);
        match first {
            None => prop_assert_eq!(once.verdict, Verdict::Inconclusive),
            Some(first) => {
                prop_assert_eq!(first.verdict, once.verdict);
                prop_assert_eq!(first.judgements[0].crossed_at, once.judgements[0].crossed_at);
                prop_assert_eq!(Some(first.judgements[0].pairs), once.judgements[0].crossed_at);
            }
        }
    }

    #[test]
    fn a_slower_candidate_is_never_judged_better(values in ordinary(), factor in 1.0..1.2_f64) {
        let rank = |verdict: Verdict| match verdict {
            Verdict::Improved => 0,
            Verdict::Regressed => 2,
            _ => 1,
        };
        let policy = Policy { outliers: OutlierMode::Never, looks: vec![20], ..Policy::for_budget(20) };
        let verdict = |values: &[(f64, f64)]| {
            judge(&[with_pairs(gate(0.02), values)], &policy, &Validity::clean("baseline", 20)).verdict
        };
        let slower: Vec<_> = values.iter().map(|(b, c)| (*b, c * factor)).collect();
        prop_assert!(rank(verdict(&values)) <= rank(verdict(&slower)));
    }
}
