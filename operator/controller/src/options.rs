//! What the operator is started with.

use clap::{Parser, ValueEnum};

/// Runs benchmarks: watches BenchmarkRuns, measures what they ask for and says what was found.
#[derive(Clone, Debug, Parser)]
#[command(name = "gaugeblock-operator", version)]
pub struct Options {
    /// Namespace of the operator: claims and samplers live here.
    #[arg(long, env = "OPERATOR_NAMESPACE", default_value = "gaugeblock-system")]
    pub operator_namespace: String,
    /// Only runs of this namespace; all when absent.
    #[arg(long, env = "WATCH_NAMESPACE")]
    pub watch_namespace: Option<String>,
    /// Image of load generator and sampler: the operator's own, of the same release.
    #[arg(long, env = "MEASURING_IMAGE")]
    pub measuring_image: String,
    /// Which messages are logged, such as `info` or `gaugeblock_controller=debug,info`.
    #[arg(long, env = "LOG", default_value = "info")]
    pub log: String,
    /// How messages are logged.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
}

/// How messages are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line, for programs.
    Json,
    /// Text, for people.
    Text,
}
