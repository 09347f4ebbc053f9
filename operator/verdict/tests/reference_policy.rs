//! The 63 problems of `policy_verdicts.json` get the same verdict, after as many pairs, with the
//! same interval at that look.

#![allow(clippy::unwrap_used)]

use gaugeblock_statistics::history_prior::HistoryPrior;
use gaugeblock_statistics::spending::Spending;
use gaugeblock_verdict::{
    Equivalence, MetricEvidence, MinimumEffect, OutlierMode, Pair, Policy, Prior, Validity, judge,
};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn policy(problem: &Value) -> Policy {
    Policy {
        looks: numbers(&problem["looks"]).into_iter().map(|look| look as u32).collect(),
        alpha_per_run: problem["alpha"].as_f64().unwrap(),
        spending: Spending::Pocock,
        planned_gates: None,
        equivalence: Equivalence::RepeatedInterval { tolerance: problem["tolerance"].as_f64().unwrap() },
        outliers: OutlierMode::Never,
    }
}

fn evidence(problem: &Value, pairs: usize) -> MetricEvidence {
    let variances = numbers(&problem["history_session_variances"]);
    let prior = HistoryPrior::of(&variances, problem["history_df"].as_f64().unwrap()).unwrap();
    let minimum = MinimumEffect::relative(problem["min_effect"].as_f64().unwrap());
    let mut evidence = MetricEvidence::new("candidate", "latency", "s", minimum);
    evidence.prior =
        Some(Prior { variance: prior.prior().variance, degrees_of_freedom: prior.prior().degrees_of_freedom });
    let values = numbers(&problem["x"]).into_iter().zip(numbers(&problem["y"]));
    evidence.pairs = (1..)
        .zip(values)
        .map(|(block, (baseline, candidate))| Pair { block, baseline, candidate })
        .take(pairs)
        .collect();
    evidence
}

#[test]
fn every_problem_gets_its_verdict_at_its_look() {
    let problems: Vec<Value> = serde_json::from_str(include_str!("vectors/policy_verdicts.json")).unwrap();
    assert_eq!(problems.len(), 63);
    for problem in &problems {
        let stopped_at = problem["stopped_at"].as_u64().unwrap() as u32;
        let validity = Validity::clean("baseline", 20);
        let run = judge(&[evidence(problem, 20)], &policy(problem), &validity);
        let judgement = &run.judgements[0];
        assert_eq!(judgement.verdict.as_str(), problem["verdict"].as_str().unwrap(), "{problem}");
        assert_eq!(judgement.crossed_at.unwrap_or(20), stopped_at);

        for step in problem["trace"].as_array().unwrap() {
            let n = step["n"].as_u64().unwrap() as u32;
            let validity = Validity::clean("baseline", n);
            let run = judge(&[evidence(problem, n as usize)], &policy(problem), &validity);
            let judgement = &run.judgements[0];
            let interval = judgement.interval.unwrap();
            for (found, key) in [(interval.low, "lo"), (interval.high, "hi")] {
                let expected = step[key].as_f64().unwrap();
                let width = step["hi"].as_f64().unwrap() - step["lo"].as_f64().unwrap();
                assert!((found.ln_1p() - expected).abs() < 5e-4 * width, "{found} ≠ {expected}");
            }
            let mean = step["mean_log_ratio"].as_f64().unwrap();
            assert!((judgement.effect.unwrap().ln_1p() - mean).abs() < 1e-9);
            let decided = step["decision"].as_str().is_some();
            assert_eq!((run.decided, judgement.crossed_at.is_some()), (decided, decided));
        }
    }
}
