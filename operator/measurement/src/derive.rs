//! Metrics that follow from a trial's records, joined by wall clock.

use crate::{
    GeneratorRecord, MetricName, MetricValue, SamplerRecord, Span, UnixNanos,
    generator::{Offered, RequestRecord, ScenarioRecord},
    limit::{Limit, LimitedBy},
    sampler::ContainerSeries,
};

/// Share of its CPUs from which on a part counts as used up.
const USED_UP: f64 = 0.95;
/// Share of the asked rate from which on the rate counts as held.
const HELD: f64 = 0.99;

/// All values of one stage of a trial. What the records do not tell is absent.
pub fn metrics(generator: &GeneratorRecord, sampler: &SamplerRecord) -> Vec<MetricValue> {
    let mut values = Values::default();
    let target = sampler.series.iter().find(|series| series.target);
    for scenario in &generator.scenarios {
        load(&mut values, scenario);
        if let Some(target) = target {
            resources(&mut values, scenario, target);
        }
    }
    if let Some(target) = target {
        idle(&mut values, generator, target);
        values.trial(MetricName::MemoryPeak, target.peak.map(|bytes| bytes as f64));
        values.trial(MetricName::MemoryPrivate, target.private.map(|bytes| bytes as f64));
    }
    if let Some(start) = sampler.starts.first().filter(|start| start.watched) {
        let after = |at: Option<UnixNanos>| at.map(|at| at.seconds_since(start.process));
        values.trial(MetricName::StartListening, after(start.listening));
        values.trial(MetricName::StartAnswering, after(start.answering));
    }
    values.0
}

#[derive(Default)]
struct Values(Vec<MetricValue>);

impl Values {
    fn push(
        &mut self,
        metric: MetricName,
        scenario: Option<&str>,
        request: Option<&str>,
        value: Option<f64>,
        beyond: Option<f64>,
    ) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.push(MetricValue {
                metric,
                scenario: scenario.map(str::to_owned),
                request: request.map(str::to_owned),
                value,
                beyond,
            });
        }
    }

    fn trial(&mut self, metric: MetricName, value: Option<f64>) {
        self.push(metric, None, None, value, None);
    }

    fn scenario(&mut self, metric: MetricName, scenario: &ScenarioRecord, value: Option<f64>) {
        self.push(metric, Some(&scenario.name), None, value, None);
    }
}

fn load(values: &mut Values, scenario: &ScenarioRecord) {
    let all = scenario.all();
    let seconds = scenario.window.seconds();
    values.scenario(MetricName::Throughput, scenario, ratio(all.correct as f64, seconds));
    // A request that found no connection is an error that was never sent.
    let asked = all.correct + all.failures();
    values.scenario(MetricName::ErrorShare, scenario, ratio(all.failures() as f64, asked as f64));
    values.scenario(MetricName::ReceivedBytes, scenario, ratio(all.bytes_received as f64, seconds));
    if let Offered::Open { rate, .. } = scenario.offered {
        values.scenario(MetricName::AchievedShare, scenario, ratio(scenario.achieved_rate, rate));
        values.scenario(MetricName::SendLatenessP50, scenario, scenario.lateness.quantile(0.5));
        values.scenario(MetricName::SendLatenessP99, scenario, scenario.lateness.quantile(0.99));
    }
    latencies(values, scenario, &all, None);
    if scenario.requests.len() > 1 {
        for request in &scenario.requests {
            latencies(values, scenario, request, Some(&request.name));
        }
    }
}

fn latencies(values: &mut Values, scenario: &ScenarioRecord, requests: &RequestRecord, name: Option<&str>) {
    let histogram = &requests.response;
    let mut quantile = |metric, q| {
        let beyond = Some(histogram.count_beyond(q));
        values.push(metric, Some(&scenario.name), name, histogram.quantile(q), beyond);
    };
    match scenario.offered {
        Offered::Closed { .. } => {
            quantile(MetricName::ClosedLatencyP50, 0.5);
            quantile(MetricName::ClosedLatencyP99, 0.99);
        }
        Offered::Open { .. } => {
            quantile(MetricName::LatencyP50, 0.5);
            quantile(MetricName::LatencyP90, 0.9);
            quantile(MetricName::LatencyP95, 0.95);
            quantile(MetricName::LatencyP99, 0.99);
            quantile(MetricName::LatencyP999, 0.999);
            values.push(MetricName::LatencyMax, Some(&scenario.name), name, histogram.max(), None);
            values.push(MetricName::LatencyMean, Some(&scenario.name), name, histogram.mean(), None);
        }
    }
}

fn resources(values: &mut Values, scenario: &ScenarioRecord, target: &ContainerSeries) {
    let window = scenario.window;
    let cpu = used(target, &target.cpu, window);
    // Answers given inside the window, whenever they were asked for: with a backlog, requests that are
    // intended in the window are answered after it, and that work is not in its CPU time.
    let answers = scenario.achieved_rate * window.seconds();
    let per_request = match scenario.offered {
        Offered::Open { .. } => MetricName::CpuPerRequest,
        Offered::Closed { .. } => MetricName::CpuPerRequestSaturated,
    };
    values.scenario(per_request, scenario, cpu.and_then(|cpu| ratio(cpu, answers)));
    values.scenario(MetricName::CoresUsed, scenario, cpu.and_then(|cpu| ratio(cpu, window.seconds())));
    let throttled = used(target, &target.throttled, window);
    values.scenario(MetricName::ThrottledShare, scenario, throttled.and_then(|time| ratio(time, window.seconds())));
    values.scenario(MetricName::MemoryAnonymous, scenario, mean(target, &target.anonymous, window));
    values.scenario(MetricName::MemoryAnonymousPeak, scenario, largest(target, &target.anonymous, window));
    values.scenario(MetricName::MemoryWorkingSet, scenario, mean(target, &target.working_set, window));
}

