//! The demonstration.

use anyhow::Result;

/// Runs it.
pub fn run() -> Result<()> {
    anyhow::bail!("being written")
}
