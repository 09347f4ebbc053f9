//! One worker's sessions with Postgres. Nothing here waits: a session tells by its readiness when to go on.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};

use bytes::{Buf, BytesMut};
use postgres_protocol::message::backend::Message;

use super::query::{Query, Row};
use super::session::reason;
use crate::token::ConnectionToken;

/// What became of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The row, as read or as updated.
    Row(Row),
    /// There is no such row.
    Missing,
    /// The server refused, in its words.
    Refused(String),
    /// There is no session, or it broke.
    Unavailable,
}

/// A query and the connection that waits for it.
#[derive(Debug)]
struct Job {
    asker: ConnectionToken,
    query: Query,
}

struct Session {
    stream: File,
    input: BytesMut,
    output: BytesMut,
    asker: Option<ConnectionToken>,
    outcome: Option<Outcome>,
}

/// The sessions of one worker and the queries that wait for one. The longest idle session is taken first.
#[derive(Default)]
pub struct Pool {
    sessions: Vec<Option<Session>>,
    idle: VecDeque<usize>,
    waiting: VecDeque<Job>,
}

/// What a session's readiness led to.
#[derive(Default)]
pub struct Progress {
    /// Queries that ended.
    pub ended: Vec<(ConnectionToken, Outcome)>,
    /// How many sessions broke and must be replaced.
    pub broken: usize,
}

impl Pool {
    /// The place that the next session will take.
    pub fn next_place(&self) -> usize {
        self.sessions.iter().position(Option::is_none).unwrap_or(self.sessions.len())
    }

    /// Takes in an open session whose stream does not block.
    pub fn add(&mut self, stream: File) -> Progress {
        let session = Session { stream, input: BytesMut::new(), output: BytesMut::new(), asker: None, outcome: None };
        let place = self.next_place();
        if place == self.sessions.len() {
            self.sessions.push(Some(session));
        } else {
            self.sessions[place] = Some(session);
        }
        self.idle.push_back(place);
        self.dispatch()
    }

    /// Asks `query` for `asker`, at once or when a session is free; unavailable when there is none at all.
    pub fn ask(&mut self, asker: ConnectionToken, query: Query) -> Progress {
        if self.sessions.iter().all(Option::is_none) {
            return Progress { ended: vec![(asker, Outcome::Unavailable)], broken: 0 };
        }
        self.waiting.push_back(Job { asker, query });
        self.dispatch()
    }

    /// Goes on with the session at `place`, which is ready to be read or written.
    pub fn go_on(&mut self, place: usize) -> Progress {
        let mut progress = Progress::default();
        let Some(Some(session)) = self.sessions.get_mut(place) else {
            return progress;
        };
        match session.go_on() {
            Ok(Some(ended)) => {
                progress.ended.push(ended);
                self.idle.push_back(place);
            }
            Ok(None) => {}
            Err(_) => self.drop_session(place, &mut progress),
        }
        let more = self.dispatch();
        progress.ended.extend(more.ended);
        progress.broken += more.broken;
        progress
    }

    /// Gives waiting queries to idle sessions.
    fn dispatch(&mut self) -> Progress {
        let mut progress = Progress::default();
        while let Some(job) = self.waiting.pop_front() {
            let Some(place) = self.idle.pop_front() else {
                self.waiting.push_front(job);
                break;
            };
            let Some(Some(session)) = self.sessions.get_mut(place) else {
                self.waiting.push_front(job);
                continue;
            };
            session.asker = Some(job.asker);
            let sent = job.query.write(&mut session.output).and_then(|()| session.flush());
            if sent.is_err() {
                self.drop_session(place, &mut progress);
            }
        }
        progress
    }

    /// Forgets a broken session; without any left, nobody waits in vain.
    fn drop_session(&mut self, place: usize, progress: &mut Progress) {
        progress.broken += 1;
        self.idle.retain(|&idle| idle != place);
        let asker = self.sessions[place].take().and_then(|session| session.asker);
        progress.ended.extend(asker.map(|asker| (asker, Outcome::Unavailable)));
        if self.sessions.iter().all(Option::is_none) {
            let waiting = self.waiting.drain(..).map(|job| (job.asker, Outcome::Unavailable));
            progress.ended.extend(waiting);
        }
    }
}

impl Session {
    /// Writes and reads what can be; the query's outcome when it has ended.
    fn go_on(&mut self) -> std::io::Result<Option<(ConnectionToken, Outcome)>> {
        self.flush()?;
        let mut part = [0; 16 << 10];
        // To the very end, as readiness is told once: a server that answers and hangs up must be noticed.
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.input.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut ended = None;
        while let Some(message) = Message::parse(&mut self.input)? {
            match message {
                Message::DataRow(row) => self.outcome = Row::read(&row).map(Outcome::Row),
                Message::ErrorResponse(error) => {
                    self.outcome = Some(Outcome::Refused(reason(&error)));
                }
                Message::ReadyForQuery(_) => {
                    let outcome = self.outcome.take().unwrap_or(Outcome::Missing);
                    ended = self.asker.take().map(|asker| (asker, outcome));
                }
                _ => {}
            }
        }
        Ok(ended)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        while self.output.has_remaining() {
            match self.stream.write(&self.output) {
                Ok(length) => self.output.advance(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
