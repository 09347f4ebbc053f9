//! The start of the target: process, listening, first correct answer.

use std::net::TcpStream;

use gaugeblock_measurement::{UnixNanos, plan::ReadyProbe, sampler::Start};
use rustix::event::PollFlags;

use crate::{
    answer::Question,
    clock,
    kernel_file::Buffer,
    listener::{Listeners, reachable_address},
    notes::Notes,
    process::{Proc, ProcessId},
};

/// The process whose start is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Began {
    /// Its number.
    pub process: ProcessId,
    /// When it began, as near as it can be told.
    pub at: UnixNanos,
    /// Whether the sampler was watching before.
    pub watched: bool,
    /// Whether it runs in this machine's own network (local mode) instead of a pod's.
    pub local: bool,
}

/// One start being timed.
#[derive(Debug)]
pub struct Starting {
    began: Began,
    port: u16,
    poll: u64,
    listeners: Listeners,
    listening: Option<UnixNanos>,
    question: Option<Question>,
    answering: Option<UnixNanos>,
    /// Until when it is looked at often (monotonic ns).
    patience: u64,
}

impl Starting {
    /// Begins to time; `poll` is the interval between two looks (ns).
    pub fn new(began: Began, port: u16, ready: &ReadyProbe, poll: u64, proc: &Proc) -> Self {
        Self {
            began,
            port,
            poll,
            listeners: Listeners::open(proc, began.process, port),
            listening: None,
            question: None,
            answering: None,
            patience: clock::monotonic().saturating_add(ready.time_out),
        }
    }

    /// The process that is timed.
    pub fn began(&self) -> Began {
        self.began
    }

    /// Whether it listens.
    pub fn is_listening(&self) -> bool {
        self.listening.is_some()
    }

    /// Whether all is known that is to be known, or the time allowed is over.
    pub fn is_over(&self) -> bool {
        self.answering.is_some() || self.port == 0 || clock::monotonic() > self.patience
    }

    /// One look. `members` are the target's processes, as far as their sockets may be looked at.
    pub fn look(&mut self, ready: &ReadyProbe, proc: &Proc, members: &[ProcessId], buffer: &mut Buffer, notes: &mut Notes) {
        if self.port == 0 || self.answering.is_some() {
            return;
        }
        if self.listening.is_none() {
            let Some(listener) = self.listeners.find(buffer) else { return };
            let seen = clock::now();
            if is_anothers(proc, members, listener.inode) {
                notes.add(format!("another process listens on port {}", self.port));
                return;
            }
            self.listening = Some(seen);
            match reachable_address(proc, self.began.process, listener, self.began.local) {
                Some(address) => self.question = Some(Question::new(address, self.port, ready, self.poll)),
                None => notes.add(format!(
                    "the target listens on {}:{} only, which nobody outside its pod can reach; let it listen on 0.0.0.0",
                    listener.address, self.port
                )),
            }
        }
        self.answering = self.question.as_mut().and_then(Question::step);
    }

    /// The socket to wait for, and for what.
    pub fn descriptor(&self) -> Option<(&TcpStream, PollFlags)> {
        if self.answering.is_some() { None } else { self.question.as_ref()?.descriptor() }
    }

    /// What was seen.
    pub fn finish(self, notes: &mut Notes) -> Start {
        if self.port != 0 && self.listening.is_none() {
            notes.add(if self.listeners.are_readable() {
                format!("nothing listened on port {} of the target", self.port)
            } else {
                "the target's /proc/PID/net/tcp cannot be read: when it listened is not known".into()
            });
        } else if self.answering.is_none()
            && let Some(question) = &self.question
        {
            notes.add(question.trouble());
        }
        Start {
            watched: self.began.watched,
            process: self.began.at,
            listening: self.listening,
            answering: self.answering,
            poll: self.poll,
        }
    }
}

/// Whether a socket is known to be another's: the open files of every member could be read, and it
/// is in none.
fn is_anothers(proc: &Proc, members: &[ProcessId], inode: u64) -> bool {
    let owned: Vec<Option<bool>> = members.iter().map(|member| proc.owns_socket(*member, inode)).collect();
    !owned.is_empty() && owned.iter().all(|owned| *owned == Some(false))
}
