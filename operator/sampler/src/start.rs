//! The start of the target: process, listening, first correct answer.

use std::net::TcpStream;

use gaugeblock_measurement::{SamplerPlan, UnixNanos, sampler::Start};
use rustix::event::PollFlags;

use crate::{
    answer::Question,
    clock::{self, SECOND},
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
    /// Begins to time.
    pub fn new(began: Began, plan: &SamplerPlan, proc: &Proc) -> Self {
        Self {
            began,
            port: plan.port,
            poll: plan.start_poll,
            listeners: Listeners::open(proc, began.process, plan.port),
            listening: None,
            question: None,
            answering: None,
            patience: clock::monotonic().saturating_add(plan.ready.time_out),
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

    /// Whether it has answered rightly.
    pub fn is_answering(&self) -> bool {
        self.answering.is_some()
    }

    /// Whether there is time for other things: it is over, or has been listening for a second.
    pub fn is_settled(&self) -> bool {
        self.is_over() || self.listening.is_some_and(|since| clock::now().since(since) > SECOND as i64)
    }

    /// Whether all is known that is to be known, or the time allowed is over.
    pub fn is_over(&self) -> bool {
        self.answering.is_some() || self.port == 0 || clock::monotonic() > self.patience
    }

    /// One look. `owns` tells whether the target has a socket open, as far as that may be looked at.
    pub fn look(
        &mut self,
        plan: &SamplerPlan,
        proc: &Proc,
        owns: impl FnMut(u64) -> Option<bool>,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) {
        if self.port == 0 || self.answering.is_some() {
            return;
        }
        if self.listening.is_none() {
            self.look_for_listener(plan, proc, owns, buffer, notes);
        }
        self.answering = self.question.as_mut().and_then(Question::step);
        if self.answering.is_some() && clock::monotonic() > self.patience {
            // It is looked at only with the samples by then.
            self.poll = plan.interval;
        }
    }

    fn look_for_listener(
        &mut self,
        plan: &SamplerPlan,
        proc: &Proc,
        mut owns: impl FnMut(u64) -> Option<bool>,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) {
        let listeners = self.listeners.find(buffer);
        if listeners.is_empty() {
            return;
        }
        let seen = clock::now();
        let Some(listener) = listeners.into_iter().find(|listener| owns(listener.inode) != Some(false)) else {
            notes.add(format!("another process than the target listens on port {}", self.port));
            return;
        };
        self.listening = Some(seen);
        match reachable_address(proc, self.began.process, listener, self.began.local) {
            Some(address) => self.question = Some(Question::new(address, self.port, &plan.ready, plan.start_poll)),
            None => notes.add(format!(
                "the target listens on {}:{} only, which nobody outside its pod can reach; let it listen on 0.0.0.0",
                listener.address, self.port
            )),
        }
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
