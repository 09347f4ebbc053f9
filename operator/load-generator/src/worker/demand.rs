//! Sending requests when they are due, and counting how they end.

use gaugeblock_measurement::{generator::ErrorKind, plan::LoadPlan};

use super::{Demand, Job, Worker};
use crate::{
    clock,
    connection::{Received, State, UnderWay},
    random::{Random, Stream},
    schedule::Schedule,
    tally::{Ended, Outcome},
};

/// Requests sent in a row before answers are looked at again.
const BURST: u32 = 16;
/// Requests given up in a row before answers are looked at again.
const LOST_BURST: u32 = 1_024;

impl Worker<'_> {
    /// The load begins.
    pub(super) fn begin(&mut self) {
        match self.job.load {
            LoadPlan::Closed { .. } => {
                self.demand = Demand::Closed;
                self.none_idle_since = Some(self.times.start);
                while let Some(index) = self.idle.pop_front() {
                    self.send(index, None);
                }
            }
            LoadPlan::Open { rate_millis, arrivals, connections: _ } => {
                let Job { seed, scenario, worker, workers, .. } = self.job;
                let random = Random::new(seed, scenario, worker.into(), Stream::Arrivals);
                self.none_idle_since = self.idle.is_empty().then_some(self.times.start);
                self.demand =
                    Demand::Open(Schedule::new(self.times.start, rate_millis, arrivals, worker, workers, random));
            }
        }
    }

    /// Sends what is due, as far as there are free connections. Says whether anything was.
    pub(super) fn send_due(&mut self, mut now: u64) -> bool {
        let (mut sent, mut lost) = (0, 0);
        while sent < BURST && lost < LOST_BURST {
            let Demand::Open(schedule) = &mut self.demand else {
                break;
            };
            let due = schedule.next();
            if due > now {
                break;
            }
            if let Some(index) = self.idle.pop_front() {
                schedule.advance();
                now = self.send(index, Some(due));
                sent += 1;
                if self.idle.is_empty() {
                    self.none_idle_since = Some(now);
                }
                continue;
            }
            let kind = if self.refused_since.is_some() {
                ErrorKind::Connect
            } else if now - due > self.job.time_out {
                ErrorKind::TimeOut
            } else {
                break;
            };
            schedule.advance();
            self.lose(due, now, kind);
            lost += 1;
        }
        sent + lost > 0
    }

    /// Draws the next request of the mix and sends it on a free connection: at its due time, or now
    /// in a closed loop. Returns the time of sending.
    pub(super) fn send(&mut self, index: u32, due: Option<u64>) -> u64 {
        let requests = self.job.requests;
        let request = requests.mix.choose(&mut self.random);
        let Some(plan) = requests.requests.get(request) else {
            return clock::monotonic();
        };
        let bytes = plan.bytes(&mut self.random, &mut self.scratch);
        let link = &mut self.links[index as usize];
        let sent = clock::monotonic();
        let intended = due.unwrap_or(sent);
        if due.is_none() && sent >= self.times.end {
            return sent;
        }
        if let (Some(due), State::Idle(since)) = (due, link.state) {
            self.tally.lateness(due, due.max(since), sent);
        }
        self.counted += u32::from(self.times.counts(intended));
        let under_way = UnderWay { request, intended, sent, bytes: bytes.len() as u64, closes: plan.closes };
        if link.request(bytes, plan.is_head, under_way).is_err() {
            self.broken(index);
        }
        sent
    }

    /// A request that was never sent. It is drawn all the same, so that the sequence of requests
    /// depends on the seed alone.
    pub(super) fn lose(&mut self, intended: u64, at: u64, kind: ErrorKind) {
        let requests = self.job.requests;
        let request = requests.mix.choose(&mut self.random);
        if let Some(plan) = requests.requests.get(request) {
            plan.bytes(&mut self.random, &mut self.scratch);
            self.tally.ended(&Ended {
                request,
                intended,
                sent: None,
                at,
                outcome: Outcome::Failed(kind),
                bytes_sent: 0,
                bytes_received: 0,
            });
        }
    }

    /// Reads what came on a connection until the kernel has no more.
    pub(super) fn receive(&mut self, index: u32, hung_up: bool) {
        loop {
            let link = &mut self.links[index as usize];
            let expectation = match link.state {
                State::Busy(under_way) => {
                    self.job.requests.requests.get(under_way.request).map(|request| &request.expectation)
                }
                State::Idle(_) => None,
                State::Closed | State::Connecting(_) => return,
            };
            let drained = match link.receive(&mut self.buffer, expectation) {
                Received::Nothing => return,
                Received::Something { drained } => drained,
                Received::Whole { drained, reusable } => {
                    let at = clock::monotonic();
                    let outcome = match expectation {
                        Some(expectation) => link.judge(expectation),
                        None => Outcome::Failed(ErrorKind::Protocol),
                    };
                    self.ended(index, at, outcome, reusable && !hung_up);
                    drained
                }
                Received::Malformed(_) => {
                    let outcome = Outcome::Failed(ErrorKind::Protocol);
                    return self.ended(index, clock::monotonic(), outcome, false);
                }
                Received::Broken => return self.broken(index),
            };
            // A short read means an empty socket, unless the end is still to be read.
            if drained && !hung_up {
                return;
            }
        }
    }

    /// The connection broke, whatever it was doing.
    pub(super) fn broken(&mut self, index: u32) {
        let outcome = Outcome::Failed(ErrorKind::Reset);
        self.ended(index, clock::monotonic(), outcome, false);
    }

    /// The request under way has ended, if there is one; the connection goes on or is closed.
    pub(super) fn ended(&mut self, index: u32, at: u64, outcome: Outcome, reusable: bool) {
        let link = &mut self.links[index as usize];
        let State::Busy(under_way) = link.state else {
            return self.close(index, at);
        };
        if matches!(outcome, Outcome::Failed(_)) {
            link.failures += 1;
        } else {
            link.failures = 0;
            link.answered = true;
        }
        self.counted -= u32::from(self.times.counts(under_way.intended));
        self.tally.ended(&Ended {
            request: under_way.request,
            intended: under_way.intended,
            sent: Some(under_way.sent),
            at,
            outcome,
            bytes_sent: under_way.bytes,
            bytes_received: link.bytes_received(),
        });
        if reusable && !under_way.closes {
            self.free(index, at);
        } else {
            self.close(index, at);
        }
    }

    /// The connection is free.
    pub(super) fn free(&mut self, index: u32, at: u64) {
        self.links[index as usize].state = State::Idle(at);
        match &self.demand {
            Demand::Closed => {
                self.send(index, None);
            }
            Demand::Open(schedule) => {
                let is_due = schedule.next() <= at;
                self.note_none_idle(at);
                self.idle.push_back(index);
                if is_due {
                    self.send_due(at);
                }
            }
            Demand::Waiting => self.idle.push_back(index),
        }
    }

    /// Adds the time without an idle connection that has just come to its end.
    pub(super) fn note_none_idle(&mut self, now: u64) {
        if let Some(since) = self.none_idle_since.take() {
            self.none_idle += self.times.inside(since, now);
        }
    }

    /// What is unanswered when the time is up is as old as it is: a time-out at its age, so that it
    /// cannot vanish at the window's end. After an early stop it is neither right nor wrong.
    pub(super) fn give_up_unanswered(&mut self, now: u64, stopped: bool) {
        let at = now.min(self.times.end);
        for index in 0..self.links.len() {
            let State::Busy(under_way) = self.links[index].state else {
                continue;
            };
            if stopped {
                self.tally.abandoned(under_way.sent, now);
            } else if self.times.counts(under_way.intended) {
                self.tally.ended(&Ended {
                    request: under_way.request,
                    intended: under_way.intended,
                    sent: Some(under_way.sent),
                    at,
                    outcome: Outcome::Failed(ErrorKind::TimeOut),
                    bytes_sent: under_way.bytes,
                    bytes_received: self.links[index].bytes_received(),
                });
            } else {
                self.tally.abandoned(under_way.sent, at);
            }
        }
        if stopped {
            return;
        }
        while let Demand::Open(schedule) = &mut self.demand {
            let intended = schedule.next();
            if intended >= self.times.close {
                break;
            }
            schedule.advance();
            self.lose(intended, at, ErrorKind::TimeOut);
        }
    }
}
