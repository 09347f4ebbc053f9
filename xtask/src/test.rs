//! All tests, with all that they need.

use std::{process::Command, thread};

use anyhow::{Context, Result, bail};
use gaugeblock_tests::{
    binaries::Binaries,
    cluster::{Cluster, Options},
    images, packages,
};

use crate::shell;

/// What to run.
#[derive(clap::Args)]
pub struct Arguments {
    /// Leave out what needs the cluster.
    #[arg(long)]
    no_cluster: bool,
}

/// Installs, builds, starts the one cluster, runs everything, and ends the cluster whatever happens.
pub fn run(arguments: &Arguments) -> Result<()> {
    shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))?;
    if arguments.no_cluster {
        return shell::run(tests().args(["--workspace", "--exclude", "gaugeblock-tests"]));
    }
    packages::ensure(packages::CLUSTER)?;
    packages::ensure(packages::IMAGES)?;
    // Kubernetes is compiled beside our own code: it takes the longest when nothing is cached.
    let binaries = thread::spawn(Binaries::ensure);
    shell::run(&mut shell::cargo(&["build", "--workspace", "--all-targets"]))?;
    let Ok(built) = binaries.join() else {
        bail!("the build of the cluster's programs panicked");
    };
    built.context("failed to build the cluster's programs")?;
    // It starts and ends a cluster of its own, so it comes before ours.
    shell::run(tests().args(["--workspace", "--test", "cluster_down"]))?;
    let images = images::build_here()?;
    let cluster = Cluster::up(&Options { nodes: true, images, keep: false })?;
    let (variable, state) = cluster.environment();
    let outcome = shell::run(tests().args(["--workspace"]).env(variable, state));
    cluster.down()?;
    outcome
}

/// Tests that look at the machine's own clock or CPUs disturb each other: one after the other.
fn tests() -> Command {
    let mut command = shell::cargo(&["test", "--no-fail-fast"]);
    command.env("RUST_TEST_THREADS", "1");
    command
}
