//! A plan, read and checked once: what cannot be carried out is refused before anything is sent.

use std::{net::SocketAddr, sync::Arc};

use gaugeblock_measurement::{
    GeneratorPlan,
    plan::{LoadPlan, PLAN_VERSION, ScenarioPlan},
};

use crate::{
    address::{AddressError, socket_address},
    mix::Mix,
    request::{Request, RequestError},
};

/// Most worker threads: more than any machine's CPUs in use today.
const MOST_THREADS: u32 = 1_024;
/// Most connections of one scenario: the local ports of one address.
const MOST_CONNECTIONS: u32 = 60_000;

/// A plan that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum BadPlan {
    /// Not the JSON of a plan.
    #[error("the plan is not readable")]
    Unreadable(#[source] serde_json::Error),
    /// Written by another release.
    #[error(
        "the plan has version {found}, this program reads version {PLAN_VERSION}; use the measuring image of the same release"
    )]
    Version {
        /// Version found.
        found: u32,
    },
    /// No address.
    #[error("failed to find the target")]
    Target(#[source] AddressError),
    /// A number outside its range.
    #[error("{what} is {value}, outside {range}")]
    Range {
        /// What is counted.
        what: String,
        /// The value found.
        value: u64,
        /// What is allowed, in words.
        range: String,
    },
    /// Nothing to send.
    #[error("scenario {0:?} has no requests")]
    NoRequests(String),
    /// A request that cannot be sent.
    #[error("failed to prepare request {request:?} of scenario {scenario:?}")]
    Request {
        /// Name of the scenario.
        scenario: String,
        /// Name of the request.
        request: String,
        /// Why.
        #[source]
        source: RequestError,
    },
}

/// A plan in the form in which it is carried out.
#[derive(Debug)]
pub struct Workload {
    /// The plan itself.
    pub plan: GeneratorPlan,
    /// Where the target listens.
    pub target: SocketAddr,
    /// The mixes, in the order of the plan's scenarios.
    pub mixes: Vec<Arc<Requests>>,
}

/// The requests of one scenario.
#[derive(Debug)]
pub struct Requests {
    /// By index.
    pub requests: Vec<Request>,
    /// How they are chosen.
    pub mix: Mix,
}

impl Workload {
    /// Checks a plan.
    pub fn new(plan: &GeneratorPlan) -> Result<Self, BadPlan> {
        if plan.version != PLAN_VERSION {
            return Err(BadPlan::Version { found: plan.version });
        }
        range("the number of threads", plan.threads, 1, MOST_THREADS)?;
        let mixes =
            plan.scenarios.iter().map(|scenario| requests(plan, scenario).map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Self { target: socket_address(&plan.target).map_err(BadPlan::Target)?, plan: plan.clone(), mixes })
    }
}

fn requests(plan: &GeneratorPlan, scenario: &ScenarioPlan) -> Result<Requests, BadPlan> {
    let connections = match scenario.load {
        LoadPlan::Closed { connections } => connections,
        LoadPlan::Open { rate_millis, connections, arrivals: _ } => {
            let what = format!("the rate of scenario {:?} (1/1000 s)", scenario.name);
            range(&what, rate_millis, 1, 10_u64.pow(12))?;
            connections
        }
    };
    let of = |what: &str| format!("{what} of scenario {:?}", scenario.name);
    range(&of("the number of connections"), connections, 1, MOST_CONNECTIONS)?;
    // A day each: sums of them cannot overflow.
    let day = 86_400_u64 * crate::clock::SECOND;
    range(&of("the measured time (ns)"), scenario.measure, 1, day)?;
    range(&of("the time-out (ns)"), scenario.time_out, 1, day)?;
    range(&of("the warm-up (ns)"), scenario.warm_up, 0_u64, day)?;
    range(&of("the discarded time (ns)"), scenario.discard, 0_u64, day)?;
    range(&of("the drain time (ns)"), scenario.drain, 0_u64, day)?;
    if scenario.requests.is_empty() {
        return Err(BadPlan::NoRequests(scenario.name.clone()));
    }
    let requests = scenario
        .requests
        .iter()
        .map(|request| {
            Request::new(request, &plan.host).map_err(|source| BadPlan::Request {
                scenario: scenario.name.clone(),
                request: request.name.clone(),
                source,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Requests { mix: Mix::new(&requests), requests })
}

fn range<N: Into<u64>>(what: &str, value: N, from: N, to: N) -> Result<(), BadPlan> {
    let (value, from, to) = (value.into(), from.into(), to.into());
    if (from..=to).contains(&value) {
        return Ok(());
    }
    Err(BadPlan::Range { what: what.to_owned(), value, range: format!("{from} to {to}") })
}
