//! Starts, shows and ends the test cluster by hand: `cargo run -p gaugeblock-tests --example cluster -- up`.

use anyhow::{Result, bail};
use gaugeblock_tests::cluster::{self, Cluster, Options};
use gaugeblock_tests::images;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("up") => {
            let images = images::build_here()?;
            Cluster::up(&Options { nodes: true, images, keep: true })?;
            print!("{}", cluster::status()?);
        }
        Some("api") => {
            Cluster::up(&Options { keep: true, ..Options::default() })?;
        }
        Some("down") => {
            cluster::down()?;
        }
        Some("binaries") => {
            gaugeblock_tests::binaries::Binaries::ensure()?;
        }
        Some("status") => print!("{}", cluster::status()?),
        other => bail!("up, api, down, status or binaries, not {other:?}"),
    }
    Ok(())
}
