//! Runs that never took place, with all that a report shows.

use gaugeblock_crds::{
    BenchmarkRunSpec, BenchmarkRunStatus,
    condition::Reason,
    run::Purpose,
    status::{ArmStatus, RunVerdict},
};
use gaugeblock_measurement::{
    MetricName, MetricValue, Outcome, UnixNanos,
    limit::{Limit, LimitedBy},
    sampler::SpeedProbe,
    trial::VoidCause,
};
use gaugeblock_planner::{Slot, Snapshot, TrialSummary};
use gaugeblock_report::{Input, Report};
use gaugeblock_verdict::{
    ArmSummary, Direction, Finding, Interval, Judgement, Method, Rule, RunJudgement, Scale, Verdict,
};
use serde_json::json;

/// A run and what it left.
pub struct Fixture {
    spec: BenchmarkRunSpec,
    status: BenchmarkRunStatus,
    judgement: Option<RunJudgement>,
    trials: Vec<TrialSummary>,
}

/// Two arms, two blocks that count, one that was void; CPU regressed, latency is not decided.
pub fn run() -> Fixture {
    let judgements = vec![
        of("json", "cpu_per_request", Verdict::Regressed).with_effect(0.201, 0.187, 0.215),
        of("json", "latency_p50", Verdict::Inconclusive).with_effect(0.021, -0.034, 0.079),
        of("json", "error_share", Verdict::NoChange).absolute(),
        of("json", "received_bytes", Verdict::NoChange).informing(),
        whole("start_answering", Verdict::Regressed).informing().with_effect(0.31, 0.05, 0.63),
    ];
    let sentence = "cpu_per_request is worse: from 213 µs to 256 µs (+20.1 %); 3 % matter.";
    Fixture {
        spec: spec(Purpose::Gate),
        status: status(Some(RunVerdict::Regressed), Reason::Regressed, sentence),
        judgement: Some(judged(Verdict::Regressed, judgements)),
        trials: trials(1.2),
    }
}

/// Two arms that are the same.
pub fn a_good_run() -> Fixture {
    let judgements = vec![
        of("json", "cpu_per_request", Verdict::NoChange).with_effect(0.002, -0.009, 0.013),
        of("json", "error_share", Verdict::NoChange).absolute(),
    ];
    let sentence = "all 2 gates are the same within the smallest effect that matters";
    Fixture {
        spec: spec(Purpose::Gate),
        status: status(Some(RunVerdict::NoChange), Reason::NoChange, sentence),
        judgement: Some(judged(Verdict::NoChange, judgements)),
        trials: trials(1.0),
    }
}

/// The target crashed in the first trial.
pub fn a_lost_run() -> Fixture {
    let mut status = status(None, Reason::TargetExited, "arm candidate ended while it was measured");
    status.summary = None;
    let mut trial = trial(0, 1, 0, 1.0);
    trial.metrics.clear();
    trial.outcome = Outcome::LostToTarget(
        gaugeblock_measurement::trial::TargetLoss::Exited,
        "exit code 3 | a * in the message".to_owned(),
    );
    Fixture { spec: spec(Purpose::Gate), status, judgement: None, trials: vec![trial] }
}

/// Arms side by side.
pub fn a_study() -> Fixture {
    let mut status = status(None, Reason::Measured, "all blocks are measured");
    status.verdict = None;
    Fixture { spec: spec(Purpose::Study), status, judgement: None, trials: trials(1.2) }
}

impl Fixture {
    /// Its report.
    pub fn report(&self) -> Report {
        let snapshot = Snapshot::freeze("team", "todo-versus", "uid-1", &self.spec, None, None);
        Report::of(Input {
            snapshot: &snapshot,
            status: &self.status,
            judgement: self.judgement.as_ref(),
            trials: &self.trials,
            records: &[],
        })
    }

