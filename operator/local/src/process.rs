//! Processes: started through the [launcher](crate::launch), each in a process group of its own,
//! and ended with everything that they started.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::{
    account::Account,
    cpu_list::CpuList,
    environment::Environment,
    launch::Launch,
    wakeup::Wakeup,
    warden::{self, RUN_MARK, UNIT_MARK, Warden},
};

/// Time to end after being asked to, as Kubernetes' grace period, but shorter: nothing is lost.
pub const GRACE: Duration = Duration::from_secs(5);

/// Name under which parts of Gaugeblock itself appear in a list of processes.
const OWN_NAME: &str = "gaugeblock";

/// What to start.
#[derive(Debug)]
pub struct Order<'a> {
    /// Name of its log.
    pub name: &'a str,
    /// UID of the unit, which marks its processes.
    pub unit: &'a str,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Variables, beside those of Gaugeblock's own environment.
    pub environment: Environment,
    /// Folder to start in.
    pub folder: &'a Path,
    /// CPUs.
    pub cpus: &'a CpuList,
    /// User, where it is another one.
    pub account: Option<&'a Account>,
    /// File that gets the process ID.
    pub pid_file: Option<&'a Path>,
    /// Ask to end when Gaugeblock dies, instead of killing.
    pub quit: bool,
    /// Keep standard output apart from standard error.
    pub apart: bool,
}

/// A process could not be started, or not be waited for.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Its log could not be made.
    #[error("failed to create the log {}", .0.display())]
    Log(PathBuf, #[source] io::Error),
    /// The launcher could not be started.
    #[error("failed to start {0}")]
    Start(String, #[source] io::Error),
    /// It ended with an error.
    #[error("{name} ended with {status}; its log {} ends with:\n{tail}", log.display())]
    Failed {
        /// Name of the log.
        name: String,
        /// How it ended.
        status: String,
        /// The log.
        log: PathBuf,
        /// End of the log.
        tail: String,
    },
    /// It took too long.
    #[error("{name} had not ended after {} s; see its log {}", limit.as_secs(), log.display())]
    TooSlow {
        /// Name of the log.
        name: String,
        /// Time allowed.
        limit: Duration,
        /// The log.
        log: PathBuf,
    },
    /// Someone asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Starts processes.
#[derive(Debug)]
pub struct Spawner {
    /// Gaugeblock itself.
    program: PathBuf,
    run_uid: String,
    logs: PathBuf,
    /// Keeps account of what must not stay.
    pub warden: Warden,
}

impl Spawner {
    /// Starts the warden.
    pub fn new(run_uid: &str, logs: &Path) -> io::Result<Self> {
        // The very file that this process runs, even when another build replaces it meanwhile:
        // all trials of a run are measured by the same program.
        let program = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        let warden = Warden::start(&program, run_uid)?;
        Ok(Self { program, run_uid: run_uid.to_owned(), logs: logs.to_owned(), warden })
    }

    /// The command that is a part of Gaugeblock itself.
    pub fn own(&self, part: &str) -> Vec<OsString> {
        vec![self.program.clone().into(), part.into()]
    }

    /// The log of a process: standard error, and standard output unless it is kept apart.
    pub fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// The standard output of a process that keeps it apart.
    pub fn output(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.out"))
    }

    /// Starts a process.
    pub fn spawn(&self, order: Order<'_>) -> Result<Process, ProcessError> {
        let Order { name, unit, command, environment, folder, cpus, account, pid_file, quit, apart } = order;
        let create = |path: PathBuf| File::create(&path).map_err(|error| ProcessError::Log(path, error));
        let log = create(self.log(name))?;
        let failed = |error| ProcessError::Start(name.to_owned(), error);
        let output = if apart { create(self.output(name))? } else { log.try_clone().map_err(failed)? };
        let launch = Launch {
            parent: std::process::id(),
            cpus: Some(cpus.clone()),
            account: account.map(|account| (account.uid, account.gid)),
            pid_file: pid_file.map(Path::to_owned),
            quit,
            // In a list of processes a path of /proc would tell nothing.
            arg0: (command.first() == Some(&self.program.clone().into())).then(|| OWN_NAME.to_owned()),
            command,
        };
        let mut command = Command::new(&self.program);
        command
            .arg0(OWN_NAME)
            .args(launch.arguments())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log);
        command.process_group(0);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_misleading(name)) {
            command.env_remove(name);
        }
        command.envs(environment.variables()).env(RUN_MARK, &self.run_uid).env(UNIT_MARK, unit);
        let child = command.spawn().map_err(failed)?;
        let Some(group) = Pid::from_raw(child.id() as i32) else {
            return Err(failed(io::Error::other("it has no process ID")));
        };
        self.warden.enter_group(group);
        Ok(Process { child, group, unit: unit.to_owned(), asked: None, killed: false, status: None })
    }

    /// Starts a process and waits until it has ended well.
    pub fn complete(&self, order: Order<'_>, limit: Duration, wakeup: &mut Wakeup) -> Result<(), ProcessError> {
        let name = order.name.to_owned();
        let log = self.log(&name);
        let mut process = self.spawn(order)?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = process.poll(self) {
                break status;
            }
            if wakeup.interrupted() {
                process.end_now(self);
                return Err(ProcessError::Interrupted);
            }
            if began.elapsed() > limit {
                process.end_now(self);
                return Err(ProcessError::TooSlow { name, limit, log });
            }
            wakeup.wait(Duration::from_millis(100));
        };
        if status.success() {
            return Ok(());
        }
        Err(ProcessError::Failed { name, status: status.to_string(), tail: tail(&log, 30), log })
    }
}

/// Variables of Gaugeblock's own environment that a unit must not inherit: they would lead it to
/// another database than its trial's.
fn is_misleading(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("PG") || name.starts_with("GAUGEBLOCK_") || name == "DATABASE_URL" || name == "REDIS_URL"
}

/// The last lines of a log.
pub fn tail(log: &Path, lines: usize) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// A running process with everything that it starts.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Pid,
    unit: String,
    asked: Option<Instant>,
    killed: bool,
    status: Option<ExitStatus>,
}

impl Process {
    /// Process ID.
    pub fn id(&self) -> Pid {
        self.group
    }

    /// Whether it was asked to end.
    pub fn was_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Looks whether it has ended. What it leaves of its process group is killed, and so is a
    /// process that was asked to end and did not within [`GRACE`].
    pub fn poll(&mut self, spawner: &Spawner) -> Option<ExitStatus> {
        if self.status.is_some() {
            return self.status;
        }
        // Seen ended, but not waited for: until then its ID, so its group's, is not given anew.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(self.group), look), Ok(None)) {
            if self.asked.is_some_and(|asked| asked.elapsed() > GRACE) && !self.killed {
                self.killed = true;
                self.signal(Signal::KILL);
            }
            return None;
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        self.status = self.child.wait().ok();
        spawner.warden.strike_group(self.group);
        if self.asked.is_some() {
            warden::end_marked(UNIT_MARK, &self.unit);
        }
        self.status
    }

    /// Asks it to end.
    pub fn ask_to_end(&mut self, signal: Signal) {
        if self.asked.is_none() && self.status.is_none() {
            self.asked = Some(Instant::now());
            self.signal(signal);
        }
    }

    /// Ends it, and waits until it has.
    pub fn end_now(&mut self, spawner: &Spawner) {
        self.asked = self.asked.or(Some(Instant::now()));
        while self.poll(spawner).is_none() {
            self.signal(Signal::KILL);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to the process alone.
    pub fn tell(&self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill_process(self.group, signal);
        }
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }
}
