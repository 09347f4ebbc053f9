//! What limited a window, as far as the generator can tell by itself.
//!
//! It knows its own CPU, its own lateness and whether connections were free. Whether the target's
//! or a dependency's CPU was used up is the sampler's to say; the join of both refines this.

use gaugeblock_measurement::{
    Histogram,
    generator::Offered,
    limit::{Limit, LimitedBy},
};

use crate::{clock::SECOND, worker::Usage};

/// Share of a CPU from which on a thread has no room left: one that waits for events at all shows
/// less.
const FULL: f64 = 0.95;
/// Share of the window in which no connection was idle from which on connections were the limit.
const NEVER_IDLE: f64 = 0.95;
/// A rate is held when at most this share of the requests is missing.
const MISSING: f64 = 0.01;
/// Lateness of the generator's own, in the median, from which on it does not keep its schedule
/// (s). A late tail alone spoils the tail of the latencies, which then may not gate, but neither
/// rate nor the target's work …
const LATE: f64 = 1e-3;
/// … unless it is this small a share of the service time's 99th percentile.
const LATE_SHARE: f64 = 0.05;

/// What the generator knows about a window.
#[derive(Debug)]
pub struct View<'a> {
    /// What was offered.
    pub offered: &'a Offered,
    /// Length of the window (s).
    pub seconds: f64,
    /// Requests intended inside the window.
    pub intended: u64,
    /// Answers that came inside the window.
    pub answers: u64,
    /// One entry per worker.
    pub usage: &'a [Usage],
    /// Lateness of the generator's own.
    pub lateness: &'a Histogram,
    /// 99th percentile of the service time (s).
    pub service_p99: Option<f64>,
    /// Share of the window in which no connection was idle, over all workers.
    pub none_idle: f64,
    /// Mean number of requests under way.
    pub under_way: f64,
    /// Most connections open at once.
    pub connections: u32,
}

/// Judges a window.
pub fn judge(view: &View) -> Limit {
    let mut evidence = Vec::new();
    let answered = view.answers as f64 / view.seconds;
    // Requests under way at the window's end are not missing.
    let missing = view.intended.saturating_sub(view.answers) as f64 - f64::from(view.connections);
    let held = missing <= MISSING * view.intended as f64;
    let open = match view.offered {
        Offered::Open { rate, .. } => {
            evidence.push(format!("{answered:.0} answers per second of {rate:.0} asked for"));
            true
        }
        Offered::Closed { connections } => {
            evidence.push(format!("{answered:.0} answers per second over {connections} connections"));
            false
        }
    };
    let full = busiest(view, &mut evidence);
    let late = lateness(view, &mut evidence);
    evidence.push(format!(
        "no connection was idle for {:.1} % of the window; {:.2} requests were under way on average over {} connections",
        view.none_idle * 100.0,
        view.under_way,
        view.connections,
    ));
    let by = if (full && !(open && held)) || late {
        LimitedBy::Generator
    } else if view.answers == 0 {
        LimitedBy::Unknown
    } else if view.none_idle >= NEVER_IDLE {
        LimitedBy::Connections
    } else if open && held {
        LimitedBy::None
    } else {
        LimitedBy::Unknown
    };
    Limit { by, evidence }
}

/// Whether a worker had no CPU time left: what it used for work, and what it had to wait for.
fn busiest(view: &View, evidence: &mut Vec<String>) -> bool {
    let share = |nanos: u64| nanos as f64 / SECOND as f64 / view.seconds;
    // The active waiting is wall time, in which the thread may have had no CPU either.
    let needed = |usage: &Usage| (usage.cpu + usage.run_wait.unwrap_or(0)).saturating_sub(usage.spun);
    let busiest = view.usage.iter().enumerate().max_by_key(|(_, usage)| needed(usage));
    let Some((worker, usage)) = busiest else {
        return false;
    };
    evidence.push(format!(
        "the busiest generator thread (number {worker}) had work for {:.1} % of the window and waited for a CPU for {}",
        share(needed(usage)) * 100.0,
        match usage.run_wait {
            Some(waited) => format!("{:.1} %", share(waited) * 100.0),
            None => "a time that the kernel does not tell".to_owned(),
        },
    ));
    share(needed(usage)) >= FULL
}

