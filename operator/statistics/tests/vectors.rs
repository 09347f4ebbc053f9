//! Every function agrees with SciPy's answer, or with an exact count, on the reference vectors.

#![allow(clippy::unwrap_used)]

use gaugeblock_statistics::group_sequential::{Sides, bounds};
use gaugeblock_statistics::history_prior::HistoryPrior;
use gaugeblock_statistics::one_sample_t::{Moderation, OneSampleT, VariancePrior};
use gaugeblock_statistics::quantile_ranks::quantile_ci_ranks;
use gaugeblock_statistics::spending::Spending;
use gaugeblock_statistics::two_sample_t::{TwoSampleT, student, welch, yuen};
use gaugeblock_statistics::{
    Interval, e_value, f_distribution, kolmogorov_smirnov, permutation, rank_sum, sign_flip, signed_rank,
};
use serde_json::Value;

/// Closed forms and exact counts.
const EXACT: f64 = 1e-9;
/// Intervals that need a quantile function.
const QUANTILE: f64 = 1e-6;
/// Group-sequential bounds, given with four to five digits.
const SEQUENTIAL: f64 = 5e-4;

fn cases(json: &str) -> Vec<Value> {
    serde_json::from_str(json).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[track_caller]
fn agree(found: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected.as_f64().unwrap();
    let close = (found - expected).abs() <= tolerance * expected.abs().max(1e-300);
    assert!(close || (found - expected).abs() < 1e-14, "{what}: {found} ≠ {expected}");
}

#[track_caller]
fn agree_interval(found: Option<Interval>, expected: &Value, tolerance: f64, what: &str) {
    match found {
        None => assert!(expected["lo"].is_null(), "{what}"),
        Some(interval) => {
            agree(interval.low, &expected["lo"], tolerance, what);
            agree(interval.high, &expected["hi"], tolerance, what);
        }
    }
}

fn agree_t(found: &TwoSampleT, expected: &Value, what: &str) {
    agree(found.t(), &expected["t"], EXACT, what);
    agree(found.degrees_of_freedom, &expected["df"], EXACT, what);
    agree(found.p(), &expected["p"], EXACT, what);
}

#[test]
fn two_samples() {
    for case in cases(include_str!("vectors/two_sample.json")) {
        let name = case["name"].as_str().unwrap();
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        agree_t(&welch(&x, &y).unwrap(), &case["welch"], name);
        agree_t(&student(&x, &y).unwrap(), &case["student"], name);
        if let Some(expected) = case.get("yuen20") {
            agree_t(&yuen(&x, &y, 0.2).unwrap(), expected, name);
        }

        let asymptotic = rank_sum::asymptotic(&x, &y);
        agree(asymptotic.u, &case["mwu_asymptotic_cc"]["U_y"], EXACT, name);
        agree(asymptotic.p, &case["mwu_asymptotic_cc"]["p"], EXACT, name);
        if let Some(expected) = case.get("mwu_exact") {
            let exact = rank_sum::exact(&x, &y);
            agree(exact.u, &expected["U_y"], EXACT, name);
            agree(exact.p, &expected["p"], EXACT, name);
        }
        let shift = rank_sum::shift(&x, &y).unwrap();
        agree(shift, &case["hodges_lehmann_shift"], EXACT, name);
        for (level, p) in [("0.95", 0.05), ("0.99", 0.01)] {
            let interval = rank_sum::shift_interval(&x, &y, p);
            agree_interval(interval, &case["hl_exact_ci"][level], EXACT, name);
        }
        agree(rank_sum::cliffs_delta(&x, &y), &case["cliffs_delta"], EXACT, name);

        if let Some(expected) = case.get("perm_mean_exact") {
            let found = permutation::mean_difference(&x, &y).unwrap();
            assert_eq!(Some(found.count), expected["count"].as_u64(), "{name}");
            assert_eq!(Some(found.total), expected["total"].as_u64(), "{name}");
            agree(found.p(), &expected["p"], EXACT, name);
        }
        let ks = kolmogorov_smirnov::exact(&x, &y).unwrap();
        agree(ks.d, &case["ks_exact"]["D"], EXACT, name);
        agree(ks.p, &case["ks_exact"]["p"], EXACT, name);
    }
}

#[test]
fn pairs() {
    for case in cases(include_str!("vectors/paired.json")) {
        let name = case["name"].as_str().unwrap();
        // The expected values were computed before d_log was rounded to ten digits.
        let d: Vec<f64> =
            numbers(&case["x"]).into_iter().zip(numbers(&case["y"])).map(|(x, y)| y.ln() - x.ln()).collect();
        let t = OneSampleT::of(&d).unwrap();
        agree(t.t(0.0), &case["paired_t"]["t"], EXACT, name);
        agree(t.degrees_of_freedom, &case["paired_t"]["df"], EXACT, name);
        agree(t.p(), &case["paired_t"]["p"], EXACT, name);
        agree(t.interval(0.05).low, &case["paired_t"]["ci95"][0], QUANTILE, name);
        agree(t.interval(0.05).high, &case["paired_t"]["ci95"][1], QUANTILE, name);

        let wilcoxon = signed_rank::test(&d).unwrap();
        agree(wilcoxon.w, &case["wilcoxon_exact"]["W_min"], EXACT, name);
        agree(wilcoxon.p, &case["wilcoxon_exact"]["p"], EXACT, name);
        agree(signed_rank::estimate(&d).unwrap(), &case["hl_walsh"], EXACT, name);
        for (level, p) in [("0.95", 0.05), ("0.99", 0.01)] {
            let interval = signed_rank::interval(&d, p);
            agree_interval(interval, &case["hl_walsh_exact_ci"][level], EXACT, name);
        }
        if let Some(expected) = case.get("signflip_exact") {
            let found = sign_flip::test(&d).unwrap();
            assert_eq!(Some(found.count), expected["count"].as_u64(), "{name}");
            assert_eq!(Some(found.total), expected["total"].as_u64(), "{name}");
        }
        agree(e_value::log_e(&t, 1.0), &case["evalue_t_tau1"]["log_e"], EXACT, name);
        for expected in case["moderated_t"].as_array().unwrap() {
            moderated(&d, expected, name);
        }
    }
}

fn moderated(d: &[f64], expected: &Value, name: &str) {
    let prior = VariancePrior {
        variance: expected["s0_sq"].as_f64().unwrap(),
        degrees_of_freedom: expected["d0"].as_f64().unwrap(),
    };
    let plain = OneSampleT::of(d).unwrap();
    let ratio = plain.standard_deviation.powi(2) / prior.variance;
    agree(ratio, &expected["guard_F"], EXACT, name);
    let limit = f_distribution::quantile(0.75, plain.degrees_of_freedom, prior.degrees_of_freedom);
    agree(limit, &expected["guard_F75"], QUANTILE, name);

    let (t, moderation) = OneSampleT::moderated(d, prior).unwrap();
    if ratio > limit {
        assert_eq!((t, moderation), (plain, Moderation::Dropped), "{name}");
        return;
    }
    assert_eq!(moderation, Moderation::Used, "{name}");
    agree(t.standard_deviation.powi(2), &expected["s2_post"], EXACT, name);
    agree(t.degrees_of_freedom, &expected["df"], EXACT, name);
    agree(t.t(0.0), &expected["t"], EXACT, name);
    agree(t.p(), &expected["p"], EXACT, name);
    agree(t.interval(0.05).low, &expected["ci95"][0], QUANTILE, name);
    agree(t.interval(0.05).high, &expected["ci95"][1], QUANTILE, name);
}

#[test]
fn priors_from_history() {
    for case in cases(include_str!("vectors/history_prior.json")) {
        let df = case["df"].as_f64().unwrap();
        let found = HistoryPrior::of(&numbers(&case["session_variances"]), df).unwrap();
        agree(found.variance, &case["s0_sq_robust"], EXACT, "s0²");
        agree(found.excess, &case["excess_var"], EXACT, "excess");
        match case["d0_limma"].as_f64() {
            None => assert!(found.limma_degrees_of_freedom.is_infinite()),
            Some(_) => agree(found.limma_degrees_of_freedom, &case["d0_limma"], EXACT, "d0"),
        }
        agree(found.prior().degrees_of_freedom, &case["d0_used"], EXACT, "d0 used");
    }
}

#[test]
fn group_sequential_bounds() {
    for case in cases(include_str!("vectors/group_sequential.json")) {
        let looks = numbers(&case["looks"]);
        let last = looks[looks.len() - 1];
        let fractions: Vec<f64> = looks.iter().map(|look| look / last).collect();
        let spending = match case["spending"].as_str().unwrap() {
            "pocock" => Spending::Pocock,
            "obf" => Spending::OBrienFleming,
            other => panic!("unknown spending {other}"),
        };
        let found = bounds(&fractions, case["alpha"].as_f64().unwrap(), spending, Sides::Two);
        let what = format!("{spending:?} {looks:?} {}", case["alpha"]);
        for (i, bound) in found.iter().enumerate() {
            agree(bound.spent, &case["cumulative_spend"][i], EXACT, &what);
            agree(bound.z, &case["z"][i], SEQUENTIAL, &what);
            agree(bound.nominal_p, &case["nominal_p_two_sided"][i], SEQUENTIAL, &what);
        }
    }
}

#[test]
fn ranks_that_bracket_a_quantile() {
    for case in cases(include_str!("vectors/quantile_ci_ranks.json")) {
        let (n, q) = (case["n"].as_u64().unwrap(), case["q"].as_f64().unwrap());
        let found = quantile_ci_ranks(n, q, case["conf"].as_f64().unwrap()).unwrap();
        assert_eq!(found.lower, case["lower_rank_1based"].as_u64(), "{n} {q}");
        assert_eq!(found.upper, case["upper_rank_1based"].as_u64(), "{n} {q}");
        agree(found.coverage, &case["coverage"], EXACT, "coverage");
    }
}
