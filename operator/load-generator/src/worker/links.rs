//! Opening, closing and reopening connections, and giving up requests that take too long.
//!
//! A peer that refuses or closes is not hammered: attempts that lead to no answer are spaced out,
//! each connection for itself.

use std::cmp::Reverse;

use gaugeblock_measurement::generator::ErrorKind;
use rustix::io::Errno;

use super::{Demand, Worker};
use crate::{
    clock::{self, MILLISECOND, SECOND},
    connection::State,
    tally::Outcome,
};

/// Connections being opened at once: fewer than any common accept backlog, beyond which SYNs are
/// dropped and resent only after a second.
const MOST_OPENING: u32 = 64;
/// Time allowed for opening a connection; a SYN that is not answered is resent after 1 and 3 s.
const CONNECT: u64 = 4 * SECOND;
/// First pause after a failure; each further one in a row doubles it.
const FIRST_PAUSE: u64 = MILLISECOND;
/// Shortest longest pause: with many connections it is longer, at 1,000 attempts per second.
const LONGEST_PAUSE: u64 = 100 * MILLISECOND;
/// When every attempt was refused for this long, the target is gone.
const GONE: u64 = 2 * SECOND;

impl Worker<'_> {
    /// Opens what is to be opened, gives up what is overdue, notes when the target is gone.
    pub(super) fn look_after_links(&mut self, now: u64) {
        while let Some(Reverse((at, index))) = self.closed.peek().copied() {
            if at > now || self.opening >= MOST_OPENING {
                break;
            }
            self.closed.pop();
            self.open_link(index, now);
        }
        if now >= self.next_expiry {
            self.expire(now);
        }
        if self.refused_since.is_some_and(|since| now - since >= GONE) {
            self.control.target_is_gone();
        }
    }

    fn open_link(&mut self, index: u32, now: u64) {
        let link = &mut self.links[index as usize];
        self.opening += 1;
        if let Err(error) = link.open(self.job.target, &self.poller, index, now) {
            self.not_opened(index, error);
        }
    }

    /// A connection is open.
    pub(super) fn opened(&mut self, index: u32) {
        let now = clock::monotonic();
        self.opening -= 1;
        self.open += 1;
        self.peak = self.peak.max(self.open);
        self.opened += u64::from(self.times.counts(now));
        self.refused_since = None;
        self.free(index, now);
    }

    /// A connection could not be opened.
    pub(super) fn not_opened(&mut self, index: u32, error: Errno) {
        let now = clock::monotonic();
        let link = &mut self.links[index as usize];
        let since = match link.state {
            State::Connecting(since) => since,
            State::Closed | State::Idle(_) | State::Busy(_) => now,
        };
        link.close();
        link.failures += 1;
        self.opening -= 1;
        let refused = matches!(error, Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN);
        if refused && self.open == 0 {
            self.refused_since.get_or_insert(now);
        }
        self.reopen_later(index, now);
        if matches!(self.demand, Demand::Closed) {
            self.lose(since, now, ErrorKind::Connect);
        }
    }

    /// Closes a connection, to be opened again.
    pub(super) fn close(&mut self, index: u32, now: u64) {
        let link = &mut self.links[index as usize];
        if let State::Idle(_) = link.state {
            self.idle.retain(|other| *other != index);
            if !link.answered {
                link.failures += 1;
            }
            if self.idle.is_empty() && matches!(self.demand, Demand::Open(_)) {
                self.none_idle_since.get_or_insert(now);
            }
        }
        let link = &mut self.links[index as usize];
        link.close();
        self.open -= 1;
        self.reopen_later(index, now);
    }

    fn reopen_later(&mut self, index: u32, now: u64) {
        let pause = match self.links[index as usize].failures {
            0 => 0,
            failures => {
                let longest = (self.links.len() as u64 * MILLISECOND).clamp(LONGEST_PAUSE, SECOND);
                (FIRST_PAUSE << (failures - 1).min(10)).min(longest)
            }
        };
        self.closed.push(Reverse((now + pause, index)));
    }

    /// Gives up requests and openings that take too long, and notes when to look again.
    fn expire(&mut self, now: u64) {
        let mut next = now + self.job.time_out.min(CONNECT);
        for index in 0..self.links.len() as u32 {
            match self.links[index as usize].state {
                State::Busy(under_way) => {
                    let limit = under_way.sent + self.job.time_out;
                    if limit <= now {
                        let outcome = Outcome::Failed(ErrorKind::TimeOut);
                        self.ended(index, now, outcome, false);
                    } else {
                        next = next.min(limit);
                    }
                }
                State::Connecting(since) => {
                    let limit = since + CONNECT;
                    if limit <= now {
                        self.not_opened(index, Errno::TIMEDOUT);
                    } else {
                        next = next.min(limit);
                    }
                }
                State::Closed | State::Idle(_) => {}
            }
        }
        self.next_expiry = next.max(now + MILLISECOND);
    }
}