/// Whether requests went out too late for want of the generator.
fn lateness(view: &View, evidence: &mut Vec<String>) -> bool {
    let (Some(median), Some(late)) = (view.lateness.quantile(0.5), view.lateness.quantile(0.99)) else {
        return false;
    };
    let allowed = LATE.max(LATE_SHARE * view.service_p99.unwrap_or(0.0));
    evidence.push(format!(
        "the generator sent {:.3} ms late at the median and {:.3} ms at the 99th percentile; a median up to {:.3} ms keeps the schedule",
        median * 1e3,
        late * 1e3,
        allowed * 1e3,
    ));
    median > allowed
}

#[cfg(test)]
mod tests {
    use gaugeblock_measurement::generator::Arrivals;

    use super::*;

    struct Window {
        offered: Offered,
        intended: u64,
        answers: u64,
        busy: f64,
        run_wait: f64,
        lateness: f64,
        none_idle: f64,
    }

    fn open(rate: f64) -> Window {
        Window {
            offered: Offered::Open { rate, connections: 20, arrivals: Arrivals::Constant },
            intended: (rate * 10.0) as u64,
            answers: (rate * 10.0) as u64,
            busy: 0.3,
            run_wait: 0.01,
            lateness: 2e-5,
            none_idle: 0.02,
        }
    }

    fn limited_by(window: &Window) -> LimitedBy {
        let mut lateness = Histogram::new();
        lateness.record_n((window.lateness * 1e9) as u64, 100);
        let nanos = |share: f64| (share * 10.0 * 1e9) as u64;
        let limit = judge(&View {
            offered: &window.offered,
            seconds: 10.0,
            intended: window.intended,
            answers: window.answers,
            usage: &[
                Usage::default(),
                Usage { cpu: nanos(window.busy) + 17, spun: 17, run_wait: Some(nanos(window.run_wait)) },
            ],
            lateness: &lateness,
            service_p99: Some(0.002),
            none_idle: window.none_idle,
            under_way: 1.0,
            connections: 20,
        });
        assert!(limit.evidence.len() >= 3);
        limit.by
    }

    #[test]
    fn a_rate_held_with_room_is_limited_by_nothing() {
        assert_eq!(limited_by(&open(1000.0)), LimitedBy::None);
        assert_eq!(limited_by(&Window { busy: 0.99, ..open(1000.0) }), LimitedBy::None);
    }

    #[test]
    fn a_full_thread_that_misses_the_rate_is_the_limit() {
        let short = Window { answers: 310_000, ..open(50_000.0) };
        assert_eq!(limited_by(&Window { busy: 0.99, ..short }), LimitedBy::Generator);
        let starved = Window { answers: 310_000, busy: 0.5, run_wait: 0.49, ..open(50_000.0) };
        assert_eq!(limited_by(&starved), LimitedBy::Generator);
    }

    #[test]
    fn a_late_generator_is_the_limit_even_if_the_rate_is_held() {
        assert_eq!(limited_by(&Window { lateness: 0.004, ..open(1000.0) }), LimitedBy::Generator);
    }

    #[test]
    fn connections_that_are_never_idle_are_the_limit() {
        let short = Window { answers: 6_000, none_idle: 0.999, ..open(1000.0) };
        assert_eq!(limited_by(&short), LimitedBy::Connections);
        let closed =
            Window { offered: Offered::Closed { connections: 20 }, none_idle: 1.0, lateness: 0.0, ..open(1000.0) };
        assert_eq!(limited_by(&closed), LimitedBy::Connections);
        assert_eq!(limited_by(&Window { busy: 0.97, ..closed }), LimitedBy::Generator);
    }

    #[test]
    fn errors_alone_tell_nothing() {
        assert_eq!(limited_by(&Window { answers: 0, ..open(1000.0) }), LimitedBy::Unknown);
        assert_eq!(limited_by(&Window { answers: 5_000, ..open(1000.0) }), LimitedBy::Unknown);
    }
}