    /// One trial yields nonsense.
    #[must_use]
    pub fn with_a_value_that_is_no_number(mut self) -> Self {
        if let Some(trial) = self.trials.last_mut() {
            trial.metrics.push(value("json", MetricName::LatencyP99, f64::NAN));
            trial.metrics.push(value("json", MetricName::LatencyMax, f64::INFINITY));
        }
        if let Some(judgement) = self.judgement.as_mut().and_then(|run| run.judgements.first_mut()) {
            judgement.effect = Some(f64::NAN);
            judgement.interval = Some(Interval { low: f64::NEG_INFINITY, high: f64::NAN, level: 0.99 });
        }
        self
    }
}

fn spec(purpose: Purpose) -> BenchmarkRunSpec {
    let mut spec: BenchmarkRunSpec = serde_json::from_value(json!({
        "targets": [
            { "name": "baseline", "image": "todo@sha256:aa", "facts": { "lines of code": "812" } },
            { "name": "candidate", "image": "todo@sha256:bb" },
        ],
        "dependencies": [{ "name": "db", "postgres": { "image": "postgres:17" } }],
        "scenarios": [{
            "name": "json",
            "http": {
                "requests": [{ "name": "get", "path": "/json" }, { "name": "list", "path": "/list" }],
                "load": { "open": { "rate": 1000 } },
            },
        }],
        "repetitions": { "blocks": 4, "seed": 7 },
    }))
    .unwrap();
    spec.purpose = purpose;
    spec
}

fn status(verdict: Option<RunVerdict>, reason: Reason, sentence: &str) -> BenchmarkRunStatus {
    let arm = |name: &str, void_trials| ArmStatus {
        name: name.to_owned(),
        image: Some(format!("todo@sha256:{name}")),
        trials: 2,
        void_trials,
    };
    BenchmarkRunStatus {
        verdict,
        reason: Some(reason),
        summary: Some(sentence.to_owned()),
        message: Some(sentence.to_owned()),
        started: Some("2026-11-30T12:00:00.123456789Z".to_owned()),
        finished: Some("2026-11-30T12:34:00Z".to_owned()),
        arms: vec![arm("baseline", 0), arm("candidate", 1)],
        ..BenchmarkRunStatus::default()
    }
}

fn trials(factor: f64) -> Vec<TrialSummary> {
    let mut trials = Vec::new();
    for block in 0..=2 {
        trials.push(trial(block, 0, 0, 1.0 + f64::from(block) * 0.01));
        trials.push(trial(block, 1, 0, factor * (1.0 + f64::from(block) * 0.01)));
    }
    let mut void = trial(3, 1, 0, 9.0);
    void.outcome = Outcome::Void(VoidCause::Steal, "the hypervisor took 7.1 % of CPU 1".to_owned());
    trials.push(void);
    trials
}

fn trial(block: u32, arm: u32, attempt: u32, factor: f64) -> TrialSummary {
    let begin = (i64::from(block) * 2 + i64::from(arm)) * 60_000_000_000;
    TrialSummary {
        slot: Slot { block, attempt, arm, stage: 0 },
        position: arm,
        outcome: Outcome::Complete,
        metrics: vec![
            value("json", MetricName::Throughput, 1000.0),
            value("json", MetricName::LatencyP50, 0.000_389 * factor),
            MetricValue {
                request: Some("list".to_owned()),
                ..value("json", MetricName::LatencyP50, 0.000_512 * factor)
            },
            value("json", MetricName::ErrorShare, 0.0),
            value("json", MetricName::ReceivedBytes, 340_000.0),
            value("json", MetricName::CpuPerRequest, 0.000_213 * factor),
            value("json", MetricName::MemoryAnonymous, 40_055_603.0),
            MetricValue { scenario: None, ..value("", MetricName::StartAnswering, 0.042 * factor) },
        ],
        scenario_hashes: [("json".to_owned(), "c0ffee".to_owned())].into(),
        exclusive: Some(true),
        cpus: "CPU 1".to_owned(),
        limits: vec![(
            "json".to_owned(),
            Limit {
                by: if arm == 0 { LimitedBy::None } else { LimitedBy::Connections },
                evidence: vec!["1000 of 1000 answers per second".to_owned()],
            },
        )],
        speed: vec![SpeedProbe {
            at: UnixNanos(begin),
            cpu: 1,
            nanos: 1_000_000 + u64::from(block) * 20_000,
            loop_version: 1,
        }],
        image: Some("todo@sha256:00".to_owned()),
        started: UnixNanos(begin),
        ended: UnixNanos(begin + 59_000_000_000),
        notes: vec!["the load generator and the sampler share CPUs 0".to_owned()],
    }
}

