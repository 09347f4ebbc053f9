//! The metrics: name, unit, direction, and the version of the definition.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Less is better.
    LowerIsBetter,
    /// More is better.
    HigherIsBetter,
    /// Neither: shown, never judged.
    Neutral,
}

/// Units, by the names of the International System or IEC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Events per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// CPUs used, that is CPU seconds per second.
    Cores,
    /// A share from 0 to 1.
    Share,
    /// A number of things.
    Count,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:ident, $direction:ident, v $version:literal;)*) => {
        /// Every metric that a trial yields. What it is *of* (a scenario, or the trial as a whole)
        /// stands beside it in [`MetricValue`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum MetricName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl MetricName {
            /// All metrics, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name in manifests, status, reports and Prometheus.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Unit of its values.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// Which way is better.
            pub const fn direction(self) -> Direction {
                match self { $(Self::$variant => Direction::$direction,)* }
            }

            /// Version of the definition. Values of two versions are never compared.
            pub const fn definition_version(self) -> u32 {
                match self { $(Self::$variant => $version,)* }
            }
        }
    };
}

metrics! {
    /// Correct answers per second of the window.
    Throughput = "throughput", PerSecond, HigherIsBetter, v 1;
    /// Answers per asked request of an open workload.
    AchievedShare = "achieved_share", Share, HigherIsBetter, v 1;
    /// Median latency of an open workload, from the intended send time.
    LatencyP50 = "latency_p50", Seconds, LowerIsBetter, v 1;
    /// 90th percentile of the same.
    LatencyP90 = "latency_p90", Seconds, LowerIsBetter, v 1;
    /// 95th percentile of the same.
    LatencyP95 = "latency_p95", Seconds, LowerIsBetter, v 1;
    /// 99th percentile of the same.
    LatencyP99 = "latency_p99", Seconds, LowerIsBetter, v 1;
    /// 99.9th percentile of the same.
    LatencyP999 = "latency_p999", Seconds, LowerIsBetter, v 1;
    /// Largest latency.
    LatencyMax = "latency_max", Seconds, LowerIsBetter, v 1;
    /// Mean latency.
    LatencyMean = "latency_mean", Seconds, LowerIsBetter, v 1;
    /// Median latency of a closed loop, which is connections ÷ throughput: never gated.
    ClosedLatencyP50 = "closed_loop_latency_p50", Seconds, LowerIsBetter, v 1;
    /// 99th percentile of the same.
    ClosedLatencyP99 = "closed_loop_latency_p99", Seconds, LowerIsBetter, v 1;
    /// Median lateness of the generator's own sends: how far its latencies can be trusted.
    SendLatenessP50 = "send_lateness_p50", Seconds, Neutral, v 1;
    /// 99th percentile of the same.
    SendLatenessP99 = "send_lateness_p99", Seconds, Neutral, v 1;
    /// Wrong or missing answers per request.
    ErrorShare = "error_share", Share, LowerIsBetter, v 1;
    /// Bytes of answers per second, headers included.
    ReceivedBytes = "received_bytes", BytesPerSecond, Neutral, v 1;
    /// CPU time of the target per request at a fixed rate.
    CpuPerRequest = "cpu_per_request", Seconds, LowerIsBetter, v 1;
    /// CPU time of the target per request in a closed loop: at saturation, never gated.
    CpuPerRequestSaturated = "cpu_per_request_saturated", Seconds, LowerIsBetter, v 1;
    /// CPUs that the target used.
    CoresUsed = "cores_used", Cores, LowerIsBetter, v 1;
    /// CPUs that the target used while nothing was asked.
    IdleCores = "idle_cores", Cores, LowerIsBetter, v 1;
    /// Share of time throttled by a CFS quota.
    ThrottledShare = "throttled_share", Share, LowerIsBetter, v 1;
    /// Anonymous + shared + swapped memory under load, mean over the window.
    MemoryAnonymous = "memory_anonymous", Bytes, LowerIsBetter, v 1;
    /// The same, largest sample of the window.
    MemoryAnonymousPeak = "memory_anonymous_peak", Bytes, LowerIsBetter, v 1;
    /// The same, freshly started and idle.
    MemoryAnonymousStart = "memory_anonymous_start", Bytes, LowerIsBetter, v 1;
    /// The same, idle after the load.
    MemoryAnonymousIdle = "memory_anonymous_idle", Bytes, LowerIsBetter, v 1;
    /// Private_Clean + Private_Dirty of all processes, after the window.
    MemoryPrivate = "memory_private", Bytes, LowerIsBetter, v 1;
    /// Usage without inactive file pages, mean over the window.
    MemoryWorkingSet = "memory_working_set", Bytes, LowerIsBetter, v 1;
    /// Highest usage that the kernel kept.
    MemoryPeak = "memory_peak", Bytes, LowerIsBetter, v 1;
    /// Process start until it listens.
    StartListening = "start_listening", Seconds, LowerIsBetter, v 1;
    /// Process start until the first correct answer.
    StartAnswering = "start_answering", Seconds, LowerIsBetter, v 1;
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for MetricName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|metric| metric.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|metric| metric.name()).collect();
            format!("there is no metric {text:?}; there are {}", names.join(", "))
        })
    }
}

/// One value of one metric of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// Which metric.
    pub metric: MetricName,
    /// Of which scenario; `None` for the trial as a whole.
    pub scenario: Option<String>,
    /// Of which named request; `None` for all together.
    pub request: Option<String>,
    /// The value, in the metric's unit.
    pub value: f64,
    /// For a quantile: how many requests lay beyond it.
    pub beyond: Option<f64>,
}
