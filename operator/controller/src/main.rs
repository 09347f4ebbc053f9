//! `gaugeblock-operator`.

use std::process::ExitCode;

use clap::Parser as _;
use gaugeblock_controller::{logging, operator, options::Options, reconcile::in_words};

fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(error) = logging::start(&options.log, options.log_format) {
        eprintln!("--log: {error}");
        return ExitCode::from(2);
    }
    // Several crates bring a provider of cryptography; this one builds into a static binary.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::warn!("there is a provider of cryptography already");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "failed to start a runtime");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(operator::run(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = in_words(&error), "failed");
            ExitCode::FAILURE
        }
    }
}
