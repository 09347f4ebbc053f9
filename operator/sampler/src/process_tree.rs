//! A process and its descendants under watch: local mode, without a cgroup of their own.
//!
//! CPU time is exact: the clock of every process, and what ended children left behind. Memory is the
//! sum over the processes; pages that forked workers share are counted once for each of them, which a
//! note says.

use std::{collections::BTreeMap, fs, os::fd::OwnedFd, path::PathBuf};

use gaugeblock_measurement::{UnixNanos, sampler::ContainerSeries};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{
    cgroup::accounts::Figures,
    clock::{self, MILLISECOND, SECOND, TICK},
    kernel_file::{Buffer, KernelFile, keyed, read_once},
    notes::Notes,
    process::{Proc, ProcessId, Stat},
    process_clock::cpu_time,
    series::Series,
    start::Began,
    tasks::Tasks,
};

/// How long a unit whose process has ended may take to name the next one in its file (a quick restart).
const RESTART: u64 = 500 * MILLISECOND;
/// How long a process named in the file may take to call `execve`; after that it is taken as it is.
const EXECUTE: u64 = SECOND;
/// Lists of children read for one sample, in turns: 3 µs each.
const TURN: usize = 16;

/// A unit of processes.
#[derive(Debug)]
pub struct ProcessTree {
    name: String,
    file: PathBuf,
    root: Option<Root>,
    /// Process named last, so that a restart is told from the old content.
    named: Option<ProcessId>,
    ended_at: Option<u64>,
    gone: bool,
    members: BTreeMap<ProcessId, Member>,
    /// CPU time of processes whose parent is not a member (ns).
    ended_cpu: u64,
    next_task: usize,
    tasks: Tasks,
    series: Series,
    largest: Largest,
    looked: bool,
}

#[derive(Debug)]
struct Root {
    began: Began,
    end: Option<OwnedFd>,
    /// Since when (monotonic ns) it is waited for to call `execve`.
    waiting: Option<u64>,
}

/// One process of the tree.
#[derive(Debug)]
struct Member {
    parent: ProcessId,
    started: u64,
    status: KernelFile,
    /// CPU time of its own threads (ns).
    own: u64,
    /// What it had waited for when first seen, and has by now (ns, ticks).
    waited_before: u64,
    waited: u64,
    /// CPU time of its children that were seen and have ended (ns).
    ended_children: u64,
}

#[derive(Debug, Default)]
struct Largest {
    processes: usize,
    single: u64,
    sum: u64,
    forked: bool,
}

