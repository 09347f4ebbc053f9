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

/// The same where connections tell nothing: they are swallowed (a network policy), or another's (ns).
const TABLE_ALONE: u64 = 20 * MILLISECOND;
/// Time that an answer may take before it is made sure whose it will be (ns).
const DOUBT: u64 = 100 * MILLISECOND;

/// How many times the shortest interval the one between two looks may become.
const SLOWEST: u64 = 4;
/// Each how many looks the second address is tried as well: IPv6 beside IPv4.
const OTHER_DOORS: u64 = 4;

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
    /// Shortest interval between two looks (ns), and the one that the result was found with.
    poll: u64,
    resolution: u64,
    doors: Vec<Door>,
    knocks: u64,
    /// Whether it was another process that opened.
    anothers: bool,
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
            resolution: plan.start_poll,
            doors: addresses(proc, began.process, began.local)
                .into_iter()
                .map(|address| Door::new(SocketAddr::new(address, plan.port)))
                .collect(),
            knocks: 0,
            anothers: false,
            listeners: Listeners::open(proc, began.process, plan.port),
            table_due: now.saturating_add(TABLE_ALONE),
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
        let nobody_to_ask = self.listening.is_some() && self.question.is_none();
        self.answering.is_some() || nobody_to_ask || self.port == 0 || clock::monotonic() > self.patience
    }

    /// Time until the next look (ns): a start that takes long is looked at less often, but often enough
    /// to tell it to 5 ms.
    pub fn pace(&self) -> u64 {
        let seconds = clock::now().since(self.began.at).max(0) as u64 / SECOND;
        self.poll.saturating_mul((1 + seconds).min(SLOWEST))
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
        let pace = self.pace();
        if self.listening.is_none() && !self.anothers {
            self.knock(plan);
        }
        if self.listening.is_none() && clock::monotonic() >= self.table_due {
            self.read_table(plan, &mut owns, buffer, notes);
            self.table_due = clock::monotonic().saturating_add(self.table_pause());
        }
        self.answering = self.question.as_mut().and_then(Question::step);
        // Reading the table takes longer than an answer: not while one is awaited.
        if self.doubt.is_some_and(|due| self.answering.is_some() || clock::monotonic() > due) {
            self.verify(&mut owns, buffer, notes);
        }
        if self.answering.is_some() {
            // After that time it is looked at only with the samples.
            self.resolution =
                if clock::monotonic() > self.patience { plan.interval } else { pace.max(self.resolution) };
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
            poll: self.resolution,
        }
    }

    fn knock(&mut self, plan: &SamplerPlan) {
        let now = clock::monotonic();
        self.knocks += 1;
        // The first door is the one that nearly all targets open.
        let doors = if self.knocks.is_multiple_of(OTHER_DOORS) { self.doors.len() } else { 1 };
        let opened = self.doors.iter_mut().take(doors).find_map(|door| match door.knock(now) {
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
            self.anothers = true;
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
            None if listener.address.is_unspecified() => {
                notes.add("the target's pod has no address of its own: its first answer is not timed");
            }
            None => notes.add(format!(
                "the target listens on {}:{}, where nobody outside its pod can reach it; let it listen on 0.0.0.0",
                listener.address, self.port
            )),
        }
        let knocked =
            listener.address.is_unspecified() || self.doors.iter().any(|door| door.address.ip() == listener.address);
        if !knocked || self.table_pause() < TABLE {
            // No connection could have told it sooner.
            self.resolution = self.table_pause();
        }
    }

    fn table_pause(&self) -> u64 {
        if !self.anothers && self.doors.iter().any(Door::refuses) { TABLE } else { TABLE_ALONE }
    }
}
