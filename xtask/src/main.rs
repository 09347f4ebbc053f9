//! Every chore of the house: `cargo xtask --help`.

mod cluster;
mod demo;
mod generate;
mod lint;
mod shell;
mod test;

use clap::{Parser, Subcommand};

/// Every chore of the house.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Judge a planted regression and an unchanged service on this machine, in about five minutes.
    Demo,
    /// Install what is needed and run every test: unit, property, API server and real cluster.
    Test(test::Arguments),
    /// Formatting, lints, licences and bans.
    Lint,
    /// Write every generated file.
    Generate,
    /// Start, show or end the test cluster.
    #[command(subcommand)]
    Cluster(cluster::Chore),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Demo => demo::run(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Lint => lint::run(),
        Chore::Generate => generate::run(),
        Chore::Cluster(chore) => cluster::run(chore),
    }
}
