//! Formatting, lints, licences and bans.

use anyhow::Result;

use crate::shell;

/// Runs all of them; the first that fails ends it.
pub fn run() -> Result<()> {
    shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))?;
    shell::run(&mut shell::cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))?;
    deny()
}

/// `cargo deny` is installed on first use; advisories need a database that may not be reachable.
fn deny() -> Result<()> {
    let there = shell::cargo(&["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if !there {
        shell::run(&mut shell::cargo(&["install", "--locked", "--quiet", "cargo-deny"]))?;
    }
    shell::run(&mut shell::cargo(&["deny", "--all-features", "check", "bans", "licenses", "sources"]))
}
