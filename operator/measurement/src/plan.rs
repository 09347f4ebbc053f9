//! What the measuring programs are started with. The planner writes it, the programs obey; both
//! sides check the version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{TrialId, generator::Arrivals};

/// Environment variable that carries a plan as JSON.
pub const PLAN_VARIABLE: &str = "GAUGEBLOCK_PLAN";
/// Environment variable with the target's address and port, for a plan that was written before
/// they were known.
pub const TARGET_VARIABLE: &str = "GAUGEBLOCK_TARGET";
/// Version of the plans' shape.
pub const PLAN_VERSION: u32 = 1;

/// What the load generator has to do in one stage of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// Whose trial.
    pub trial: TrialId,
    /// Seed of mix, parameters and arrivals.
    pub seed: u64,
    /// Address and port of the target, such as `198.18.2.7:8080`; empty when the environment has it
    /// ([`TARGET_VARIABLE`]).
    pub target: String,
    /// Value of the `Host` header.
    pub host: String,
    /// Worker threads; one per CPU the generator was given.
    pub threads: u32,
    /// Whether the generator owns its CPUs and may spin for exact pacing.
    pub spin: bool,
    /// What a ready target answers.
    pub ready: ReadyProbe,
    /// Quiet time before the first scenario (ns).
    pub idle_before: u64,
    /// Scenarios in order.
    pub scenarios: Vec<ScenarioPlan>,
    /// Quiet time after the last one (ns).
    pub idle_after: u64,
    /// Time allowed for all of it (ns).
    pub deadline: u64,
}

/// How readiness is recognised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadyProbe {
    /// Path to `GET`.
    pub path: String,
    /// Expected status.
    pub status: u16,
    /// Time allowed (ns).
    pub time_out: u64,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioPlan {
    /// Name in the manifest.
    pub name: String,
    /// Hash of its definition.
    pub scenario_hash: String,
    /// How load is offered.
    pub load: LoadPlan,
    /// Warm-up (ns), before the discarded time.
    pub warm_up: u64,
    /// Time thrown away between warm-up and window (ns).
    pub discard: u64,
    /// Measured time (ns).
    pub measure: u64,
    /// Time allowed for answers after the window (ns).
    pub drain: u64,
    /// Quiet time after this scenario (ns).
    pub quiesce: u64,
    /// Limit for one request (ns).
    pub time_out: u64,
    /// The mix.
    pub requests: Vec<RequestPlan>,
    /// Dependencies to settle before the warm-up.
    pub settle: Vec<Settle>,
}

/// How load is offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadPlan {
    /// A fixed number of connections, no think time.
    Closed {
        /// Connections.
        connections: u32,
    },
    /// A fixed rate of arrivals.
    Open {
        /// Rate in thousandths of a request per second, so that it is exact.
        rate_millis: u64,
        /// Most connections.
        connections: u32,
        /// Distribution of the gaps.
        arrivals: Arrivals,
    },
}

/// One request of the mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// Name for the results.
    pub name: String,
    /// Weight in the mix (≥ 1).
    pub weight: u32,
    /// Method.
    pub method: String,
    /// Path with query; `{{name}}` is replaced by a parameter.
    pub path: String,
    /// Headers, as given.
    pub headers: Vec<(String, String)>,
    /// Body; `{{name}}` is replaced by a parameter.
    pub body: Option<String>,
    /// Parameters drawn per request, by name.
    pub parameters: BTreeMap<String, Parameter>,
    /// What a correct answer is.
    pub expect: Expect,
}

/// Where a parameter's value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Parameter {
    /// A whole number, each equally likely.
    Range {
        /// Smallest.
        from: i64,
        /// Largest.
        to: i64,
    },
    /// One of a list, each equally likely.
    OneOf(Vec<String>),
}

/// What a correct answer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// Accepted status codes; empty: any from 200 to 299.
    pub statuses: Vec<u16>,
    /// Exact length of the body.
    pub length: Option<u64>,
    /// Lower-case SHA-256 of the body in hexadecimal.
    pub sha256: Option<String>,
    /// Text that the body must contain.
    pub contains: Option<String>,
}

/// How a dependency is brought to a known state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settle {
    /// `VACUUM ANALYZE; CHECKPOINT` and a reading of the counters.
    Postgres {
        /// Name of the dependency.
        dependency: String,
        /// Host or address.
        host: String,
        /// Port.
        port: u16,
        /// User with the right to do so.
        user: String,
        /// Database.
        database: String,
        /// Environment variable that holds the password: never the password itself.
        password_variable: String,
    },
}

/// What the sampler has to do in one stage of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplerPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// Whose trial.
    pub trial: TrialId,
    /// The target.
    pub target: Watch,
    /// Dependencies on the same machine, watched as well.
    pub others: Vec<Watch>,
    /// Container of the target to measure; other containers of its pod are watched, too.
    pub container: String,
    /// Port of the target.
    pub port: u16,
    /// What a ready target answers.
    pub ready: ReadyProbe,
    /// Interval between samples (ns).
    pub interval: u64,
    /// Interval between looks while the target starts (ns).
    pub start_poll: u64,
    /// Time allowed until the target appears (ns).
    pub appear_time_out: u64,
    /// Time allowed for all of it (ns).
    pub deadline: u64,
}

/// What to watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Watch {
    /// A pod, by UID, under the mounted cgroup tree.
    Pod {
        /// Name for the results.
        name: String,
        /// UID of the pod.
        uid: String,
    },
    /// A process and its descendants; the file appears with the process's ID in it.
    ProcessFile {
        /// Name for the results.
        name: String,
        /// UID of the unit.
        uid: String,
        /// Path of the file.
        path: String,
    },
}
