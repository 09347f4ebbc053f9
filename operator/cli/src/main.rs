//! `gaugeblock`: run a benchmark on this machine.
//!
//! The one program is also every part of a run without a cluster: load generator, sampler, launcher
//! and warden are subcommands that it starts itself (see [`parts`]).

mod arguments;
mod exit_code;
mod parts;
mod progress;
mod run;
mod terminal;

use std::{
    ffi::OsString,
    io::{Write as _, stderr},
    process::ExitCode,
};

use clap::Parser as _;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = parts::run(&words) {
        return code;
    }
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return exit_code::of_usage(error.use_stderr());
        }
    };
    let ended = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
    };
    ended.unwrap_or_else(|error| {
        let _ = write!(stderr(), "{}", describe(error.as_ref()));
        exit_code::TOOL_ERROR
    })
}

/// An error with all its causes, each once: some libraries repeat their cause in their own text.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = format!("error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text.push('\n');
    text
}
