//! The knobs: every planted behaviour, as a flag and as an environment variable `GBREF_…`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Parser;
use serde::Serialize;

use crate::endpoint::{Endpoint, EndpointCpu};
use crate::quantity::{Bytes, BytesPerSecond, Nanoseconds, PartsPerMillion};

/// A service with known truth. Knobs apply to /plaintext, /json and /rows, never to /health and /truth; a
/// stall stops them all.
#[derive(Debug, Clone, Parser, Serialize)]
#[command(name = "gaugeblock-reference-target", version)]
pub struct Knobs {
    /// Address to listen at [default: 0.0.0.0:8080]
    #[arg(long, env = "GBREF_LISTEN")]
    listen: Option<SocketAddr>,

    /// Port to listen at, in place of the address's; PORT of the environment counts when neither is given
    #[arg(long, env = "GBREF_PORT")]
    port: Option<u16>,

    /// Threads that serve; connections are dealt to them in turn
    #[arg(long, env = "GBREF_WORKERS", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,

    /// Connections to Postgres for each worker
    #[arg(long, env = "GBREF_POSTGRES_CONNECTIONS", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub postgres_connections: u16,

    /// CPU time burnt for each request, such as 200us
    #[arg(long, env = "GBREF_CPU_PER_REQUEST", default_value = "0")]
    #[serde(rename = "cpu_per_request_ns")]
    pub cpu_per_request: Nanoseconds,

    /// CPU time for the requests of one endpoint instead, such as "/json=200us" or "POST /rows=1ms"
    #[arg(long, env = "GBREF_CPU_PER_REQUEST_ENDPOINT", value_delimiter = ',')]
    pub cpu_per_request_endpoint: Vec<EndpointCpu>,

    /// Anonymous memory allocated and touched at the start, such as 8MiB
    #[arg(long, env = "GBREF_MEMORY", default_value = "0")]
    #[serde(rename = "memory_bytes")]
    pub memory: Bytes,

    /// Memory lost with each request, such as 1KiB
    #[arg(long, env = "GBREF_LEAK_PER_REQUEST", default_value = "0")]
    #[serde(rename = "leak_per_request_bytes")]
    pub leak_per_request: Bytes,

    /// Memory lost as time goes by, such as 200KiB/s
    #[arg(long, env = "GBREF_LEAK_RATE", default_value = "0/s")]
    #[serde(rename = "leak_rate_bytes_per_second")]
    pub leak_rate: BytesPerSecond,

    /// Length of a stall: nothing is served in it
    #[arg(long, env = "GBREF_STALL", default_value = "0")]
    #[serde(rename = "stall_ns")]
    pub stall: Nanoseconds,

    /// Period of the stalls, counted from listening: the first stall begins one period after it
    #[arg(long, env = "GBREF_STALL_PERIOD", default_value = "1s")]
    #[serde(rename = "stall_period_ns")]
    pub stall_period: Nanoseconds,

    /// Time from entering main until listening
    #[arg(long, env = "GBREF_STARTUP_DELAY", default_value = "0")]
    #[serde(rename = "startup_delay_ns")]
    pub startup_delay: Nanoseconds,

    /// Time from listening until ready; before it everything but /truth is answered with 503
    #[arg(long, env = "GBREF_READY_DELAY", default_value = "0")]
    #[serde(rename = "ready_delay_ns")]
    pub ready_delay: Nanoseconds,

    /// Share of requests answered with 500, such as 1%: exactly so many of every 1/share requests
    #[arg(long, env = "GBREF_ERROR_SHARE", default_value = "0%")]
    #[serde(rename = "error_share_ppm")]
    pub error_share: PartsPerMillion,

    /// Seed of the choice of requests that fail
    #[arg(long, env = "GBREF_SEED", default_value = "1")]
    pub seed: u64,

    /// Differ from the normal answers in one byte of each body, at this offset (0 when not named)
    #[arg(long, env = "GBREF_BYTE_DIFFERENCE", num_args = 0..=1, default_missing_value = "0", value_name = "OFFSET")]
    pub byte_difference: Option<usize>,

    /// Exit with code 3 once this many requests have been answered
    #[arg(long, env = "GBREF_EXIT_AFTER", value_parser = clap::value_parser!(u64).range(1..))]
    pub exit_after: Option<u64>,

    /// At this many requests, touch memory until the kernel kills this process
    #[arg(long, env = "GBREF_OOM_AFTER", value_parser = clap::value_parser!(u64).range(1..))]
    pub oom_after: Option<u64>,

    /// At this many requests, let a child process touch memory until the kernel kills it; serve on
    #[arg(long, env = "GBREF_OOM_CHILD_AFTER", value_parser = clap::value_parser!(u64).range(1..))]
    pub oom_child_after: Option<u64>,

    /// Be that child
    #[arg(long, hide = true)]
    #[serde(skip)]
    pub exhaust_memory: bool,
}

impl Knobs {
    /// Where to listen: the flags, else `PORT`, else 0.0.0.0:8080.
    pub fn address(&self, port_of_environment: Option<u16>) -> SocketAddr {
        let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        match (self.listen, self.port) {
            (Some(listen), None) => listen,
            (Some(listen), Some(port)) => SocketAddr::new(listen.ip(), port),
            (None, Some(port)) => SocketAddr::new(everywhere, port),
            (None, None) => SocketAddr::new(everywhere, port_of_environment.unwrap_or(8080)),
        }
    }

    /// CPU nanoseconds to burn for one request to `endpoint`; the last one given wins.
    pub fn cpu_for(&self, endpoint: Endpoint) -> u64 {
        self.cpu_per_request_endpoint
            .iter()
            .rev()
            .find(|cpu| cpu.endpoints.contains(&endpoint))
            .map_or(self.cpu_per_request, |cpu| cpu.cpu_per_request_ns)
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(flags: &[&str]) -> Knobs {
        Knobs::parse_from([&["target"], flags].concat())
    }

    #[test]
    fn flags_beat_the_environments_port() {
        assert_eq!(knobs(&[]).address(None).to_string(), "0.0.0.0:8080");
        assert_eq!(knobs(&[]).address(Some(9)).to_string(), "0.0.0.0:9");
        assert_eq!(knobs(&["--port", "7"]).address(Some(9)).to_string(), "0.0.0.0:7");
        assert_eq!(knobs(&["--listen", "127.0.0.1:5"]).address(Some(9)).to_string(), "127.0.0.1:5");
        assert_eq!(knobs(&["--listen", "127.0.0.1:5", "--port", "7"]).address(None).to_string(), "127.0.0.1:7");
    }

    #[test]
    fn an_endpoints_own_cpu_time_replaces_the_general_one() {
        let knobs = knobs(&["--cpu-per-request=10us", "--cpu-per-request-endpoint", "/json=200us,POST /json=1us"]);
        assert_eq!(knobs.cpu_for(Endpoint::Plaintext), 10_000);
        assert_eq!(knobs.cpu_for(Endpoint::JsonOut), 200_000);
        assert_eq!(knobs.cpu_for(Endpoint::JsonIn), 1_000);
    }
}
