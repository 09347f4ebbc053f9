//! The test cluster by hand.

use anyhow::{Context, Result};
use clap::Subcommand;
use gaugeblock_tests::{
    cluster::{self, Cluster, Options},
    images,
};

/// What to do with the test cluster.
#[derive(Subcommand)]
pub enum Chore {
    /// Start it with all images built so far; it stays until `down`. Again: import what changed.
    Up,
    /// End it and remove all that it left.
    Down,
    /// Show its parts.
    Status,
    /// Run `kubectl` against it.
    Kubectl {
        /// Arguments of `kubectl`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Does it.
pub fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Up => {
            let images = images::build_here()?;
            Cluster::up(&Options { nodes: true, images, keep: true })?;
            print!("{}", cluster::status()?);
        }
        Chore::Down => {
            let there_was = cluster::down()?;
            println!("{}", if there_was { "the cluster is down" } else { "no cluster is up" });
        }
        Chore::Status => print!("{}", cluster::status()?),
        Chore::Kubectl { arguments } => {
            let cluster = cluster::current()?.context("no cluster is up: `cargo xtask cluster up`")?;
            let status = cluster.kubectl_command(&arguments).status().context("failed to start kubectl")?;
            std::process::exit(status.code().unwrap_or(1));
        }
    }
    Ok(())
}
