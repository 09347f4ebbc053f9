//! The launcher: what a process becomes before it becomes its program.
//!
//! Affinity, user, and what happens when Gaugeblock dies must hold from the program's first
//! instruction on. They can only be set from inside the new process, and between `fork` and `exec`
//! only unsafe code may run. So the process first is `gaugeblock launch …`, a single thread in
//! plain Rust, which sets them, says its process ID, and turns into the program.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use rustix::{
    process::{Gid, Signal, Uid, getppid, set_parent_process_death_signal},
    thread::{set_thread_gid, set_thread_groups, set_thread_uid},
};

use crate::cpu_list::CpuList;

/// Name of the subcommand.
pub const SUBCOMMAND: &str = "launch";
/// Exit code of a launcher that could not start its program, as of shells.
pub const NOT_STARTED: i32 = 127;

/// Becomes a program, with the CPUs, the user and the fate that are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Launch {
    /// Process ID of the parent; when it is another one by now, nothing is started.
    #[arg(long, value_name = "PID")]
    pub parent: u32,
    /// CPUs to run on, such as 0-1,4.
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// User and group to run as, such as 101:104.
    #[arg(long, value_name = "UID:GID", value_parser = account)]
    pub account: Option<(u32, u32)>,
    /// File that gets the process ID, whole at once.
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// Ask the program to end (SIGQUIT) when the parent dies, instead of killing it.
    #[arg(long)]
    pub quit: bool,
    /// Name that the program sees itself called by.
    #[arg(long, value_name = "NAME")]
    pub arg0: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("the parent has ended")]
    Orphaned,
    #[error("there is no command")]
    NoCommand,
    #[error("failed to take CPUs {0}")]
    Cpus(CpuList, #[source] io::Error),
    #[error("failed to become user {0}")]
    Account(u32, #[source] io::Error),
    #[error("failed to tie the process to its parent")]
    Tie(#[source] io::Error),
    #[error("failed to write {0}")]
    PidFile(PathBuf, #[source] io::Error),
    #[error("failed to start {0}")]
    Start(String, #[source] io::Error),
}

impl Launch {
    /// The command line that launches.
    pub fn arguments(&self) -> Vec<OsString> {
        let Self { parent, cpus, account, pid_file, quit, arg0, command } = self;
        let mut arguments: Vec<OsString> = vec![SUBCOMMAND.into(), format!("--parent={parent}").into()];
        arguments.extend(cpus.as_ref().map(|cpus| format!("--cpus={cpus}").into()));
        arguments.extend(account.map(|(uid, gid)| format!("--account={uid}:{gid}").into()));
        arguments.extend(pid_file.as_ref().map(|file| {
            let mut argument = OsString::from("--pid-file=");
            argument.push(file);
            argument
        }));
        arguments.extend(quit.then(|| "--quit".into()));
        arguments.extend(arg0.as_ref().map(|name| format!("--arg0={name}").into()));
        arguments.push("--".into());
        arguments.extend(command.iter().cloned());
        arguments
    }

    /// Becomes the program. Returns only when that failed, after saying why on standard error.
    pub fn become_program(&self) -> ExitCode {
        let Err(error) = self.exec();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        eprintln!("gaugeblock: {error}{}", source.unwrap_or_default());
        ExitCode::from(NOT_STARTED as u8)
    }

    fn exec(&self) -> Result<std::convert::Infallible, LaunchError> {
        let (program, arguments) = self.command.split_first().ok_or(LaunchError::NoCommand)?;
        if let Some(cpus) = &self.cpus {
            cpus.pin().map_err(|error| LaunchError::Cpus(cpus.clone(), error.into()))?;
        }
        // Before the user changes: the folder is ours.
        if let Some(file) = &self.pid_file {
            write_pid(file, self.account).map_err(|error| LaunchError::PidFile(file.clone(), error))?;
        }
        if let Some((uid, gid)) = self.account {
            change_user(uid, gid).map_err(|error| LaunchError::Account(uid, error))?;
        }
        // After the user changed: the kernel forgets the death signal when the user changes.
        let fate = if self.quit { Signal::QUIT } else { Signal::KILL };
        set_parent_process_death_signal(Some(fate)).map_err(|error| LaunchError::Tie(error.into()))?;
        // The parent may have died before the line above.
        if getppid().map(|pid| pid.as_raw_nonzero().get() as u32) != Some(self.parent) {
            return Err(LaunchError::Orphaned);
        }
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(name) = &self.arg0 {
            command.arg0(name);
        }
        Err(LaunchError::Start(program.to_string_lossy().into_owned(), command.exec()))
    }
}

/// The calls below change one thread only, which is all that this process has.
fn change_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[gid])?;
    set_thread_gid(gid)?;
    set_thread_uid(uid)?;
    Ok(())
}

/// A reader sees no file, or all of it.
fn write_pid(file: &Path, account: Option<(u32, u32)>) -> io::Result<()> {
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, std::process::id().to_string())?;
    if let Some((uid, gid)) = account {
        chown(&unfinished, Some(uid), Some(gid))?;
    }
    fs::rename(unfinished, file)
}

fn account(text: &str) -> Result<(u32, u32), String> {
    text.split_once(':')
        .and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)))
        .ok_or_else(|| format!("{text:?} is not a user and a group such as 101:104"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    enum Program {
        Launch(Launch),
    }

    #[test]
    fn a_launch_survives_its_command_line() {
        let launch = Launch {
            parent: 7,
            cpus: Some("0-1,4".parse().unwrap()),
            account: Some((101, 104)),
            pid_file: Some("/tmp/a b".into()),
            quit: true,
            arg0: Some("gaugeblock-sampler".into()),
            command: vec!["sh".into(), "-c".into(), "--help".into()],
        };
        let words = [OsString::from("gaugeblock")].into_iter().chain(launch.arguments());
        let Program::Launch(parsed) = Program::try_parse_from(words).unwrap();
        assert_eq!(parsed, launch);
    }
}