fn value(scenario: &str, metric: MetricName, value: f64) -> MetricValue {
    MetricValue { metric, scenario: Some(scenario.to_owned()), request: None, value, beyond: None }
}

fn judged(verdict: Verdict, judgements: Vec<Judgement>) -> RunJudgement {
    RunJudgement {
        verdict,
        decided: true,
        next_look: None,
        gates: judgements.iter().filter(|judgement| judgement.gates).count() as u32,
        judgements,
        findings: vec![Finding {
            rule: Rule::VoidBlocks,
            sentence: "1 of 5 blocks was void and was measured anew.".to_owned(),
        }],
    }
}

fn of(scenario: &str, metric: &str, verdict: Verdict) -> Judgement {
    let name: MetricName = metric.parse().unwrap();
    let (baseline, candidate) = match name {
        MetricName::CpuPerRequest => (0.000_213, 0.000_256),
        MetricName::LatencyP50 => (0.000_389, 0.000_397),
        MetricName::StartAnswering => (0.042, 0.055),
        MetricName::ReceivedBytes => (340_000.0, 340_000.0),
        _ => (0.0, 0.0),
    };
    Judgement {
        arm: "candidate".to_owned(),
        scenario: Some(scenario.to_owned()),
        metric: metric.into(),
        unit: "s".to_owned(),
        direction: Direction::LowerIsBetter,
        gates: true,
        verdict,
        scale: Scale::Relative,
        effect: Some(0.0),
        interval: None,
        p: Some(0.001),
        pairs: 2,
        minimum_effect: 0.03,
        smallest_visible_effect: Some(0.014),
        smallest_visible_effect_at_budget: None,
        crossed_at: Some(2),
        baseline: Some(summary(baseline)),
        candidate: Some(summary(candidate)),
        method: Method::PairedT,
        findings: vec![Finding { rule: Rule::NotDecided, sentence: format!("{metric} is {}.", verdict.as_str()) }],
    }
}

fn whole(metric: &str, verdict: Verdict) -> Judgement {
    Judgement { scenario: None, ..of("", metric, verdict) }
}

fn summary(value: f64) -> ArmSummary {
    ArmSummary {
        n: 2,
        mean: value,
        geometric_mean: (value > 0.0).then_some(value),
        median: value,
        standard_deviation: value * 0.01,
        coefficient_of_variation: Some(0.01),
    }
}

/// What tells judgements apart.
trait Judged {
    fn with_effect(self, effect: f64, low: f64, high: f64) -> Self;
    fn absolute(self) -> Self;
    fn informing(self) -> Self;
}

impl Judged for Judgement {
    fn with_effect(self, effect: f64, low: f64, high: f64) -> Self {
        let interval = Some(Interval { low, high, level: 0.997 });
        Self { effect: Some(effect), interval, ..self }
    }

    fn absolute(self) -> Self {
        let interval = Some(Interval { low: -0.0004, high: 0.0004, level: 0.997 });
        Self { scale: Scale::Absolute, minimum_effect: 0.001, interval, ..self }
    }

    fn informing(self) -> Self {
        Self { gates: false, ..self }
    }
}
