//! What the manifest and the records say, in words.

use std::fmt::Write as _;

use gaugeblock_crds::{
    dependency::Dependency,
    scenario::{Arrivals, Http, Load, Scenario},
    status::RunVerdict,
};
use gaugeblock_measurement::{
    Outcome,
    limit::LimitedBy,
    trial::{TargetLoss, VoidCause},
};

/// How a scenario offers its load, such as `open, 1000/s over at most 32 connections`.
pub fn load(load: &Load) -> String {
    match (&load.closed, &load.open) {
        (Some(closed), _) => format!("closed, {} connections", closed.connections),
        (None, Some(open)) => {
            let arrivals = match open.arrivals {
                Arrivals::Constant => "",
                Arrivals::Poisson => ", Poisson arrivals",
            };
            format!("open, {}/s over at most {} connections{arrivals}", open.rate, open.connections)
        }
        (None, None) => "no load".to_owned(),
    }
}

/// A scenario in one line.
pub fn scenario(scenario: &Scenario) -> String {
    let mut text = match &scenario.http {
        Some(Http { requests, load: offered, warm_up, measure, timeout: _ }) => {
            let mut text = load(offered);
            let _ = write!(text, "; measured for {measure} after {warm_up} of warm-up");
            if requests.len() > 1 {
                let _ = write!(text, "; {} kinds of requests", requests.len());
            }
            text
        }
        None => String::new(),
    };
    if scenario.writes {
        text.push_str("; writes");
    }
    text
}

/// A dependency in one line.
pub fn dependency(dependency: &Dependency) -> String {
    match &dependency.postgres {
        Some(postgres) => format!("{}: Postgres, {}", dependency.name, postgres.image),
        None => dependency.name.clone(),
    }
}

/// An instant of RFC 3339 without the fraction of its second.
pub fn instant(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) => {
            format!("{whole}{}", fraction.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => text.to_owned(),
    }
}

/// What limited a window.
pub const fn limited_by(by: LimitedBy) -> &'static str {
    match by {
        LimitedBy::Target => "the target's CPU",
        LimitedBy::Dependency => "a dependency's CPU",
        LimitedBy::Generator => "the load generator",
        LimitedBy::Connections => "the number of connections",
        LimitedBy::None => "nothing",
        LimitedBy::Unknown => "unknown",
    }
}

/// What became of a trial.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete => "complete".to_owned(),
        Outcome::Void(cause, message) => format!("void, {}: {message}", void_cause(*cause)),
        Outcome::LostToTarget(loss, message) => {
            format!("lost to the target, {}: {message}", target_loss(*loss))
        }
    }
}

/// What, outside the target, spoilt a trial.
pub const fn void_cause(cause: VoidCause) -> &'static str {
    match cause {
        VoidCause::Disrupted => "disrupted",
        VoidCause::GeneratorSaturated => "generator saturated",
        VoidCause::GeneratorFailed => "generator failed",
        VoidCause::SamplerFailed => "sampler failed",
        VoidCause::DependencyFailed => "dependency failed",
        VoidCause::ResultUnreadable => "result unreadable",
        VoidCause::Steal => "CPU time stolen by the hypervisor",
        VoidCause::Neighbours => "other work on the target's CPUs",
        VoidCause::MachineSpeed => "the machine's speed changed",
        VoidCause::ClockSkew => "clocks disagree",
        VoidCause::BlockVoid => "another trial of its block was void",
    }
}

/// How the target itself lost a trial.
pub const fn target_loss(loss: TargetLoss) -> &'static str {
    match loss {
        TargetLoss::OomKilled => "killed for memory",
        TargetLoss::Exited => "ended by itself",
        TargetLoss::NeverReady => "never answered rightly",
        TargetLoss::NotStarted => "could not be started",
    }
}

/// A verdict for people.
pub const fn verdict(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Regressed => "regressed",
        RunVerdict::Improved => "improved",
        RunVerdict::NoChange => "no change",
        RunVerdict::Inconclusive => "inconclusive",
        RunVerdict::NotComparable => "not comparable",
        RunVerdict::Invalid => "invalid",
    }
}
