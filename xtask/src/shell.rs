//! Commands, run in the workspace's folder and shown as they are run.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

/// Folder of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that runs us.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end; fails with what was run when it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let program = Path::new(command.get_program()).file_name().map(|name| name.to_string_lossy().into_owned());
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let shown = format!("{} {}", program.unwrap_or_default(), arguments.join(" "));
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}
