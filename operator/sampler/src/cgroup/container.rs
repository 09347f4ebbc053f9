//! One container of a watched pod, from the moment its folder appears until its program has ended.
//!
//! The folder appears with the container runtime's own process in it (runc: `runc:[2:INIT]`), which
//! waits to be told to start and then becomes the container's program by `execve`. That is the start
//! of the program: the kernel gives the process no new start time, so it is known as well as one looks,
//! from the last look that saw the runtime to the first that saw the program.

use std::{io, os::fd::OwnedFd, path::PathBuf};

use gaugeblock_measurement::{UnixNanos, sampler::ContainerSeries};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Tree, accounts::Accounts, is_gone, members::Members};
use crate::{
    clock,
    kernel_file::Buffer,
    notes::Notes,
    process::{Proc, ProcessId},
    series::Series,
    tasks::Tasks,
};

/// Each how many samples everything is read, also what matters less.
const THOROUGH: usize = 5;

/// A container.
#[derive(Debug)]
pub struct Container {
    /// ID that the runtime gave it.
    pub id: String,
    /// Path of its folder below each hierarchy.
    pub path: PathBuf,
    /// How far it has come.
    stage: Stage,
    /// Whether its folder was seen to appear.
    appeared: bool,
    processes: Members,
    threads: Members,
}

#[derive(Debug)]
enum Stage {
    Creating,
    Running(Box<Program>),
    Ended(Option<Box<Program>>),
}

/// The container's program.
#[derive(Debug)]
pub struct Program {
    /// Its first process.
    pub process: ProcessId,
    /// First time the program was seen.
    pub seen: UnixNanos,
    /// Whether the runtime, or no folder at all, was seen before.
    pub watched: bool,
    /// Name of the container, where the kubelet's mounts tell it.
    pub name: Option<String>,
    /// Name of the program.
    command: String,
    accounts: Accounts,
    tasks: Tasks,
    series: Series,
    end: Option<OwnedFd>,
}

impl Container {
    /// A container whose folder is there; `appeared` when it was not there at the look before.
    pub fn new(id: &str, path: PathBuf, appeared: bool, tree: &Tree) -> Self {
        let folder = tree.lookup().join(&path);
        Self {
            id: id.to_owned(),
            path,
            stage: Stage::Creating,
            appeared,
            processes: Members::processes(folder.clone(), tree.is_version1()),
            threads: Members::tasks(folder, tree.is_version1()),
        }
    }

    /// Its program, once it has started, also after its end.
    pub fn program(&self) -> Option<&Program> {
        match &self.stage {
            Stage::Running(program) | Stage::Ended(Some(program)) => Some(program),
            Stage::Creating | Stage::Ended(None) => None,
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended(_))
    }

    /// Whether it ended without its program ever having been seen: the program could not be started, or
    /// ended within a look.
    pub fn never_ran(&self) -> bool {
        matches!(self.stage, Stage::Ended(None))
    }

