//! Run-queue wait and involuntary context switches of a container, summed over its tasks.
//!
//! The kernel keeps both for each task only (`/proc/TID/schedstat`, `/proc/TID/status`), and forgets
//! them when the task ends; the ledger keeps the last reading of those. A container with many tasks is
//! read in turns: its sum then lags by a few samples, the same at both ends of a window. `status` costs
//! five times as much as `schedstat` (3.4 and 0.7 µs), so its turns are shorter and fewer.

use std::collections::HashMap;

use crate::{
    kernel_file::{Buffer, KernelFile, keyed},
    process::{Proc, ProcessId},
};

/// Tasks whose waiting is read for one sample.
const TURN: usize = 4;
/// Tasks whose switches are read for one sample, each so many samples.
const SWITCHES_TURN: usize = 2;
const SWITCHES_PAUSE: u64 = 5;
/// Tasks kept open, at two files each, far below the 1,024 files that a container may open.
const MOST: usize = 256;

/// The sums, and what they consist of.
#[derive(Debug, Default)]
pub struct Tasks {
    alive: HashMap<ProcessId, Task>,
    /// In which turn each comes; a prefix of the list was read last.
    order: Vec<ProcessId>,
    next: usize,
    next_switches: usize,
    reads: u64,
    ended: Counts,
    overflow: bool,
}

/// Cumulative counts of one or more tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Time runnable but not running (ns).
    pub run_wait: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}

#[derive(Debug)]
struct Task {
    schedstat: KernelFile,
    status: KernelFile,
    counts: Counts,
}

impl Tasks {
    /// Takes notice of the tasks that now exist (in ascending order).
    pub fn follow(&mut self, proc: &Proc, now: &[ProcessId], buffer: &mut Buffer) {
        self.forget_ended(now);
        for &task in now {
            if self.alive.len() >= MOST {
                self.overflow = true;
                break;
            }
            if !self.alive.contains_key(&task)
                && let Some(opened) = Task::open(proc, task, buffer)
            {
                self.alive.insert(task, opened);
                self.order.push(task);
            }
        }
    }

    /// Reads the next few of them, and answers the sum over all ever seen.
    pub fn read(&mut self, buffer: &mut Buffer) -> Counts {
        for _ in 0..TURN.min(self.order.len()) {
            self.next = (self.next + 1) % self.order.len();
            if let Some(task) = self.alive.get_mut(&self.order[self.next]) {
                task.read_wait(buffer);
            }
        }
        self.reads += 1;
        let turn = if self.reads.is_multiple_of(SWITCHES_PAUSE) { SWITCHES_TURN } else { 0 };
        for _ in 0..turn.min(self.order.len()) {
            self.next_switches = (self.next_switches + 1) % self.order.len();
            if let Some(task) = self.alive.get_mut(&self.order[self.next_switches]) {
                task.read_switches(buffer);
            }
        }
        self.alive.values().fold(self.ended, |sum, task| sum.plus(task.counts))
    }

    /// Whether there were more tasks than are kept.
    pub fn overflowed(&self) -> bool {
        self.overflow
    }

    fn forget_ended(&mut self, now: &[ProcessId]) {
        if self.alive.keys().all(|task| now.binary_search(task).is_ok()) {
            return;
        }
        let ended = &mut self.ended;
        self.alive.retain(|task, seen| {
            let lives = now.binary_search(task).is_ok();
            if !lives {
                *ended = ended.plus(seen.counts);
            }
            lives
        });
        self.order.retain(|task| self.alive.contains_key(task));
        (self.next, self.next_switches) = (0, 0);
    }
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            run_wait: self.run_wait + other.run_wait,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

impl Task {
    fn open(proc: &Proc, task: ProcessId, buffer: &mut Buffer) -> Option<Self> {
        let mut task = Self {
            schedstat: KernelFile::open(&proc.path(task, "schedstat")).ok()?,
            status: KernelFile::open(&proc.path(task, "status")).ok()?,
            counts: Counts::default(),
        };
        task.read_wait(buffer);
        task.read_switches(buffer);
        Some(task)
    }

    fn read_wait(&mut self, buffer: &mut Buffer) {
        // A task that ended between the list and here keeps its last counts.
        if let Ok(line) = self.schedstat.read(buffer)
            && let Some(wait) = line.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok())
        {
            self.counts.run_wait = wait;
        }
    }

    fn read_switches(&mut self, buffer: &mut Buffer) {
        if let Ok(table) = self.status.read(buffer)
            && let Some(switches) = keyed(table, "nonvoluntary_ctxt_switches")
        {
            self.counts.involuntary_switches = switches;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(proc: &std::path::Path, task: ProcessId, wait: u64, switches: u64) {
        let folder = proc.join(task.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("schedstat"), format!("1 {wait} 3\n")).unwrap();
        std::fs::write(folder.join("status"), format!("nonvoluntary_ctxt_switches:\t{switches}\n")).unwrap();
    }

    #[test]
    fn what_an_ended_task_waited_stays_in_the_sum() {
        let folder = tempfile::tempdir().unwrap();
        let proc = Proc::new(folder.path().into());
        let (mut tasks, mut buffer) = (Tasks::default(), Buffer::default());
        schedule(folder.path(), 10, 100, 1);
        schedule(folder.path(), 11, 50, 2);
        tasks.follow(&proc, &[10, 11], &mut buffer);
        assert_eq!(tasks.read(&mut buffer), Counts { run_wait: 150, involuntary_switches: 3 });
        schedule(folder.path(), 10, 130, 1);
        tasks.follow(&proc, &[10], &mut buffer);
        assert_eq!(tasks.read(&mut buffer), Counts { run_wait: 180, involuntary_switches: 3 });
    }

    #[test]
    fn many_tasks_are_read_in_turns() {
        let folder = tempfile::tempdir().unwrap();
        let proc = Proc::new(folder.path().into());
        let (mut tasks, mut buffer) = (Tasks::default(), Buffer::default());
        let all: Vec<ProcessId> = (1..=20).collect();
        for task in &all {
            schedule(folder.path(), *task, 1, 0);
        }
        tasks.follow(&proc, &all, &mut buffer);
        assert_eq!(tasks.read(&mut buffer).run_wait, 20);
        for task in &all {
            schedule(folder.path(), *task, 2, 0);
        }
        let sums: Vec<u64> = (0..3).map(|_| tasks.read(&mut buffer).run_wait).collect();
        assert_eq!(sums, [24, 28, 32]);
    }
}
