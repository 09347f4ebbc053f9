//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Tells whether a new build of a service got slower, hungrier or leakier.
#[derive(Debug, Parser)]
#[command(name = "gaugeblock", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a BenchmarkRun on this machine, without a cluster.
    Run(Run),
}

/// Run a BenchmarkRun on this machine, without a cluster.
///
/// The file is the manifest that a cluster takes: one BenchmarkRun whose targets have a `local:`
/// block, and the ConfigMaps and Secrets that it names. Everything the run leaves behind (records,
/// logs, reports) is in one folder.
#[derive(Debug, Args)]
#[command(after_help = AFTER_RUN)]
pub struct Run {
    /// File with the BenchmarkRun.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder for all that the run leaves behind [default: .gaugeblock/NAME-TIME]
    #[arg(long, value_name = "FOLDER")]
    pub output_dir: Option<PathBuf>,
    /// What to print on standard output at the end.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub output: Format,
    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// What to print at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    Text,
    /// The whole report for programs.
    Json,
    /// The report for a pull request or a chat.
    Markdown,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  no regression
  1  the run could not be carried out, or was interrupted
  2  regressed
  3  inconclusive, or not comparable
  4  invalid: the measurements cannot be believed";

const AFTER_RUN: &str = "\
Examples:
  gaugeblock run examples/first/regression.yaml
  gaugeblock run --quiet --output markdown run.yaml > report.md

Exit codes:
  0  no regression
  1  the run could not be carried out, or was interrupted
  2  regressed
  3  inconclusive, or not comparable
  4  invalid: the measurements cannot be believed";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
