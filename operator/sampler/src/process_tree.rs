//! A process and its descendants under watch: local mode, without a cgroup of their own.
//!
//! CPU time is exact: the clock of every process, and what ended children left behind. Memory is the
//! sum over the processes, corrected for what forked workers share where that can be read.

use std::{os::fd::OwnedFd, path::PathBuf};

use gaugeblock_measurement::{UnixNanos, sampler::ContainerSeries};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub mod family;
pub mod memory;

use crate::{
    cgroup::accounts::Figures,
    clock::{self, MILLISECOND, SECOND, TICK},
    kernel_file::{Buffer, keyed, read_once},
    notes::Notes,
    process::{Proc, ProcessId, Stat},
    series::Series,
    start::Began,
    tasks::Tasks,
};
use family::Family;
use memory::Shared;

/// How long a unit whose process has ended may take to name the next one in its file (a quick restart).
const RESTART: u64 = 500 * MILLISECOND;
/// How long a process named in the file may take to call `execve`; after that it is taken as it is.
const EXECUTE: u64 = SECOND;

/// A unit of processes.
#[derive(Debug)]
pub struct ProcessTree {
    name: String,
    file: PathBuf,
    /// Whether the file was looked for before.
    looked: bool,
    root: Option<Root>,
    /// Process named last, so that a restart is told from the old content.
    named: Option<ProcessId>,
    /// When the last process ended (monotonic ns).
    ended: Option<u64>,
    gone: bool,
    family: Family,
    tasks: Tasks,
    series: Series,
    shared: Shared,
    largest: Largest,
    /// OOM kills on the whole machine when watching began.
    oom_kills: Option<u64>,
}

/// The first process.
#[derive(Debug)]
struct Root {
    began: Began,
    end: Option<OwnedFd>,
    /// Since when (monotonic ns) it is waited for to call `execve`.
    waiting: Option<u64>,
}

/// The largest that was seen: number of processes, one process's own high-water mark, their sum.
#[derive(Debug, Default)]
struct Largest {
    processes: usize,
    single: u64,
    sum: u64,
}

impl ProcessTree {
    /// A unit whose process is named in a file that is yet to appear: its number, and optionally behind
    /// it the wall clock (ns) at which the launcher started it.
    pub fn new(name: &str, file: PathBuf, proc: &Proc) -> Self {
        Self {
            name: name.to_owned(),
            file,
            looked: false,
            root: None,
            named: None,
            ended: None,
            gone: false,
            family: Family::default(),
            tasks: Tasks::default(),
            series: Series::default(),
            shared: Shared::default(),
            largest: Largest::default(),
            oom_kills: machine_oom_kills(proc),
        }
    }

    /// Name for the results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The start of its present process.
    pub fn began(&self) -> Option<Began> {
        self.root.as_ref().filter(|root| root.waiting.is_none()).map(|root| root.began)
    }

    /// Whether it has ended for good.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether a socket belongs to one of its processes, those born since the last sample included;
    /// `None` where their open files may not be looked at.
    pub fn owns_socket(&mut self, proc: &Proc, inode: u64) -> Option<bool> {
        let owned = |family: &Family| {
            let lives = |member: &ProcessId| proc.stat(*member).is_ok_and(|stat| !stat.is_dead());
            let answers: Vec<Option<bool>> = family
                .members()
                .iter()
                .map(|member| (member, proc.owns_socket(*member, inode)))
                // One that is just ending shows no files, but not because it may not be looked at.
                .filter(|(member, answer)| answer.is_some() || lives(member))
                .map(|(_, answer)| answer)
                .collect();
            if answers.contains(&Some(true)) {
                Some(true)
            } else if answers.contains(&None) {
                None
            } else {
                Some(false)
            }
        };
        owned(&self.family).filter(|owned| *owned).or_else(|| {
            self.family.grow(proc);
            owned(&self.family)
        })
    }

    /// Descriptor that becomes readable when the first process ends.
    pub fn end_descriptor(&self) -> Option<&OwnedFd> {
        self.root.as_ref().and_then(|root| root.end.as_ref())
    }

