//! The program: a plan in, progress on standard error, the framed record as the last thing on
//! standard output.

use std::{
    ffi::OsString,
    io::{Write as _, stderr, stdout},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use clap::Parser;
use gaugeblock_measurement::{
    GeneratorPlan, frame,
    plan::{PLAN_VARIABLE, TARGET_VARIABLE},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    progress::Progress,
    run::{RunError, run},
    workload::{BadPlan, Workload},
};

/// Exit code for a plan or command line that cannot be carried out (`EX_USAGE` of sysexits.h).
const USAGE: u8 = 64;
/// Exit code when the machine refuses to work (`EX_OSERR`).
const SYSTEM: u8 = 71;
/// Exit code when the record could not be written (`EX_IOERR`).
const OUTPUT: u8 = 74;

/// Loads an HTTP target as a plan says, and prints what it measured.
#[derive(Debug, Parser)]
#[command(name = "gaugeblock-load-generator", version, about, long_about = None)]
struct Arguments {
    /// File with the plan as JSON; otherwise it is read from the environment variable
    /// GAUGEBLOCK_PLAN.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Print the record as plain JSON instead of framed lines.
    #[arg(long)]
    json: bool,
    /// Say nothing on standard error while working.
    #[arg(long)]
    quiet: bool,
}

#[derive(Debug, thiserror::Error)]
enum ProgramError {
    #[error("no plan: give --plan FILE or set {PLAN_VARIABLE}")]
    NoPlan,
    #[error("failed to read the plan from {path}")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Plan(#[from] BadPlan),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("failed to handle signals")]
    Signals(#[source] std::io::Error),
    #[error("failed to write the record")]
    Format(#[source] serde_json::Error),
    #[error("failed to write the record")]
    Output(#[source] std::io::Error),
}

impl ProgramError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::NoPlan | Self::File { .. } | Self::Plan(_) => USAGE,
            Self::Run(_) | Self::Signals(_) => SYSTEM,
            Self::Format(_) | Self::Output(_) => OUTPUT,
        }
    }
}

/// The program, with the process's own arguments.
pub fn main() -> ExitCode {
    main_from(std::env::args_os())
}

/// The program, with the given arguments, the first of which is its name.
pub fn main_from(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match carry_out(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut message = format!("gaugeblock-load-generator: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                message.push_str(": ");
                message.push_str(&cause.to_string());
                source = cause.source();
            }
            let _ = writeln!(stderr(), "{message}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<(), ProgramError> {
    let environment = |name: &str| std::env::var(name).ok();
    let json = match &arguments.plan {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|source| ProgramError::File { path: path.clone(), source })?
        }
        None => environment(PLAN_VARIABLE).ok_or(ProgramError::NoPlan)?,
    };
    let mut plan: GeneratorPlan = serde_json::from_str(&json).map_err(BadPlan::Unreadable)?;
    if plan.target.is_empty() {
        plan.target = environment(TARGET_VARIABLE).unwrap_or_default();
    }
    let workload = Workload::new(&plan)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(ProgramError::Signals)?;
    }
    allow_many_files();
    let quiet = arguments.quiet;
    let mut tell = |progress: &Progress| {
        if quiet {
            return;
        }
        if let Ok(line) = serde_json::to_string(progress) {
            let _ = writeln!(stderr(), "{line}");
        }
    };
    let record = run(&workload, &environment, &mut tell, &stop)?;
    let text =
        if arguments.json { serde_json::to_string(&record).map(|json| json + "\n") } else { frame::encode(&record) };
    let text = text.map_err(ProgramError::Format)?;
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(ProgramError::Output)
}

/// Raises the soft limit of open files to the hard one: a connection is a file.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, connections beyond the limit count as errors.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
