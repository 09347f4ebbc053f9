//! The demonstration: one run on this machine, without a cluster.

use std::path::Path;

use anyhow::{Context, Result, bail};
use gaugeblock_tests::{images, packages};

use crate::shell;

const MANIFEST: &str = "examples/first/both.yaml";
/// Exit code of `gaugeblock run` for a regression: what the planted one must give.
const REGRESSED: i32 = 2;

/// Runs it. The planted regression must be found, or the demonstration fails.
pub fn run() -> Result<()> {
    if !has_postgres() {
        packages::ensure(packages::IMAGES).context(
            "the demonstration needs a PostgreSQL server: install the package `postgresql` (Debian, Ubuntu), \
             `postgresql-server` (Fedora) or `postgresql@17` (Homebrew)",
        )?;
    }
    shell::run(&mut shell::cargo(&["build", "--workspace", "--bins"]))?;
    let program = images::program_folder()?.join("gaugeblock");
    let mut command = std::process::Command::new(program);
    command.args(["run", MANIFEST]).current_dir(shell::root());
    eprintln!("$ gaugeblock run {MANIFEST}");
    let status = command.status().context("failed to start gaugeblock")?;
    if status.code() != Some(REGRESSED) {
        bail!("arm `twice-the-cpu` burns twice the CPU per request, and was not found to have regressed: {status}");
    }
    println!(
        "\nThe planted regression was found (`gaugeblock run` ended with exit code {REGRESSED}, as it does in CI)."
    );
    Ok(())
}

fn has_postgres() -> bool {
    let debian = Path::new("/usr/lib/postgresql");
    let versions = debian.read_dir().into_iter().flatten().flatten();
    let packaged = versions.map(|version| version.path().join("bin/postgres")).any(|path| path.exists());
    let path = std::env::var_os("PATH").unwrap_or_default();
    packaged || std::env::split_paths(&path).any(|folder| folder.join("postgres").exists())
}
