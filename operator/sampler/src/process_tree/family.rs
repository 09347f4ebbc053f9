//! The processes of a tree, and the CPU time of all that ever lived in it.

use std::{collections::BTreeMap, fs};

use super::memory::Memory;
use crate::{
    kernel_file::{Buffer, KernelFile, read_once},
    process::{Proc, ProcessId, Stat},
    process_clock::cpu_time,
};

/// Lists of children read for one sample, in turns: 3 µs each.
const TURN: usize = 16;

/// A process and its descendants. One that was seen once stays a member until it ends, even when its
/// parent ends before it and another process adopts it.
#[derive(Debug, Default)]
pub struct Family {
    members: BTreeMap<ProcessId, Member>,
    /// CPU time of ended processes whose parent is no member (ns).
    ended: u64,
    next: usize,
    forked: bool,
}

/// One process.
#[derive(Debug)]
struct Member {
    parent: ProcessId,
    started: u64,
    status: KernelFile,
    /// CPU time of its own threads (ns).
    own: u64,
    /// What it had waited for when it was first seen, and by now (ns, in steps of 10 ms).
    waited_before: u64,
    waited: u64,
    /// CPU time of children that were seen and have ended (ns).
    ended_children: u64,
}

impl Family {
    /// Takes a process in; `stat` is what it says of itself.
    pub fn adopt(&mut self, proc: &Proc, process: ProcessId, stat: &Stat) {
        let Ok(status) = KernelFile::open(&proc.path(process, "status")) else {
            return;
        };
        self.members.insert(
            process,
            Member {
                parent: stat.parent,
                started: stat.started,
                status,
                own: 0,
                waited_before: stat.waited_children,
                waited: stat.waited_children,
                ended_children: 0,
            },
        );
    }

    /// Its living members.
    pub fn members(&self) -> Vec<ProcessId> {
        self.members.keys().copied().collect()
    }

    /// Whether a process is the member that was taken in, and not another that was given its number.
    pub fn is_member(&self, process: ProcessId, stat: &Stat) -> bool {
        self.members.get(&process).is_some_and(|member| member.started == stat.started)
    }

    /// Whether some member was forked and never called `execve`: it shares pages with its parent.
    pub fn has_forked(&self) -> bool {
        self.forked
    }

    /// CPU time of all that live and lived (ns).
    pub fn cpu(&self) -> u64 {
        self.ended + self.members.values().map(Member::cpu).sum::<u64>()
    }

    /// Finds new descendants, and answers all threads in ascending order.
    pub fn grow(&mut self, proc: &Proc) -> Vec<ProcessId> {
        let mut threads: Vec<(ProcessId, ProcessId)> = Vec::new();
        for process in self.members.keys() {
            let entries = fs::read_dir(proc.path(*process, "task")).into_iter().flatten().flatten();
            threads.extend(entries.filter_map(|entry| Some((*process, entry.file_name().to_str()?.parse().ok()?))));
        }
        let mut queue: Vec<(ProcessId, ProcessId)> =
            (0..TURN.min(threads.len())).map(|turn| threads[(self.next + turn) % threads.len()]).collect();
        self.next = self.next.wrapping_add(TURN);
        // Each thread lists the children that it made itself (proc_tid_children(5)).
        while let Some((process, thread)) = queue.pop() {
            let children = read_once(&proc.path(process, &format!("task/{thread}/children"))).unwrap_or_default();
            for child in children.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if self.members.contains_key(&child) {
                    continue;
                }
                let Ok(stat) = proc.stat(child) else { continue };
                self.forked |= !stat.executed;
                // A child that is born here has waited for nothing before.
                self.adopt(proc, child, &Stat { waited_children: 0, ..stat });
                threads.push((child, child));
                queue.push((child, child));
            }
        }
        let mut threads: Vec<ProcessId> = threads.into_iter().map(|(_, thread)| thread).collect();
        threads.sort_unstable();
        threads
    }

    /// Reads every member, lets the ended ones go, and sums up the memory of the others.
    pub fn read(&mut self, proc: &Proc, buffer: &mut Buffer) -> Option<Memory> {
        let mut sum: Option<Memory> = None;
        let mut ended = Vec::new();
        for (process, member) in &mut self.members {
            let stat = proc.stat(*process).ok().filter(|stat| stat.started == member.started);
            // The clock of a process that nobody has waited for yet still answers.
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
        for process in ended {
            self.bury(process);
        }
        sum
    }

    /// Lets all members go: their first process has ended.
    pub fn disperse(&mut self) {
        for process in self.members() {
            self.bury(process);
        }
    }

    /// Hands what an ended process used to its parent.
    fn bury(&mut self, process: ProcessId) {
        let Some(member) = self.members.remove(&process) else {
            return;
        };
        match self.members.get_mut(&member.parent) {
            Some(parent) => parent.ended_children += member.cpu(),
            None => self.ended += member.cpu(),
        }
    }
}

impl Member {
    /// Its own time and that of its ended children: those that were seen, or, if it is more (some
    /// were born and ended between two samples), those that it waited for.
    fn cpu(&self) -> u64 {
        self.own + self.ended_children.max(self.waited.saturating_sub(self.waited_before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