impl ProcessTree {
    /// A unit whose process is named in a file that is yet to appear: its number, and optionally behind it
    /// the wall clock (ns) at which the launcher started it.
    pub fn new(name: &str, file: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            file,
            root: None,
            named: None,
            ended_at: None,
            gone: false,
            members: BTreeMap::new(),
            ended_cpu: 0,
            next_task: 0,
            tasks: Tasks::default(),
            series: Series::default(),
            largest: Largest::default(),
            looked: false,
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

    /// Its processes.
    pub fn members(&self) -> Vec<ProcessId> {
        self.members.keys().copied().collect()
    }

    /// Descriptor that becomes readable when the first process ends.
    pub fn end_descriptor(&self) -> Option<&OwnedFd> {
        self.root.as_ref().and_then(|root| root.end.as_ref())
    }

    /// Whether to look often: its first process is still to come, or to come again.
    pub fn is_starting(&self) -> bool {
        !self.gone && self.began().is_none()
    }

    /// A cheap look.
    pub fn look(&mut self, proc: &Proc, buffer: &mut Buffer) {
        if self.gone {
            return;
        }
        match &mut self.root {
            None => self.find(proc),
            Some(root) => {
                let stat = proc.stat(root.began.process).ok();
                let lives = stat
                    .as_ref()
                    .is_some_and(|stat| !stat.is_dead() && self.members.get(&root.began.process).is_none_or(|member| member.started == stat.started));
                if !lives {
                    self.end_root(proc, buffer);
                } else if let (Some(since), Some(stat)) = (root.waiting, stat) {
                    let now = clock::monotonic();
                    if stat.executed {
                        root.began.at = clock::now();
                        root.waiting = None;
                    } else if now.saturating_sub(since) > EXECUTE {
                        root.waiting = None;
                    }
                }
            }
        }
        self.looked = true;
    }

    /// Adds a sample.
    pub fn sample(&mut self, proc: &Proc, buffer: &mut Buffer) {
        if self.root.is_none() {
            return;
        }
        let at = clock::now();
        let mut threads = self.grow(proc);
        threads.sort_unstable();
        let counts = self.tasks.read(proc, &threads, buffer);
        let memory = self.read_members(proc, buffer);
        self.largest.processes = self.largest.processes.max(self.members.len());
        let figures = Figures {
            cpu: Some(self.cpu()),
            anonymous: memory.map(|memory| memory.anonymous),
            working_set: memory.map(|memory| memory.resident),
            processes: Some(self.members.len() as u64),
            run_wait: Some(counts.run_wait),
            involuntary_switches: Some(counts.involuntary_switches),
            ..Figures::default()
        };
        if let Some(memory) = memory {
            self.largest.single = self.largest.single.max(memory.highest);
            self.largest.sum = self.largest.sum.max(memory.resident);
        }
        self.series.push(at, &figures);
    }

    /// Reads private memory once, where that is permitted.
    pub fn read_private(&mut self, proc: &Proc, notes: &mut Notes) {
        match self.members.keys().map(|process| proc.private_memory(*process)).sum::<std::io::Result<u64>>() {
            Ok(bytes) if bytes > 0 => self.series.record_mut().private = Some(bytes),
            Ok(_) => {}
            Err(error) => notes.add(format!("private memory (smaps_rollup) cannot be read: {error}")),
        }
    }

    /// The finished series.
    pub fn finish(mut self, target: bool, notes: &mut Notes) -> Option<ContainerSeries> {
        if self.series.samples() == 0 {
            return None;
        }
        if self.tasks.overflowed() {
            notes.add(format!("{} had more tasks than are watched: run-queue wait is a part", self.name));
        }
        if self.largest.forked {
            notes.add(format!(
                "{}: pages that its {} processes share after a fork are counted once for each of them",
                self.name, self.largest.processes
            ));
        }
        let record = self.series.record_mut();
        record.name = self.name;
        record.target = target;
        // One process: the kernel's own high-water mark. Several: theirs need not have come together.
        record.peak = Some(if self.largest.processes == 1 { self.largest.single } else { self.largest.sum.max(self.largest.single) });
        Some(self.series.finish())
    }

    fn find(&mut self, proc: &Proc) {
        let now = clock::monotonic();
        let over = self.ended_at.is_some_and(|ended| now.saturating_sub(ended) > RESTART);
        let Ok(text) = read_once(&self.file) else {
            self.gone = self.ended_at.is_some();
            return;
        };
        let mut words = text.split_ascii_whitespace();
        let named = words.next().and_then(|word| word.parse().ok()).filter(|process| *process > 0);
        let written = words.next().and_then(|word| word.parse().ok()).map(UnixNanos);
        // A file may be seen before its content is written.
        let (Some(process), true) = (named, named != self.named) else {
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
        let seen = clock::now();
        let began = Began {
            process,
            at: began(seen, self.looked, written, &stat, proc.ran_and_waited(process)),
            watched: self.looked,
            local: true,
        };
        let end = Pid::from_raw(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.named = Some(process);
        self.ended_at = None;
        self.adopt(proc, process, &stat, 0);
        self.root = Some(Root { began, end, waiting: (!stat.executed).then_some(now) });
    }

    fn end_root(&mut self, proc: &Proc, buffer: &mut Buffer) {
        // The clocks of a process that nobody has waited for yet still answer: a last sample.
        self.sample(proc, buffer);
        self.root = None;
        self.ended_at = Some(clock::monotonic());
        let ended: Vec<ProcessId> = self.members.keys().copied().collect();
        ended.into_iter().for_each(|process| self.bury(process));
    }

    fn adopt(&mut self, proc: &Proc, process: ProcessId, stat: &Stat, waited_before: u64) {
        let Ok(status) = KernelFile::open(&proc.path(process, "status")) else { return };
        self.members.insert(process, Member {
            parent: stat.parent,
            started: stat.started,
            status,
            own: 0,
            waited_before,
            waited: waited_before,
            ended_children: 0,
        });
    }

    /// Finds new descendants and answers all threads of the tree.
    fn grow(&mut self, proc: &Proc) -> Vec<ProcessId> {
        let mut threads: Vec<(ProcessId, ProcessId)> = Vec::new();
        for process in self.members.keys() {
            let Ok(entries) = fs::read_dir(proc.path(*process, "task")) else { continue };
            threads.extend(entries.flatten().filter_map(|entry| Some((*process, entry.file_name().to_str()?.parse().ok()?))));
        }
        let mut queue: Vec<(ProcessId, ProcessId)> = (0..TURN.min(threads.len()))
            .map(|turn| threads[(self.next_task + turn) % threads.len()])
            .collect();
        self.next_task = self.next_task.wrapping_add(TURN);
        while let Some((process, thread)) = queue.pop() {
            let Ok(children) = read_once(&proc.path(process, &format!("task/{thread}/children"))) else { continue };
            for child in children.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if self.members.contains_key(&child) {
                    continue;
                }
                let Ok(stat) = proc.stat(child) else { continue };
                self.largest.forked |= !stat.executed;
                self.adopt(proc, child, &stat, 0);
                threads.push((child, child));
                queue.push((child, child));
            }
        }
        threads.into_iter().map(|(_, thread)| thread).collect()
    }

    /// Reads every member, buries the ended ones, and sums up the memory of the others.
    fn read_members(&mut self, proc: &Proc, buffer: &mut Buffer) -> Option<Memory> {
        let mut sum: Option<Memory> = None;
        let mut ended = Vec::new();
        for (process, member) in &mut self.members {
            let stat = proc.stat(*process).ok().filter(|stat| stat.started == member.started);
            let (Some(stat), Some(own)) = (stat, cpu_time(*process)) else {
                ended.push(*process);
                continue;
            };
            member.own = own.max(member.own);
            member.waited = stat.waited_children;
            if let Some(memory) = member.status.read(buffer).ok().and_then(Memory::parse) {
                sum = Some(sum.unwrap_or_default().plus(memory));
            }
        }
        ended.into_iter().for_each(|process| self.bury(process));
        sum
    }

    /// Hands what an ended process used to its parent.
    fn bury(&mut self, process: ProcessId) {
        let Some(member) = self.members.remove(&process) else { return };
        match self.members.get_mut(&member.parent) {
            Some(parent) => parent.ended_children += member.cpu(),
            None => self.ended_cpu += member.cpu(),
        }
    }

    fn cpu(&self) -> u64 {
        self.ended_cpu + self.members.values().map(Member::cpu).sum::<u64>()
    }
}

impl Member {
    /// Its own time and that of its ended children: those that were seen, or, if it is more (some
    /// were born and ended between two samples), those that it waited for.
    fn cpu(&self) -> u64 {
        self.own + self.ended_children.max(self.waited.saturating_sub(self.waited_before))
    }
}

/// When a process began, that had called `execve` before it was first seen.
///
/// The kernel tells it to a step of 10 ms. Within the step it is what the launcher wrote beside the
/// number, if it did. Otherwise, where the file was seen to appear, the first look less the time that
/// the process has since run and waited for a CPU: a process that has just started has done little else.
/// For a process that was there before the sampler, the middle of the step is right to 5 ms.
fn began(seen: UnixNanos, watched: bool, written: Option<UnixNanos>, stat: &Stat, ran_and_waited: Option<u64>) -> UnixNanos {
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

/// Memory of one or more processes (bytes), from proc_pid_status(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// RssAnon + RssShmem + VmSwap.
    anonymous: u64,
    /// VmRSS.
    resident: u64,
    /// VmHWM; of several, the largest.
    highest: u64,
}

impl Memory {
    /// `None` for a process that has let go of its memory (it has ended).
    fn parse(status: &str) -> Option<Self> {
        let bytes = |key| keyed(status, key).map(|kib| kib * 1024);
        Some(Self {
            anonymous: bytes("RssAnon")? + bytes("RssShmem")? + bytes("VmSwap").unwrap_or(0),
            resident: bytes("VmRSS")?,
            highest: bytes("VmHWM")?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            anonymous: self.anonymous + other.anonymous,
            resident: self.resident + other.resident,
            highest: self.highest.max(other.highest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(started: u64) -> Stat {
        Stat { command: "t".into(), state: 'S', parent: 1, executed: true, waited_children: 0, started }
    }

    #[test]
    fn a_start_is_bounded_by_what_is_known() {
        let step = clock::at_boot_time(SECOND);
        let after = |nanos| clock::after(step, nanos);
        let near = |a: UnixNanos, b: UnixNanos| a.since(b).abs() < 100_000;
        // Seen 3 ms after the step, having run for 1 ms: it began 2 ms after it.
        let seen = after(3 * MILLISECOND);
        assert!(near(began(seen, true, None, &stat(SECOND), Some(MILLISECOND)), after(2 * MILLISECOND)));
        // The launcher knows better.
        assert!(near(began(seen, true, Some(after(MILLISECOND)), &stat(SECOND), None), after(MILLISECOND)));
        // Seen late: within the step. There before the sampler: the middle of the step.
        assert!(near(began(after(SECOND), true, None, &stat(SECOND), None), after(10 * MILLISECOND)));
        assert!(near(began(after(SECOND), false, None, &stat(SECOND), None), after(5 * MILLISECOND)));
    }

    #[test]
    fn ended_children_count_by_whichever_knows_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status");
        fs::write(&path, "").unwrap();
        let member = |waited, ended_children| Member {
            parent: 0,
            started: 0,
            status: KernelFile::open(&path).unwrap(),
            own: 5,
            waited_before: 10,
            waited,
            ended_children,
        };
        assert_eq!(member(10, 7).cpu(), 12);
        assert_eq!(member(40, 7).cpu(), 35);
    }
}
