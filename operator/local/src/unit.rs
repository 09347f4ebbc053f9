//! A unit of a trial as a process, and what the planner sees of it.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use gaugeblock_measurement::{GeneratorPlan, plan::Watch};
use gaugeblock_planner::{Unit, UnitKey, UnitState, Waiting, action::Variable, observed::FailureKind};
use jiff::Timestamp;

use crate::{
    launch,
    postgres::Server,
    process::{self, Process},
};

/// Address of everything in local mode.
pub const ADDRESS: &str = "127.0.0.1";
/// Signal of a kill that cannot be caught.
const SIGKILL: i32 = 9;

/// A unit.
#[derive(Debug)]
pub struct LocalUnit {
    /// Which.
    pub key: UnitKey,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// When it was created.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What it is.
    pub part: Part,
    /// Where it stands.
    pub state: UnitState,
    /// File that gets its process ID.
    pub pid_file: PathBuf,
    /// What really runs, for the target.
    pub image: Option<String>,
    /// Kills for memory on this machine when it was started.
    pub kills_before: u64,
}

/// What a unit is.
#[derive(Debug)]
pub enum Part {
    /// A Postgres server.
    Postgres(Server),
    /// The target.
    Target {
        /// Index of its arm.
        arm: usize,
        /// Connection variables of its dependencies.
        variables: Vec<Variable>,
        /// Its port.
        port: u16,
        /// Its process, once it was let go.
        process: Option<Process>,
    },
    /// The sampler.
    Sampler(Process),
    /// The load generator.
    Generator {
        /// What to do.
        plan: Box<GeneratorPlan>,
        /// Password variables that it needs.
        variables: Vec<Variable>,
        /// Its process, once it was let go.
        process: Option<Process>,
    },
}

impl LocalUnit {
    /// Its process, if it has one.
    pub fn process(&mut self) -> Option<&mut Process> {
        match &mut self.part {
            Part::Postgres(server) => Some(&mut server.process),
            Part::Sampler(process) => Some(process),
            Part::Target { process, .. } | Part::Generator { process, .. } => process.as_mut(),
        }
    }

    /// Whether something about it may change without a signal: it has to be looked at often.
    pub fn is_in_motion(&self) -> bool {
        self.deleting
            || match (&self.state, &self.part) {
                (UnitState::Pending(_), Part::Target { process: None, .. } | Part::Generator { process: None, .. }) => {
                    false
                }
                (UnitState::Pending(_) | UnitState::Running { ready: false }, _) => true,
                _ => false,
            }
    }

    /// As the planner sees it.
    pub fn view(&self) -> Unit {
        let (gated, port) = match &self.part {
            Part::Postgres(server) => (false, Some(server.port)),
            Part::Target { process, port, .. } => (process.is_none(), Some(*port)),
            Part::Sampler(_) => (false, None),
            Part::Generator { process, .. } => (process.is_none(), None),
        };
        Unit {
            key: self.key,
            name: self.name.clone(),
            uid: self.uid.clone(),
            gated,
            deleting: self.deleting,
            disrupted: None,
            created: self.created,
            state: self.state.clone(),
            address: Some(ADDRESS.to_owned()),
            port,
            node: None,
            restarts: 0,
            image: self.image.clone(),
            watch: Watch::ProcessFile {
                name: self.name.clone(),
                uid: self.uid.clone(),
                path: self.pid_file.to_string_lossy().into_owned(),
            },
        }
    }

    /// The state after its process has ended.
    pub fn ended(&self, status: ExitStatus, log: &Path) -> UnitState {
        let last = || process::tail(log, 1);
        match (status.code(), status.signal()) {
            (Some(0), _) => UnitState::Succeeded,
            (Some(launch::NOT_STARTED), _) if !self.pid_file.exists() || last().starts_with("gaugeblock: ") => {
                UnitState::Failed {
                    kind: FailureKind::StartError,
                    exit_code: Some(launch::NOT_STARTED),
                    message: last(),
                }
            }
            (code, signal) => {
                let killed_for_memory = signal == Some(SIGKILL) && kills_for_memory() > self.kills_before;
                UnitState::Failed {
                    kind: if killed_for_memory { FailureKind::OomKilled } else { FailureKind::Exited },
                    // As shells and container runtimes have it.
                    exit_code: code.or(signal.map(|signal| 128 + signal)),
                    message: format!("{status}; see {}", log.display()),
                }
            }
        }
    }

    /// The state of a process that runs.
    pub fn running(&self, ready: bool) -> UnitState {
        // Until the launcher has said its process ID it has not become the program.
        if self.pid_file.exists() { UnitState::Running { ready } } else { UnitState::Pending(Waiting::Starting) }
    }
}

/// Kills for memory on this machine since it started.
pub fn kills_for_memory() -> u64 {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    counters.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}
