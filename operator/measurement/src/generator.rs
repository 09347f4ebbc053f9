//! What the load generator reports of one trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Histogram, Span, TrialId, UnixNanos, identity::Program, limit::Limit};

/// Everything the load generator measured in one stage of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorRecord {
    /// [`crate::RECORD_VERSION`].
    pub version: u32,
    /// Who wrote it.
    pub program: Program,
    /// Whose it is.
    pub trial: TrialId,
    /// Seed of the request mix and of the arrivals; equal within a block.
    pub seed: u64,
    /// Node the generator ran on, as far as it was told.
    pub node: Option<String>,
    /// CPUs it was allowed to run on, as in `Cpus_allowed_list`.
    pub cpus_allowed: String,
    /// Wall clock minus the sampler-side clock is checked across nodes: the wall clock time at
    /// which this program started.
    pub started: UnixNanos,
    /// When it ended.
    pub ended: UnixNanos,
    /// First correct answer that the generator saw, and how often it had to ask.
    pub ready: Option<Ready>,
    /// Quiet time before the first scenario, in which idle memory and CPU are read.
    pub idle_before: Option<Span>,
    /// One entry per scenario, in the order in which they ran.
    pub scenarios: Vec<ScenarioRecord>,
    /// Quiet time after the last scenario.
    pub idle_after: Option<Span>,
    /// Why it ended early, if it did. What was measured until then is kept.
    pub failure: Option<GeneratorFailure>,
}

/// The target answered rightly for the first time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// When.
    pub at: UnixNanos,
    /// Attempts it took.
    pub attempts: u64,
}

/// Why the generator could not finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneratorFailure {
    /// The target did not give one correct answer in time.
    NeverReady {
        /// The last thing that was wrong, in words.
        last: String,
    },
    /// The dependency could not be settled before a window.
    SettleFailed {
        /// Which dependency.
        dependency: String,
        /// Why, in words.
        message: String,
    },
    /// Nothing listens any more: every connection was refused for the whole of this many seconds.
    TargetGone {
        /// Scenario in which it happened.
        scenario: String,
    },
    /// The time allowed for the whole trial was used up.
    DeadlineExceeded {
        /// Scenario in which it happened.
        scenario: String,
    },
    /// The generator was told to stop.
    Interrupted,
}

/// How load was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Offered {
    /// A fixed number of connections, each asking again as soon as it has its answer.
    Closed {
        /// Number of connections.
        connections: u32,
    },
    /// Arrivals that do not wait for answers (Schroeder et al., NSDI 2006).
    Open {
        /// Asked rate (1/s).
        rate: f64,
        /// Most connections opened.
        connections: u32,
        /// Distribution of the gaps.
        arrivals: Arrivals,
    },
}

/// Distribution of the gaps between the arrivals of an open workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Equal gaps.
    #[default]
    Constant,
    /// Exponential gaps.
    Poisson,
}

/// One scenario as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// Name in the manifest.
    pub name: String,
    /// Hash of everything that defines the scenario; only equal ones are compared.
    pub scenario_hash: String,
    /// What was offered.
    pub offered: Offered,
    /// Warm-up, before the window, with the time thrown away.
    pub warm_up: Span,
    /// The measured window. Only requests *intended* inside it are counted.
    pub window: Span,
    /// From the window's end until the last answer to a request of the window.
    pub drained: Span,
    /// Requests of the window, by name, in the order of the manifest.
    pub requests: Vec<RequestRecord>,
    /// Answers per second that came *inside* the window, right or wrong, on time or late, whenever
    /// they were asked for (1/s): what the target could do, also when it could not do what was asked.
    pub achieved_rate: f64,
    /// How late the generator itself sent each request, in nanoseconds; empty when closed. It counts
    /// from the time at which the request was due *and* a connection was free: waiting for a busy
    /// connection is the target's doing, and in `response` only.
    pub lateness: Histogram,
    /// Connections open at most at once, summed over the threads.
    pub connections_peak: u32,
    /// Connections opened inside the window.
    pub connections_opened: u64,
    /// Mean number of requests under way (sent and not yet answered) over the window, integrated
    /// exactly: in a closed loop, rate times mean response (Little's law).
    pub mean_in_flight: f64,
    /// CPU time that the generator used in the window (s), per thread.
    pub generator_cpu_seconds: Vec<f64>,
    /// Whether steady state was reached before the window; `None` when not examined.
    pub steady: Option<bool>,
    /// What the generator itself can say about the limit; the join with the sampler refines it.
    pub limit: Limit,
    /// What was done to dependencies before the window.
    pub settled: Vec<Settled>,
    /// What dependencies counted around the window, such as `wal_bytes` or `checkpoints`, summed
    /// over them; with the `seconds` between the two readings and the `requests` answered between
    /// them, by which the others are to be divided.
    pub dependency_counters: BTreeMap<String, f64>,
    /// One-second steps over warm-up and window: `[seconds since warm-up began, answers, errors]`.
    pub timeline: Vec<[u64; 3]>,
}

/// A dependency was brought to a known state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Name of the dependency.
    pub dependency: String,
    /// What was run.
    pub action: String,
    /// How long it took (s).
    pub seconds: f64,
}

/// All requests of one name in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Name in the manifest.
    pub name: String,
    /// Requests sent. A request that found no connection is an error without having been sent:
    /// those asked for are `correct` plus all errors.
    pub sent: u64,
    /// Correct answers.
    pub correct: u64,
    /// Wrong or missing answers, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Wrong status codes, by code.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of answers, headers included.
    pub bytes_received: u64,
    /// Bytes of requests, headers included.
    pub bytes_sent: u64,
    /// From the *intended* send time to the whole answer, correct answers; time-outs count at
    /// their limit, an answer later than that being one, and what is still unanswered when the
    /// time to drain is up at its age. In a closed loop the intended time is the send time.
    pub response: Histogram,
    /// From the actual send to the whole answer, correct answers.
    pub service: Histogram,
    /// From the intended send time to the end, wrong answers and failures other than time-outs.
    pub failed: Histogram,
}

impl RequestRecord {
    /// Adds another window's or generator's requests of the same name.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.correct += other.correct;
        for (kind, count) in &other.errors {
            *self.errors.entry(*kind).or_default() += count;
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed.merge(&other.failed);
    }

    /// Errors of all kinds.
    pub fn failures(&self) -> u64 {
        self.errors.values().sum()
    }
}

impl ScenarioRecord {
    /// All requests of the window together, named `""`.
    pub fn all(&self) -> RequestRecord {
        let mut all = RequestRecord::default();
        for request in &self.requests {
            all.merge(request);
        }
        all
    }
}

/// Kinds of failed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No connection was had.
    Connect,
    /// No whole answer within the limit.
    TimeOut,
    /// The connection broke before the answer was whole.
    Reset,
    /// An answer that is not HTTP.
    Protocol,
    /// Another status than expected.
    Status,
    /// The right status, the wrong content.
    Check,
}
