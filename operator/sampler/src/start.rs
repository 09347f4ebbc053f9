//! The start of the target: process, listening, first correct answer.

use std::net::{SocketAddr, TcpStream};

use gaugeblock_measurement::{SamplerPlan, UnixNanos, sampler::Start};
use rustix::event::PollFlags;

use crate::{
    answer::Question,
    clock::{self, MILLISECOND, SECOND},
    door::{Door, Knock},
    kernel_file::Buffer,
    listener::{Listeners, addresses},
    notes::Notes,
    process::{Proc, ProcessId},
};

/// Time between two readings of the table of sockets, which finds what no connection can (ns).
const TABLE: u64 = 250 * MILLISECOND;

/// Time that an answer may take before it is made sure whose it will be (ns).
const DOUBT: u64 = 100 * MILLISECOND;

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
    doors: Vec<Door>,
    listeners: Listeners,
    table_due: u64,
    listening: Option<UnixNanos>,
    question: Option<Question>,
    answering: Option<UnixNanos>,
    /// When (monotonic ns) to make sure at the latest that it is the target that listens.
    doubt: Option<u64>,
    /// Until when it is looked at often (monotonic ns).
    patience: u64,
}

impl Starting {
    /// Begins to time.
    pub fn new(began: Began, plan: &SamplerPlan, proc: &Proc) -> Self {
        let now = clock::monotonic();
        Self {
            began,
            port: plan.port,
            poll: plan.start_poll,
            doors: addresses(proc, began.process, began.local)
                .into_iter()
                .map(|address| Door::new(SocketAddr::new(address, plan.port)))
                .collect(),
            listeners: Listeners::open(proc, began.process, plan.port),
            table_due: now.saturating_add(TABLE),
            listening: None,
            question: None,
            answering: None,
            doubt: None,
            patience: now.saturating_add(plan.ready.time_out),
        }
    }

    /// The process that is timed.
    pub fn began(&self) -> Began {
        self.began
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
        mut owns: impl FnMut(u64) -> Option<bool>,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) {
        if self.port == 0 || self.answering.is_some() {
            return;
        }
        if self.listening.is_none() {
            self.knock(plan);
        }
        if self.listening.is_none() && clock::monotonic() >= self.table_due {
            self.read_table(plan, &mut owns, buffer, notes);
            self.table_due = clock::monotonic().saturating_add(TABLE);
        }
        self.answering = self.question.as_mut().and_then(Question::step);
        // Reading the table takes longer than an answer: not while one is awaited.
        if self.doubt.is_some_and(|due| self.answering.is_some() || clock::monotonic() > due) {
            self.verify(&mut owns, buffer, notes);
        }
        if self.answering.is_some() && clock::monotonic() > self.patience {
            // It is looked at only with the samples by then.
            self.poll = plan.interval;
        }
    }

    /// The socket to wait for, and for what.
    pub fn descriptor(&self) -> Option<(&TcpStream, PollFlags)> {
        match (self.answering, &self.question) {
            (Some(_), _) => None,
            (None, Some(question)) => question.descriptor(),
            (None, None) => Some((self.doors.iter().find_map(Door::trying)?, PollFlags::OUT)),
        }
    }

    /// What was seen.
    pub fn finish(self, notes: &mut Notes) -> Start {
        if self.port != 0 && self.listening.is_none() {
            notes.add(format!("nothing listened on port {} of the target", self.port));
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

    fn knock(&mut self, plan: &SamplerPlan) {
        let now = clock::monotonic();
        let opened = self.doors.iter_mut().find_map(|door| match door.knock(now) {
            Knock::Open(stream) => Some((door.address, stream)),
            Knock::Waiting | Knock::Closed(_) => None,
        });
        let Some((address, stream)) = opened else { return };
        self.listening = Some(clock::now());
        self.question = Some(Question::new(address, Some(stream), &plan.ready, plan.start_poll));
        // In a pod's own network nobody else listens; on this machine a process of the last run might.
        self.doubt = self.began.local.then(|| now.saturating_add(DOUBT));
    }

    /// Makes sure that it is the target that listens, and takes back what was seen of another.
    fn verify(&mut self, owns: &mut impl FnMut(u64) -> Option<bool>, buffer: &mut Buffer, notes: &mut Notes) {
        self.doubt = None;
        let listeners = self.listeners.find(buffer);
        if !listeners.is_empty() && listeners.iter().all(|listener| owns(listener.inode) == Some(false)) {
            notes.add(format!("another process than the target listens on port {}", self.port));
            // From here on only the table can tell.
            self.doors.clear();
            (self.listening, self.question, self.answering) = (None, None, None);
        }
    }

    /// Looks for a target that listens where the doors are not, or cannot be reached.
    fn read_table(
        &mut self,
        plan: &SamplerPlan,
        owns: &mut impl FnMut(u64) -> Option<bool>,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) {
        let listeners = self.listeners.find(buffer);
        let seen = clock::now();
        let Some(listener) = listeners.into_iter().find(|listener| owns(listener.inode) != Some(false)) else {
            return;
        };
        self.listening = Some(seen);
        let door = self.doors.first().map(|door| door.address.ip());
        match listener.reachable(self.began.local).or(door.filter(|_| listener.address.is_unspecified())) {
            Some(address) => {
                let address = SocketAddr::new(address, self.port);
                self.question = Some(Question::new(address, None, &plan.ready, plan.start_poll));
            }
            None => notes.add(format!(
                "the target listens on {}:{}, where nobody outside its pod can reach it; let it listen on 0.0.0.0",
                listener.address, self.port
            )),
        }
        if self.doors.iter().all(|door| listener.reachable(self.began.local) != Some(door.address.ip()))
            && !listener.address.is_unspecified()
        {
            // Its own address was not knocked at: it was seen only as often as the table is read.
            self.poll = TABLE;
        }
    }
}
