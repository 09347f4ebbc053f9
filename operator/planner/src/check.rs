//! What the schema cannot see: contradictions inside a spec.

use gaugeblock_crds::{BenchmarkRunSpec, GoDuration, condition::Reason, run::Purpose};
use gaugeblock_measurement::MetricName;

use crate::failure::Failure;

/// The first contradiction of a spec, if there is one.
pub fn check(spec: &BenchmarkRunSpec) -> Result<(), Failure> {
    let invalid = |message: String| Err(Failure::new(Reason::InvalidSpec, message));
    if spec.purpose == Purpose::Gate && spec.targets.len() < 2 {
        return invalid("a Gate compares arms: name at least two targets, or set purpose: Study".into());
    }
    for rule in &spec.comparison.metrics {
        if let Err(message) = rule.metric.parse::<MetricName>() {
            return invalid(format!("comparison.metrics: {message}"));
        }
    }
    if let Some(dependency) = spec.dependencies.iter().find(|dependency| dependency.postgres.is_none()) {
        return invalid(format!("dependency {} names no kind: set postgres", dependency.name));
    }
    for scenario in &spec.scenarios {
        let Some(http) = &scenario.http else {
            return invalid(format!("scenario {} names no kind: set http", scenario.name));
        };
        let named: [(&str, &GoDuration); 3] =
            [("warmUp", &http.warm_up), ("measure", &http.measure), ("timeout", &http.timeout)];
        for (field, duration) in named {
            if let Err(error) = duration.parse() {
                return invalid(format!("scenario {}: {field}: {error}", scenario.name));
            }
        }
        if http.measure.nanos() == 0 {
            return invalid(format!("scenario {}: measure must be longer than nothing", scenario.name));
        }
        for request in &http.requests {
            let texts = [Some(request.path.as_str()), request.body.as_deref()];
            for name in texts.into_iter().flatten().flat_map(placeholders) {
                if !request.parameters.contains_key(name) {
                    return invalid(format!(
                        "scenario {}: request {} uses {{{{{name}}}}}, but has no parameter of that name",
                        scenario.name, request.name
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Names inside `{{…}}`.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}").map(|(name, _)| name.trim()))
}