    /// Whether to look often: its first process is still to come, or to come again.
    pub fn is_starting(&self) -> bool {
        !self.gone && self.began().is_none()
    }

    /// A cheap look: one file while its process is awaited.
    pub fn look(&mut self, proc: &Proc, buffer: &mut Buffer) {
        match &self.root {
            None => {
                self.find(proc);
                self.looked = true;
            }
            // Its end makes a descriptor readable: there is nothing to look for.
            Some(Root { end: Some(_), waiting: None, .. }) => {}
            Some(_) => self.look_at_root(proc, buffer),
        }
    }

    /// Looks whether the first process has called `execve`, or ended, and then takes the last sample.
    pub fn look_at_root(&mut self, proc: &Proc, buffer: &mut Buffer) {
        let Some(root) = &mut self.root else { return };
        let stat = proc.stat(root.began.process).ok();
        let Some(stat) = stat.filter(|stat| !stat.is_dead() && self.family.is_member(root.began.process, stat)) else {
            self.end_root(proc, buffer);
            return;
        };
        if let Some(since) = root.waiting {
            if stat.executed {
                root.began.at = clock::now();
                root.waiting = None;
            } else if clock::monotonic().saturating_sub(since) > EXECUTE {
                root.waiting = None;
            }
        }
    }

    /// Adds a sample.
    pub fn sample(&mut self, proc: &Proc, buffer: &mut Buffer) {
        if self.root.is_none() {
            return;
        }
        let at = clock::now();
        let threads = self.family.grow(proc);
        let memory = self.family.read(proc, buffer);
        self.tasks.follow(proc, &threads, buffer);
        let counts = self.tasks.read(buffer);
        let processes = self.family.members().len();
        if let Some(memory) = memory {
            self.largest.single = self.largest.single.max(memory.highest);
            self.largest.sum = self.largest.sum.max(memory.resident);
        }
        self.largest.processes = self.largest.processes.max(processes);
        self.series.push(
            at,
            &Figures {
                cpu: Some(self.family.cpu()),
                anonymous: memory.map(|memory| memory.anonymous),
                working_set: memory.map(|memory| memory.resident),
                processes: Some(processes as u64),
                run_wait: Some(counts.run_wait),
                involuntary_switches: Some(counts.involuntary_switches),
                ..Figures::default()
            },
        );
    }

    /// Reads what the memory maps tell, at a moment when nothing is measured: what forked processes
    /// share, and with `private` their private memory, too.
    pub fn read_maps(&mut self, proc: &Proc, private: bool, notes: &mut Notes) {
        self.family.grow(proc);
        let members = self.family.members();
        if self.family.has_forked()
            && let Err(error) = self.shared.read(proc, &members, clock::now())
        {
            notes.add(format!("shared pages (smaps_rollup) cannot be read: {error}"));
        }
        if !private || members.is_empty() {
            return;
        }
        match members.iter().map(|process| proc.private_memory(*process)).sum::<std::io::Result<u64>>() {
            Ok(bytes) => self.series.record_mut().private = Some(bytes),
            Err(error) => notes.add(format!("private memory (smaps_rollup) cannot be read: {error}")),
        }
    }

    /// The finished series.
    pub fn finish(mut self, target: bool, proc: &Proc, notes: &mut Notes) -> Option<ContainerSeries> {
        if self.series.samples() == 0 {
            return None;
        }
        if self.tasks.overflowed() {
            notes.add(format!("{} had more tasks than are watched: run-queue wait is a part", self.name));
        }
        if self.family.has_forked() && !self.shared.is_known() {
            notes.add(format!(
                "{}: pages that its {} processes share after a fork are counted once for each of them",
                self.name, self.largest.processes
            ));
        }
        let record = self.series.record_mut();
        self.shared.correct(&record.at, &mut record.anonymous);
        // One process: the kernel's own high-water mark. Several: theirs need not have come together.
        record.peak = Some(match self.largest.processes {
            0 | 1 => self.largest.single,
            _ => self.largest.sum.max(self.largest.single),
        });
        if let (Some(before), Some(after)) = (self.oom_kills, machine_oom_kills(proc))
            && after > before
        {
            // Whose they were cannot be told: they must not be held against the target.
            notes.add(format!("the machine killed {} process(es) for memory during the trial", after - before));
        }
        record.name = self.name;
        record.target = target;
        Some(self.series.finish())
    }

