//! What one worker counted.
//!
//! A request belongs to the window if it was *intended* inside it, whenever its answer comes: a
//! target that stalls over the window's end cannot push its slow answers out of it, and one that
//! was slow before does not push its own in. Rates and the number under way are of the window's
//! time instead, whichever requests they come from, as a target's capacity is.

use gaugeblock_measurement::{
    Histogram,
    generator::{ErrorKind, RequestRecord},
};

use crate::clock::SECOND;

/// Monotonic times (ns) of one scenario, the same for all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Load begins: start of the warm-up.
    pub start: u64,
    /// Start of the window.
    pub open: u64,
    /// End of the window.
    pub close: u64,
    /// Latest time at which an answer to a request of the window still counts.
    pub end: u64,
}

impl Times {
    /// Whether a request intended at `intended` belongs to the window.
    pub fn counts(&self, intended: u64) -> bool {
        self.open <= intended && intended < self.close
    }

    /// How much of the span from `from` to `to` lies in the window (ns).
    pub fn inside(&self, from: u64, to: u64) -> u64 {
        to.min(self.close).saturating_sub(from.max(self.open))
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The right answer.
    Correct,
    /// A whole answer with another status than expected.
    WrongStatus(u16),
    /// A whole answer with another content than expected.
    WrongContent,
    /// No whole answer.
    Failed(ErrorKind),
}

/// One request that has ended; times are monotonic nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Index of the request in the mix.
    pub request: usize,
    /// When it was meant to be sent.
    pub intended: u64,
    /// When it was sent; `None` if it never was.
    pub sent: Option<u64>,
    /// When it ended.
    pub at: u64,
    /// How.
    pub outcome: Outcome,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

/// The counts of one worker in one scenario.
#[derive(Debug)]
pub struct Tally {
    times: Times,
    time_out: u64,
    /// In a closed loop service and response are the same: recorded once.
    closed: bool,
    /// By index in the mix.
    pub requests: Vec<RequestRecord>,
    /// See [`Tally::lateness`].
    pub lateness: Histogram,
    /// Answers that came inside the window, right or wrong, whenever they were asked for.
    pub answers: u64,
    /// Time that requests of any kind were under way inside the window, summed over them (ns).
    pub under_way: u64,
    /// When the last request of the window ended (monotonic ns).
    pub last: u64,
    /// Answers and errors per second since the load began, up to the window's end.
    pub timeline: Vec<[u64; 2]>,
    /// Answers, right or wrong, since the load began.
    pub total_answers: u64,
    /// Errors of any kind since the load began.
    pub total_errors: u64,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(names: impl Iterator<Item = String>, times: Times, time_out: u64, closed: bool) -> Self {
        Self {
            times,
            time_out,
            closed,
            requests: names.map(|name| RequestRecord { name, ..RequestRecord::default() }).collect(),
            lateness: Histogram::new(),
            answers: 0,
            under_way: 0,
            last: times.close,
            timeline: Vec::new(),
            total_answers: 0,
            total_errors: 0,
        }
    }

    /// Records how late the generator itself was: `possible` is when the request could first have
    /// been sent, the later of its intended time and the time its connection became free. Waiting
    /// for a busy connection is the target's doing and is in the response time only.
    pub fn lateness(&mut self, intended: u64, possible: u64, sent: u64) {
        if self.times.counts(intended) {
            self.lateness.record(sent.saturating_sub(possible));
        }
    }

    /// Counts a request that has ended.
    pub fn ended(&mut self, ended: &Ended) {
        let mut outcome = ended.outcome;
        let response = ended.at.saturating_sub(ended.intended);
        let is_answer = !matches!(outcome, Outcome::Failed(_));
        // An answer that came after the limit, counted from the intended time, came too late: its
        // user had given up. The connection is used on all the same.
        if is_answer && response > self.time_out {
            outcome = Outcome::Failed(ErrorKind::TimeOut);
        }
        self.over_time(ended, is_answer, outcome == Outcome::Correct);
        if !self.times.counts(ended.intended) {
            return;
        }
        self.last = self.last.max(ended.at);
        let record = &mut self.requests[ended.request];
        if ended.sent.is_some() {
            record.sent += 1;
            record.bytes_sent += ended.bytes_sent;
            record.bytes_received += ended.bytes_received;
        }
        let kind = match outcome {
            Outcome::Correct => {
                record.correct += 1;
                let sent = ended.sent.unwrap_or(ended.intended);
                record.service.record(ended.at.saturating_sub(sent));
                if !self.closed {
                    record.response.record(response);
                }
                return;
            }
            Outcome::WrongStatus(status) => {
                *record.statuses.entry(status).or_default() += 1;
                ErrorKind::Status
            }
            Outcome::WrongContent => ErrorKind::Check,
            Outcome::Failed(kind) => kind,
        };
        *record.errors.entry(kind).or_default() += 1;
        if kind == ErrorKind::TimeOut {
            record.response.record(response.min(self.time_out));
        } else {
            record.failed.record(response);
        }
    }

