//! The parts of a run that are this same program. They are started by it, not by people, and so
//! are in no help.

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;
use gaugeblock_local::{launch, warden};

/// As if the launcher were a program of its own.
#[derive(Debug, Parser)]
#[command(name = "gaugeblock launch")]
struct Launcher {
    #[command(flatten)]
    launch: launch::Launch,
}

/// Becomes the part that the command line names, if it names one. `words` starts with the name of
/// the program.
pub fn run(words: &[OsString]) -> Option<ExitCode> {
    let (part, rest) = words.get(1..)?.split_first()?;
    match part.to_str()? {
        "load-generator" => Some(gaugeblock_load_generator::main_from(words[1..].to_vec())),
        "sampler" => Some(gaugeblock_sampler::run(words[1..].to_vec())),
        launch::SUBCOMMAND => Some(match Launcher::try_parse_from(&words[1..]) {
            Ok(launcher) => launcher.launch.become_program(),
            Err(error) => {
                let _ = error.print();
                ExitCode::from(launch::NOT_STARTED as u8)
            }
        }),
        warden::SUBCOMMAND => Some(warden::main(rest.first()?.to_str()?)),
        _ => None,
    }
}
