//! What holds for any sample.

#![allow(clippy::unwrap_used)]

use gaugeblock_statistics::moments::{mean, standard_deviation};
use gaugeblock_statistics::one_sample_t::{OneSampleT, VariancePrior};
use gaugeblock_statistics::{
    adjustment, correlation, equivalence, fisher_exact, kolmogorov_smirnov, median, rank_sum, sign_flip, signed_rank,
    student_t, two_sample_t, visible_effect,
};
use proptest::prelude::*;

/// Any finite number, the awkward ones more often.
fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -10.0..10.0_f64,
        1 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
        1 => prop::sample::select(vec![0.0, 1.0, -1.0, f64::MAX, -f64::MAX, 5e-324]),
    ]
}

fn sample() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-10.0..10.0_f64, 2..15)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moments_and_t_are_numbers(sample in prop::collection::vec(finite(), 0..12), p in 1e-12..1.0_f64) {
        prop_assert!(mean(&sample).is_finite());
        prop_assert!(standard_deviation(&sample).is_finite());
        if let Some(t) = OneSampleT::of(&sample) {
            let interval = t.interval(p);
            prop_assert!(interval.low.is_finite() && interval.high.is_finite());
            prop_assert!(interval.low <= t.estimate && t.estimate <= interval.high);
            prop_assert!((0.0..=1.0).contains(&t.p()));
            prop_assert!((0.0..=1.0).contains(&equivalence::p(&t, 1.0)));
            let prior = VariancePrior { variance: 1.0, degrees_of_freedom: 8.0 };
            let (moderated, _) = OneSampleT::moderated(&sample, prior).unwrap();
            prop_assert!((0.0..=1.0).contains(&moderated.p()));
        }
    }

    #[test]
    fn a_quantile_of_t_is_undone_by_its_p_value(p in 1e-12..1.0_f64, df in 0.5..500.0_f64) {
        let t = student_t::two_sided_quantile(p, df);
        prop_assert!(close(student_t::two_sided_p(t, df), p), "{} {}", t, student_t::two_sided_p(t, df));
    }

    #[test]
    fn p_values_do_not_depend_on_the_unit(x in sample(), y in sample(), power in -30_i32..30) {
        let scale = 2.0_f64.powi(power);
        let scaled = |sample: &[f64]| sample.iter().map(|v| v * scale).collect::<Vec<f64>>();
        let (sx, sy) = (scaled(&x), scaled(&y));
        prop_assert!(close(OneSampleT::of(&x).unwrap().p(), OneSampleT::of(&sx).unwrap().p()));
        prop_assert!(close(two_sample_t::welch(&x, &y).unwrap().p(), two_sample_t::welch(&sx, &sy).unwrap().p()));
        prop_assert_eq!(rank_sum::exact(&x, &y), rank_sum::exact(&sx, &sy));
        prop_assert_eq!(signed_rank::test(&x), signed_rank::test(&sx));
        prop_assert_eq!(kolmogorov_smirnov::exact(&x, &y), kolmogorov_smirnov::exact(&sx, &sy));
        prop_assert_eq!(sign_flip::test(&x), sign_flip::test(&sx));
    }

    #[test]
    fn swapped_arms_flip_the_sign_and_keep_p(x in sample(), y in sample()) {
        let (one, other) = (two_sample_t::welch(&x, &y).unwrap(), two_sample_t::welch(&y, &x).unwrap());
        prop_assert!(close(one.t(), -other.t()) && close(one.p(), other.p()));
        prop_assert!(close(rank_sum::cliffs_delta(&x, &y), -rank_sum::cliffs_delta(&y, &x)));
        prop_assert!(close(rank_sum::exact(&x, &y).p, rank_sum::exact(&y, &x).p));
        prop_assert!(close(rank_sum::shift(&x, &y).unwrap(), -rank_sum::shift(&y, &x).unwrap()));
        let negated: Vec<f64> = x.iter().map(|v| -v).collect();
        prop_assert!(close(OneSampleT::of(&x).unwrap().t(0.0), -OneSampleT::of(&negated).unwrap().t(0.0)));
        prop_assert!(close(signed_rank::estimate(&x).unwrap(), -signed_rank::estimate(&negated).unwrap()));
    }

    #[test]
    fn the_order_inside_a_sample_does_not_matter(x in sample(), y in sample()) {
        let turned: Vec<f64> = x.iter().rev().copied().collect();
        prop_assert!(close(two_sample_t::yuen(&x, &y, 0.2).map_or(1.0, |t| t.p()), two_sample_t::yuen(&turned, &y, 0.2).map_or(1.0, |t| t.p())));
        prop_assert_eq!(rank_sum::exact(&x, &y), rank_sum::exact(&turned, &y));
        prop_assert_eq!(median::median(&x), median::median(&turned));
    }

    #[test]
    fn an_interval_excludes_zero_exactly_when_its_test_rejects(x in prop::collection::vec(-1.0..3.0_f64, 2..15), p in 0.001..0.5_f64) {
        let t = OneSampleT::of(&x).unwrap();
        prop_assume!((t.p() / p - 1.0).abs() > 1e-6);
        prop_assert_eq!(t.interval(p).excludes(0.0), t.p() < p);
        if let Some(interval) = signed_rank::interval(&x, p) {
            prop_assert_eq!(interval.excludes(0.0), signed_rank::test(&x).unwrap().p <= p);
        }
    }

    #[test]
    fn adjusted_p_values_are_no_smaller_and_keep_their_order(p in prop::collection::vec(0.0..1.0_f64, 1..20)) {
        for adjusted in [adjustment::holm(&p), adjustment::benjamini_hochberg(&p)] {
            for (i, a) in adjusted.iter().enumerate() {
                prop_assert!(*a >= p[i] && *a <= 1.0);
                for (j, b) in adjusted.iter().enumerate() {
                    prop_assert!(p[i] > p[j] || a <= b);
                }
            }
        }
    }

    #[test]
    fn a_correlation_lies_between_minus_one_and_one(x in prop::collection::vec(finite(), 2..12), y in prop::collection::vec(finite(), 2..12)) {
        if let Some(rho) = correlation::spearman(&x, &y) {
            prop_assert!((-1.0..=1.0).contains(&rho));
        }
    }

    #[test]
    fn fishers_test_treats_both_groups_alike(a in 0_u32..20, b in 0_u32..20, more in 0_u32..20) {
        let (n, m) = (a + more, b + more);
        prop_assert!(close(fisher_exact::p(a, n, b, m), fisher_exact::p(b, m, a, n)));
        prop_assert!((0.0..=1.0).contains(&fisher_exact::p(a, n, b, m)));
    }

    #[test]
    fn power_grows_with_the_effect(shift in 0.0..20.0_f64, more in 0.0..5.0_f64, critical in 0.5..20.0_f64, df in 1.0..60.0_f64) {
        let (less, more) = (visible_effect::power(shift, critical, df), visible_effect::power(shift + more, critical, df));
        prop_assert!((-1e-9..=1.0 + 1e-6).contains(&less) && less <= more + 1e-12, "{} {}", less, more);
    }
}