    fn find(&mut self, proc: &Proc) {
        if self.gone {
            return;
        }
        let now = clock::monotonic();
        let over = self.ended.is_some_and(|ended| now.saturating_sub(ended) > RESTART);
        let Ok(text) = read_once(&self.file) else {
            self.gone = self.ended.is_some();
            return;
        };
        let mut words = text.split_ascii_whitespace();
        let named = words.next().and_then(|word| word.parse().ok()).filter(|process| *process > 0);
        let written = words.next().and_then(|word| word.parse().ok()).map(UnixNanos);
        // A file may be seen before its content is written.
        let Some(process) = named.filter(|_| named != self.named) else {
            self.gone = over;
            return;
        };
        let Ok(stat) = proc.stat(process) else {
            self.gone = over;
            return;
        };
        if stat.is_dead() {
            return;
        }
        let at = began(clock::now(), self.looked, written, &stat, proc.ran_and_waited(process));
        let began = Began { process, at, watched: self.looked, local: true };
        let end = Pid::from_raw(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.named = Some(process);
        self.ended = None;
        self.family.adopt(proc, process, &stat);
        self.root = Some(Root { began, end, waiting: (!stat.executed).then_some(now) });
    }

    fn end_root(&mut self, proc: &Proc, buffer: &mut Buffer) {
        self.sample(proc, buffer);
        self.family.disperse();
        self.root = None;
        self.ended = Some(clock::monotonic());
    }
}

/// When a process began, that had called `execve` before it was first seen.
///
/// The kernel tells it to a step of 10 ms. Within the step it is what the launcher wrote beside the
/// number, if it did. Otherwise, where the file was seen to appear, the first look less the time that
/// the process has since run and waited for a CPU: a process that has just started has done little else.
/// For a process that was there before the sampler, the middle of the step is right to 5 ms.
fn began(
    seen: UnixNanos,
    watched: bool,
    written: Option<UnixNanos>,
    stat: &Stat,
    ran_and_waited: Option<u64>,
) -> UnixNanos {
    let step = clock::at_boot_time(stat.started);
    let latest = clock::before(seen, ran_and_waited.unwrap_or(0)).min(clock::after(step, TICK));
    match written {
        // The launcher's call returns after the start, and may be late.
        Some(written) => written.min(seen),
        None if watched => latest,
        None => clock::after(step, TICK / 2),
    }
    .max(step)
}

/// OOM kills on this machine since it was booted.
fn machine_oom_kills(proc: &Proc) -> Option<u64> {
    keyed(&read_once(&proc.file("vmstat")).ok()?, "oom_kill")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_bounded_by_what_is_known() {
        let stat =
            Stat { command: "t".into(), state: 'S', parent: 1, executed: true, waited_children: 0, started: SECOND };
        let step = clock::at_boot_time(SECOND);
        let after = |nanos| clock::after(step, nanos);
        let near = |a: UnixNanos, b: UnixNanos| a.since(b).abs() < 100_000;
        // Seen 3 ms after the step, having run for 1 ms: it began 2 ms after it.
        let seen = after(3 * MILLISECOND);
        assert!(near(began(seen, true, None, &stat, Some(MILLISECOND)), after(2 * MILLISECOND)));
        // The launcher knows better.
        assert!(near(began(seen, true, Some(after(MILLISECOND)), &stat, None), after(MILLISECOND)));
        // Seen late: within the step. There before the sampler: the middle of the step.
        assert!(near(began(after(SECOND), true, None, &stat, None), after(10 * MILLISECOND)));
        assert!(near(began(after(SECOND), false, None, &stat, None), after(5 * MILLISECOND)));
    }
}