fn idle(values: &mut Values, generator: &GeneratorRecord, target: &ContainerSeries) {
    if let Some(before) = generator.idle_before {
        values.trial(MetricName::MemoryAnonymousStart, mean(target, &target.anonymous, before));
        let cpu = used(target, &target.cpu, before);
        values.trial(MetricName::IdleCores, cpu.and_then(|cpu| ratio(cpu, before.seconds())));
    }
    if let Some(after) = generator.idle_after {
        values.trial(MetricName::MemoryAnonymousIdle, mean(target, &target.anonymous, after));
    }
}

/// What limited a window, from the generator's own view and the target's use of its CPUs.
pub fn limit(scenario: &ScenarioRecord, sampler: &SamplerRecord) -> Limit {
    let mut limit = scenario.limit.clone();
    let Some(target) = sampler.series.iter().find(|series| series.target) else {
        return limit;
    };
    let cpus = sampler.exclusivity.last().map_or(0, |proof| count_cpus(&proof.target_cpus));
    let Some(cores) = used(target, &target.cpu, scenario.window).and_then(|cpu| ratio(cpu, scenario.window.seconds()))
    else {
        return limit;
    };
    limit.evidence.push(format!("the target used {cores:.2} of {cpus} CPUs"));
    let held = match scenario.offered {
        Offered::Open { rate, .. } => scenario.achieved_rate >= HELD * rate,
        Offered::Closed { .. } => false,
    };
    if limit.by == LimitedBy::Generator {
        return limit;
    }
    limit.by = if held {
        LimitedBy::None
    } else if cpus > 0 && cores >= USED_UP * cpus as f64 {
        LimitedBy::Target
    } else {
        limit.by
    };
    limit
}

/// Number of CPUs in a list such as `0-3,8`.
pub fn count_cpus(list: &str) -> usize {
    list.split(',')
        .filter_map(|part| {
            let (from, to) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
            Some(to.parse::<usize>().ok()?.saturating_sub(from.parse().ok()?) + 1)
        })
        .sum()
}

fn used(series: &ContainerSeries, column: &[u64], span: Span) -> Option<f64> {
    increase(&series.at, column, span)
}

/// Increase of a cumulative column of nanoseconds over a span, in seconds. Linear between two
/// samples; `None` when the samples do not cover the span.
pub fn increase(times: &[UnixNanos], column: &[u64], span: Span) -> Option<f64> {
    let at = |time| value_at(times, column, time);
    Some((at(span.end)? - at(span.start)?) / 1e9)
}

fn value_at(times: &[UnixNanos], column: &[u64], time: UnixNanos) -> Option<f64> {
    if column.len() != times.len() {
        return None;
    }
    let after = times.partition_point(|sample| *sample <= time);
    let (before, after) = (after.checked_sub(1)?, after);
    let from = *column.get(before)? as f64;
    let Some(to) = column.get(after) else {
        // Exactly at the last sample.
        return (times[before] == time).then_some(from);
    };
    let share = time.since(times[before]) as f64 / times[after].since(times[before]).max(1) as f64;
    Some(from + (*to as f64 - from) * share)
}

fn inside<'a>(series: &'a ContainerSeries, column: &'a [u64], span: Span) -> impl Iterator<Item = f64> + 'a {
    series.at.iter().zip(column).filter(move |(at, _)| span.contains(**at)).map(|(_, value)| *value as f64)
}

fn mean(series: &ContainerSeries, column: &[u64], span: Span) -> Option<f64> {
    let (sum, count) = inside(series, column, span).fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    ratio(sum, count)
}

fn largest(series: &ContainerSeries, column: &[u64], span: Span) -> Option<f64> {
    inside(series, column, span).reduce(f64::max)
}

fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(at: &[i64], cpu: &[u64]) -> ContainerSeries {
        ContainerSeries {
            target: true,
            at: at.iter().map(|at| UnixNanos(*at)).collect(),
            cpu: cpu.to_vec(),
            ..ContainerSeries::default()
        }
    }

    fn span(start: i64, end: i64) -> Span {
        Span { start: UnixNanos(start), end: UnixNanos(end) }
    }

    #[test]
    fn cpu_time_is_linear_between_two_samples() {
        let series = series(&[0, 100, 200], &[0, 1_000_000_000, 3_000_000_000]);
        let used = used(&series, &series.cpu, span(50, 150)).unwrap();
        assert!((used - 1.5).abs() < 1e-12, "{used}");
    }

    #[test]
    fn a_window_that_the_samples_do_not_cover_has_no_value() {
        let series = series(&[100, 200], &[1, 2]);
        assert_eq!(used(&series, &series.cpu, span(50, 150)), None);
        assert_eq!(used(&series, &series.cpu, span(150, 201)), None);
        assert!(used(&series, &series.cpu, span(100, 200)).is_some());
    }

    #[test]
    fn a_column_that_the_kernel_does_not_offer_has_no_value() {
        let series = series(&[0, 100], &[0, 1]);
        assert_eq!(used(&series, &series.throttled, span(0, 50)), None);
        assert_eq!(mean(&series, &series.anonymous, span(0, 50)), None);
    }

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(count_cpus("1"), 1);
        assert_eq!(count_cpus("0-3,8"), 5);
        assert_eq!(count_cpus(""), 0);
    }
}
