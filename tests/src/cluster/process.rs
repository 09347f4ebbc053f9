//! The cluster's long-running processes: started apart from us, known by process id and start time.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::layout::Layout;
use crate::{command, wait};

/// Starts a program in a session of its own, with its output in a file, and prints its process id.
/// The shell ends at once, so that the program belongs to the machine's init and leaves no zombie with us.
const START: &str = r#"exec setsid "$@" < /dev/null >> "$GAUGEBLOCK_LOG" 2>&1 & echo $!"#;

/// A process, safe against re-use of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    id: i32,
    /// Clock ticks between boot and the process's start: field 22 of `/proc/PID/stat`.
    started: u64,
}

impl Process {
    /// Starts `arguments` under `name`: its log is `log/NAME.log`, its identity is written to `pid/NAME`.
    ///
    /// The environment is empty but for `PATH` and `HOME`, so that proxies, Go settings and the like of
    /// the developer's shell do not reach the cluster.
    ///
    /// # Errors
    /// When it cannot be started, or ended at once.
    pub fn start(layout: &Layout, name: &str, arguments: &[OsString]) -> Result<Self> {
        let log = layout.log(name);
        let mut start = Command::new("sh");
        start.args(["-c", START, "sh"]).args(arguments).env_clear();
        for kept in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(kept) {
                start.env(kept, value);
            }
        }
        let id = command::run(start.env("GAUGEBLOCK_LOG", &log))?;
        let process = Self::of(id.trim().parse().context("the shell printed no process id")?)
            .with_context(|| format!("{name} ended at once: see {}", log.display()))?;
        process.remember(layout, name)?;
        Ok(process)
    }

    /// The process that has this id now.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(id: i32) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).with_context(|| format!("no process {id}"))?;
        // The name, in parentheses, may hold anything; the fields after it are numbers.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = fields.split_whitespace();
        if fields.next() == Some("Z") {
            bail!("process {id} has ended");
        }
        let started = fields
            .nth(18)
            .and_then(|field| field.parse().ok())
            .with_context(|| format!("/proc/{id}/stat has no start time"))?;
        Ok(Self { id, started })
    }

    /// The process that `pid/NAME` speaks of, running or not.
    ///
    /// # Errors
    /// When the file is missing or unreadable.
    pub fn remembered(layout: &Layout, name: &str) -> Result<Self> {
        let path = layout.pid(name);
        let text = fs::read_to_string(&path).with_context(|| format!("{name} was never started"))?;
        let parsed = text
            .split_once(' ')
            .and_then(|(id, started)| Some(Self { id: id.parse().ok()?, started: started.trim().parse().ok()? }));
        parsed.with_context(|| format!("{} is malformed", path.display()))
    }

    /// Writes the process's identity to `pid/NAME`, where `down.sh` finds it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remember(self, layout: &Layout, name: &str) -> Result<()> {
        let path = layout.pid(name);
        fs::write(&path, format!("{} {}\n", self.id, self.started))
            .with_context(|| format!("failed to write {}", path.display()))
    }

    /// The process's id, in the machine's own process namespace.
    pub fn id(self) -> i32 {
        self.id
    }

    /// The only child, once it is there: what `unshare --fork` and `nsenter --pid` run.
    ///
    /// # Errors
    /// When there is none within five seconds.
    pub fn child(self) -> Result<Self> {
        let path = format!("/proc/{0}/task/{0}/children", self.id);
        wait::until("a namespace's first process", Duration::from_secs(5), || {
            let children = fs::read_to_string(Path::new(&path)).context("its parent has ended")?;
            children.split_whitespace().next().map(|id| Self::of(id.parse()?)).transpose()
        })
    }

    /// Whether it still runs.
    pub fn runs(self) -> bool {
        Self::of(self.id).is_ok_and(|now| now == self)
    }

    /// Sends a signal, unless the process has ended: then there is nothing to do.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn signal(self, signal: Signal) -> Result<()> {
        if !self.runs() {
            return Ok(());
        }
        let pid = Pid::from_raw(self.id).context("process id 0")?;
        match kill_process(pid, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("failed to signal process {}", self.id)),
        }
    }

    /// Kills it and waits until it is gone.
    ///
    /// # Errors
    /// When it is still there after ten seconds.
    pub fn kill(self) -> Result<()> {
        self.signal(Signal::KILL)?;
        wait::until("the end of a killed process", Duration::from_secs(10), || Ok((!self.runs()).then_some(())))
    }
}

/// Builds an argument list from strings and paths.
pub fn arguments<I: IntoIterator>(items: I) -> Vec<OsString>
where
    I::Item: Into<OsString>,
{
    items.into_iter().map(Into::into).collect()
}