    /// Whether its program is yet to start: it is worth looking often.
    pub fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Creating)
    }

    /// Whether it is the pod's sandbox, which holds the namespaces and does nothing.
    pub fn is_sandbox(&self) -> bool {
        self.program().is_some_and(|program| program.name.is_none() && is_sandbox_command(&program.command))
    }

    /// Looks whether the program has started.
    pub fn look(&mut self, tree: &Tree, proc: &Proc, pod_uid: &str, buffer: &mut Buffer, notes: &mut Notes) {
        let Stage::Creating = self.stage else { return };
        let processes = match self.processes.read(buffer) {
            Ok(processes) => processes,
            Err(error) if is_gone(&error) => {
                self.stage = Stage::Ended(None);
                return;
            }
            Err(error) => {
                notes.add(format!("the processes of container {} cannot be read: {error}", self.id));
                return;
            }
        };
        let first = processes
            .iter()
            .filter_map(|process| Some((*process, proc.stat(*process).ok()?)))
            .filter(|(_, stat)| !stat.is_runtime() && !stat.is_dead())
            .min_by_key(|(process, stat)| (stat.started, *process));
        let Some((process, stat)) = first else {
            self.appeared = true;
            return;
        };
        let seen = clock::now();
        match Accounts::open(tree, &self.path) {
            Ok(accounts) => {
                self.stage = Stage::Running(Box::new(Program {
                    process,
                    seen,
                    watched: self.appeared,
                    name: proc.container_name(process, pod_uid),
                    command: stat.command,
                    accounts,
                    tasks: Tasks::default(),
                    series: Series::default(),
                    // Readable when the process has ended; needs no privilege (pidfd_open(2)).
                    end: Pid::from_raw(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()),
                }));
            }
            Err(error) if is_gone(&error) => self.stage = Stage::Ended(None),
            Err(error) => notes.add(format!("the cgroup of container {} cannot be read: {error}", self.id)),
        }
    }

    /// Adds a sample; `over` when the program is known to have ended, so that it is the last.
    pub fn sample(&mut self, over: bool, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        let Stage::Running(program) = &mut self.stage else {
            return;
        };
        let at = clock::now();
        // First: when the program has just been killed, the folder may vanish between two readings.
        let kills = program.accounts.oom_kills(buffer);
        let record = program.series.record_mut();
        record.oom_kills = record.oom_kills.max(kills.unwrap_or(0));
        let gone = match program.read(&mut self.processes, &mut self.threads, proc, at, over, buffer) {
            Ok(()) => false,
            Err(error) => {
                if !is_gone(&error) {
                    notes.add(format!("container {} could not be sampled: {error}", self.id));
                }
                is_gone(&error)
            }
        };
        if gone || over {
            self.end(kills.is_some(), buffer, notes);
        }
    }

    /// Descriptor that becomes readable when the program ends.
    pub fn end_descriptor(&self) -> Option<&OwnedFd> {
        match &self.stage {
            Stage::Running(program) => program.end.as_ref(),
            Stage::Creating | Stage::Ended(_) => None,
        }
    }

    /// Reads private memory once, where that is permitted.
    pub fn read_private(&mut self, proc: &Proc, buffer: &mut Buffer, notes: &mut Notes) {
        let Stage::Running(program) = &mut self.stage else {
            return;
        };
        let Ok(processes) = self.processes.read(buffer) else {
            return;
        };
        match processes.iter().map(|process| proc.private_memory(*process)).sum::<io::Result<u64>>() {
            Ok(bytes) => program.series.record_mut().private = Some(bytes),
            Err(error) => notes.add(format!("private memory (smaps_rollup) cannot be read: {error}")),
        }
    }

    /// The finished series, for a container that ran.
    pub fn finish(self, buffer: &mut Buffer, notes: &mut Notes) -> Option<ContainerSeries> {
        let (Stage::Running(mut program) | Stage::Ended(Some(mut program))) = self.stage else {
            return None;
        };
        if program.tasks.overflowed() {
            notes.add(format!("container {} had more tasks than are watched: run-queue wait is a part", self.id));
        }
        let limit = program.series.record_mut().memory_limit.or_else(|| program.accounts.memory_limit(buffer));
        let record = program.series.record_mut();
        record.memory_limit = limit;
        record.container_id = self.id;
        Some(program.series.finish())
    }

    fn end(&mut self, counted: bool, buffer: &mut Buffer, notes: &mut Notes) {
        let Stage::Running(mut program) = std::mem::replace(&mut self.stage, Stage::Ended(None)) else {
            return;
        };
        if !counted {
            let record = program.series.record_mut();
            match program.accounts.ancestors_oom_kills(buffer) {
                Some((kills, folder)) if kills > record.oom_kills => {
                    record.oom_kills = kills;
                    notes.add(format!(
                        "container {} vanished before its OOM count was read; {folder} counted {kills}",
                        self.id
                    ));
                }
                Some(_) => {}
                None => notes.add(format!(
                    "container {} vanished before its last reading: an OOM kill at its very end is not counted",
                    self.id
                )),
            }
        }
        self.stage = Stage::Ended(Some(program));
    }
}

impl Program {
    /// Whether the first process has ended, and with it the container.
    pub fn has_ended(&self) -> bool {
        self.end.as_ref().is_some_and(|end| {
            let mut fds = [rustix::event::PollFd::new(end, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut fds, Some(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 }))
                .is_ok_and(|ready| ready > 0)
        })
    }

    fn read(
        &mut self,
        processes: &mut Members,
        threads: &mut Members,
        proc: &Proc,
        at: UnixNanos,
        last: bool,
        buffer: &mut Buffer,
    ) -> io::Result<()> {
        let thorough = last || self.series.samples().is_multiple_of(THOROUGH);
        let mut figures = self.accounts.read(thorough, buffer)?;
        if thorough {
            // A threaded cgroup refuses to list its processes (EOPNOTSUPP); nothing else hangs on that.
            figures.processes = processes.read(buffer).ok().map(|processes| processes.len() as u64);
            if let Ok(tasks) = threads.read(buffer) {
                self.tasks.follow(proc, &tasks, buffer);
            }
        }
        let counts = self.tasks.read(buffer);
        figures.run_wait = Some(counts.run_wait);
        figures.involuntary_switches = Some(counts.involuntary_switches);
        if self.series.samples() == 0 {
            self.series.record_mut().memory_limit = self.accounts.memory_limit(buffer);
        }
        self.series.push(at, &figures);
        Ok(())
    }
}

/// Names that sandboxes run under: `/pause` everywhere but in OpenShift, whose image runs `pod`.
pub fn is_sandbox_command(command: &str) -> bool {
    matches!(command, "pause" | "pod")
}
