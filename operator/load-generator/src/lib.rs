//! The load generator: open and closed HTTP load with true latencies.
//!
//! ```text
//! GAUGEBLOCK_PLAN='{"version":1,…}' gaugeblock-load-generator     framed record on standard output
//! gaugeblock-load-generator --plan plan.json --json | jq .         the same, for people
//! ```
//!
//! As a library: [`Workload::new`] checks a plan, [`run()`] carries it out.
//!
//! What a latency is:
//! - **response**: from the *intended* send time to the whole answer. In an open workload a stalled
//!   target is charged for every request that should have been sent meanwhile ("coordinated
//!   omission", as wrk2 and HdrHistogram call its absence); in a closed one the intended time is the
//!   time of sending.
//! - **service**: from the actual send to the whole answer.
//! - **lateness**: what the generator itself was late by: from the time at which a request could
//!   have been sent, being due and having a free connection, to the send. Waiting for a connection
//!   is in the response only, as it is the target that keeps connections busy.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC` unless they say otherwise.

mod address;
mod check;
mod clock;
mod connection;
mod control;
mod crew;
mod limit;
mod mix;
mod poller;
mod program;
mod progress;
mod random;
mod ready;
mod record;
mod request;
mod response;
mod run;
mod scenario;
mod schedule;
mod settle;
mod tally;
mod template;
mod watch;
mod worker;
mod workload;

pub use program::{main, main_from};
pub use progress::{Phase, Progress};
pub use run::{NODE_VARIABLE, RunError, run};
pub use workload::{BadPlan, Workload};
