//! The metrics in the groups of the design, with their names for people.

use gaugeblock_measurement::MetricName;
use serde::{Deserialize, Serialize};

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Group {
    /// What the clients saw.
    Load,
    /// CPU time.
    Cpu,
    /// Memory.
    Memory,
    /// Starting.
    Start,
}

impl Group {
    /// Heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Cpu => "CPU",
            Self::Memory => "memory",
            Self::Start => "start",
        }
    }

    /// The group of a metric.
    pub const fn of(metric: MetricName) -> Self {
        match metric {
            MetricName::Throughput
            | MetricName::AchievedShare
            | MetricName::LatencyP50
            | MetricName::LatencyP90
            | MetricName::LatencyP95
            | MetricName::LatencyP99
            | MetricName::LatencyP999
            | MetricName::LatencyMax
            | MetricName::LatencyMean
            | MetricName::ClosedLatencyP50
            | MetricName::ClosedLatencyP99
            | MetricName::ErrorShare
            | MetricName::SendLatenessP50
            | MetricName::SendLatenessP99
            | MetricName::ReceivedBytes => Self::Load,
            MetricName::CpuPerRequest
            | MetricName::CpuPerRequestSaturated
            | MetricName::CoresUsed
            | MetricName::IdleCores
            | MetricName::ThrottledShare => Self::Cpu,
            MetricName::MemoryAnonymous
            | MetricName::MemoryAnonymousPeak
            | MetricName::MemoryAnonymousStart
            | MetricName::MemoryAnonymousIdle
            | MetricName::MemoryPrivate
            | MetricName::MemoryWorkingSet
            | MetricName::MemoryPeak => Self::Memory,
            MetricName::StartListening | MetricName::StartAnswering => Self::Start,
        }
    }
}

/// Name of a metric for people.
pub const fn label(metric: MetricName) -> &'static str {
    match metric {
        MetricName::Throughput => "throughput",
        MetricName::AchievedShare => "achieved of asked",
        MetricName::LatencyP50 => "latency p50",
        MetricName::LatencyP90 => "latency p90",
        MetricName::LatencyP95 => "latency p95",
        MetricName::LatencyP99 => "latency p99",
        MetricName::LatencyP999 => "latency p99.9",
        MetricName::LatencyMax => "latency max",
        MetricName::LatencyMean => "latency mean",
        MetricName::ClosedLatencyP50 => "latency p50 (closed loop)",
        MetricName::ClosedLatencyP99 => "latency p99 (closed loop)",
        MetricName::SendLatenessP50 => "sent late p50 (generator)",
        MetricName::SendLatenessP99 => "sent late p99 (generator)",
        MetricName::ErrorShare => "errors",
        MetricName::ReceivedBytes => "bytes received",
        MetricName::CpuPerRequest => "CPU per request",
        MetricName::CpuPerRequestSaturated => "CPU per request (saturated)",
        MetricName::CoresUsed => "cores used",
        MetricName::IdleCores => "cores used, idle",
        MetricName::ThrottledShare => "throttled",
        MetricName::MemoryAnonymous => "anonymous, under load",
        MetricName::MemoryAnonymousPeak => "anonymous, peak",
        MetricName::MemoryAnonymousStart => "anonymous, started",
        MetricName::MemoryAnonymousIdle => "anonymous, idle after",
        MetricName::MemoryPrivate => "private",
        MetricName::MemoryWorkingSet => "working set",
        MetricName::MemoryPeak => "peak of the kernel",
        MetricName::StartListening => "until listening",
        MetricName::StartAnswering => "until answering",
    }
}
