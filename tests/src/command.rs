//! Runs other programs, and makes their failures readable.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// When it cannot be started, or ends with another status than zero; the error holds the command
/// line and what it said on standard error.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        bail!("{}", failure(command, &output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end, whatever its exit status.
///
/// # Errors
/// When it cannot be started.
pub fn output(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null()).output().with_context(|| format!("failed to start {}", line(command)))
}

/// Runs a command with `input` on its standard input, whatever its exit status.
///
/// # Errors
/// When it cannot be started or its input cannot be written.
pub fn output_with_input(command: &mut Command, input: &[u8]) -> Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}", line(command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why on standard error.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().with_context(|| format!("failed to wait for {}", line(command)))
}

/// Runs `program` with `arguments`; see [`run`].
///
/// # Errors
/// As [`run`].
pub fn call(program: &str, arguments: &[&str]) -> Result<String> {
    run(Command::new(program).args(arguments))
}

/// What a failed command was, and what it said.
pub fn failure(command: &Command, output: &Output) -> String {
    let mut text = format!("`{}` failed ({})", line(command), output.status);
    for stream in [&output.stderr, &output.stdout] {
        let said = String::from_utf8_lossy(stream);
        if !said.trim().is_empty() {
            let _ = write!(text, ": {}", said.trim());
            break;
        }
    }
    text
}

fn line(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