    fn over_time(&mut self, ended: &Ended, is_answer: bool, correct: bool) {
        if is_answer {
            self.total_answers += 1;
        }
        if !correct {
            self.total_errors += 1;
        }
        if let Some(sent) = ended.sent {
            self.under_way += self.times.inside(sent, ended.at);
        }
        if ended.at < self.times.start || ended.at >= self.times.close {
            return;
        }
        if is_answer && ended.at >= self.times.open {
            self.answers += 1;
        }
        let second = ((ended.at - self.times.start) / SECOND) as usize;
        if second >= self.timeline.len() {
            self.timeline.resize(second + 1, [0, 0]);
        }
        self.timeline[second][0] += u64::from(is_answer);
        self.timeline[second][1] += u64::from(!correct);
    }

    /// Counts a request that is still under way when counting stops early: only the time it took.
    pub fn abandoned(&mut self, sent: u64, at: u64) {
        self.under_way += self.times.inside(sent, at);
    }

    /// Completes the histograms once everything has ended.
    pub fn finish(&mut self) {
        if self.closed {
            for record in &mut self.requests {
                record.response.merge(&record.service);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { start: 0, open: SECOND, close: 3 * SECOND, end: 4 * SECOND };

    fn tally(closed: bool) -> Tally {
        Tally::new(std::iter::once("a".to_owned()), TIMES, SECOND, closed)
    }

    fn correct(intended: u64, sent: u64, at: u64) -> Ended {
        Ended {
            request: 0,
            intended,
            sent: Some(sent),
            at,
            outcome: Outcome::Correct,
            bytes_sent: 10,
            bytes_received: 100,
        }
    }

    #[test]
    fn a_request_belongs_to_the_window_that_it_was_intended_in() {
        let mut tally = tally(false);
        tally.ended(&correct(SECOND - 1, SECOND - 1, SECOND + 1));
        assert_eq!(tally.requests[0].sent, 0, "intended before");
        tally.ended(&correct(3 * SECOND - 1, 3 * SECOND, 3 * SECOND + 500));
        assert_eq!(tally.requests[0].correct, 1, "answered after");
        tally.ended(&correct(3 * SECOND, 3 * SECOND, 3 * SECOND + 1));
        assert_eq!(tally.requests[0].correct, 1, "intended after");
        assert_eq!(tally.answers, 1, "only the first answer came inside");
    }

    #[test]
    fn response_counts_from_the_intended_time_and_service_from_the_send() {
        let mut tally = tally(false);
        tally.ended(&correct(SECOND, SECOND + 400_000, SECOND + 1_000_000));
        let record = &tally.requests[0];
        assert!((record.response.max().unwrap() - 0.001).abs() < 1e-6);
        assert!((record.service.max().unwrap() - 0.0006).abs() < 1e-6);
    }

    #[test]
    fn time_outs_count_at_their_limit_and_late_answers_are_time_outs() {
        let mut tally = tally(false);
        tally.ended(&correct(SECOND, SECOND + 1, SECOND * 5 / 2));
        tally.ended(&Ended { outcome: Outcome::Failed(ErrorKind::TimeOut), ..correct(SECOND, SECOND + 1, 3 * SECOND) });
        let record = &tally.requests[0];
        assert_eq!(record.correct, 0);
        assert_eq!(record.errors[&ErrorKind::TimeOut], 2);
        assert_eq!(record.response.count(), 2);
        assert!((record.response.max().unwrap() - 1.0).abs() < 1e-3);
        assert_eq!(tally.answers, 1, "a late answer is an answer: the target's capacity");
    }

    #[test]
    fn the_number_under_way_is_integrated_over_the_window_alone() {
        let mut tally = tally(true);
        tally.ended(&correct(0, 0, 2 * SECOND));
        tally.ended(&correct(2 * SECOND, 2 * SECOND, 3 * SECOND + SECOND / 2));
        assert_eq!(tally.under_way, 2 * SECOND);
    }

    #[test]
    fn a_closed_loop_records_once_and_reports_both() {
        let mut tally = tally(true);
        tally.ended(&correct(SECOND, SECOND, SECOND + 1_000));
        tally.finish();
        assert_eq!(tally.requests[0].response, tally.requests[0].service);
    }

    #[test]
    fn the_timeline_has_a_row_per_second() {
        let mut tally = tally(false);
        tally.ended(&correct(0, 0, 1));
        tally.ended(&correct(0, 0, 2 * SECOND + 1));
        tally.ended(&Ended { outcome: Outcome::WrongStatus(500), ..correct(0, 0, 2 * SECOND + 2) });
        assert_eq!(tally.timeline, [[1, 0], [0, 0], [2, 2]]);
    }
}
