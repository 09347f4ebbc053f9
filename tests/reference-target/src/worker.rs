//! One worker: an epoll loop that serves its connections and runs their queries, and never sleeps elsewhere
//! unless a knob makes it stall.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use crate::burner::Burner;
use crate::connection::{Connection, Io, Owed};
use crate::database::connector;
use crate::database::pool::{self, Pool};
use crate::http::answer::{self, Answer, Form, Status};
use crate::http::request::{self, Malformed, Progress};
use crate::inbox::Parcel;
use crate::service::{Handled, Reply, Service, answer_of};
use crate::table::Table;
use crate::token::{ConnectionToken, Token};

/// Exit code when the knobs end the process.
const EXIT_CODE_OF_KNOB: i32 = 3;
/// Most events taken at a time.
const MOST_EVENTS: usize = 256;

/// One worker.
pub struct Worker {
    service: Arc<Service>,
    index: usize,
    epoll: OwnedFd,
    /// The first worker listens and deals the connections out.
    listener: Option<TcpListener>,
    turn: usize,
    connections: Table<Connection>,
    pool: Pool,
    /// Connections that got the answer they waited for.
    answered: Vec<ConnectionToken>,
    burner: Burner,
}

impl Worker {
    /// Worker number `index`, with the listener if it is the first.
    pub fn new(service: Arc<Service>, index: usize, listener: Option<TcpListener>) -> rustix::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &service.inboxes[index], data(Token::Inbox), EventFlags::IN)?;
        if let Some(listener) = &listener {
            epoll::add(&epoll, listener, data(Token::Listener), EventFlags::IN)?;
        }
        Ok(Self {
            service,
            index,
            epoll,
            listener,
            turn: 0,
            connections: Table::default(),
            pool: Pool::default(),
            answered: Vec::new(),
            burner: Burner::default(),
        })
    }

    /// Serves until the process ends or the kernel refuses.
    pub fn run(mut self) -> rustix::io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(MOST_EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            self.stall();
            for event in &events {
                if let Some(token) = Token::decode(event.data.u64()) {
                    self.react(token, event.flags);
                }
                while let Some(token) = self.answered.pop() {
                    self.go_on(token);
                }
            }
        }
    }

    fn react(&mut self, token: Token, flags: EventFlags) {
        match token {
            Token::Listener => self.accept(),
            Token::Inbox => self.open_parcels(),
            Token::Session(place) => {
                let progress = self.pool.go_on(place as usize);
                self.settle(progress);
            }
            Token::Connection(token) => {
                if let Some(connection) = self.connections.get(token) {
                    let hung_up = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                    connection.notice(flags.contains(EventFlags::IN), flags.intersects(hung_up));
                    self.go_on(token);
                }
            }
        }
    }

    fn stall(&self) {
        if let Some(stall) = self.service.stall {
            stall.wait();
        }
    }

    /// Accepts all that wait and deals them to the workers in turn.
    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    self.service.counters.connection();
                    let worker = self.turn;
                    self.turn = (worker + 1) % self.service.inboxes.len();
                    if worker == self.index {
                        self.welcome(socket);
                    } else {
                        self.service.inboxes[worker].put(Parcel::Connection(socket));
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => return,
            }
        }
    }

    fn open_parcels(&mut self) {
        for parcel in self.service.inboxes[self.index].take() {
            match parcel {
                Parcel::Connection(socket) => self.welcome(socket),
                Parcel::Session(stream) => self.add_session(stream),
            }
        }
    }

    fn welcome(&mut self, socket: OwnedFd) {
        let _best_effort = sockopt::set_tcp_nodelay(&socket, true);
        let token = self.connections.insert(Connection::new(socket));
        let Some(connection) = self.connections.get(token) else {
            return;
        };
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.epoll, &connection.socket, data(Token::Connection(token)), flags).is_err() {
            self.connections.remove(token);
        }
    }

    fn add_session(&mut self, stream: File) {
        let place = self.pool.next_place();
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let token = data(Token::Session(place as u32));
        let watched =
            rustix::io::ioctl_fionbio(&stream, true).and_then(|()| epoll::add(&self.epoll, &stream, token, flags));
        let progress = match watched {
            Ok(()) => self.pool.add(stream),
            Err(_) => pool::Progress { broken: 1, ..pool::Progress::default() },
        };
        self.settle(progress);
    }

    /// Writes the answers of queries that ended, and has broken sessions replaced.
    fn settle(&mut self, progress: pool::Progress) {
        let pool::Progress { ended, broken } = progress;
        if let Some(settings) = &self.service.database {
            for _ in 0..broken {
                connector::replace(&self.service, settings, self.index);
            }
        }
        for (token, outcome) in ended {
            let Some(connection) = self.connections.get(token) else {
                continue;
            };
            if let Some(Owed { form, difference }) = connection.owed.take() {
                answer::write(&mut connection.unsent, &answer_of(&outcome), form, difference);
                self.answered.push(token);
            }
        }
    }

    /// Serves, sends and receives until the connection can do no more for now.
    fn go_on(&mut self, token: ConnectionToken) {
        loop {
            self.serve(token);
            let Some(connection) = self.connections.get(token) else {
                return;
            };
            let sent = connection.send();
            if sent == Io::Broken || connection.is_done() {
                return self.close(token);
            }
            if sent == Io::Blocked || connection.owed.is_some() {
                return;
            }
            match connection.receive() {
                Io::Moved => {}
                Io::Blocked => return,
                Io::Broken => return self.close(token),
            }
        }
    }

    /// Closes a connection, and with it the process when its last answer went there.
    fn close(&mut self, token: ConnectionToken) {
        let is_last = self.connections.get(token).is_some_and(|connection| connection.last);
        self.connections.remove(token);
        if is_last {
            std::process::exit(EXIT_CODE_OF_KNOB);
        }
    }

    /// Serves the whole requests that have been received.
    fn serve(&mut self, token: ConnectionToken) {
        let Some(connection) = self.connections.get(token) else {
            return;
        };
        // The requests borrow the bytes while the connection takes their answers.
        let mut received = std::mem::take(&mut connection.received);
        let mut taken = 0;
        while taken < received.len() {
            let Some(length) = self.serve_one(token, &received[taken..]) else {
                break;
            };
            taken += length;
        }
        received.drain(..taken);
        if let Some(connection) = self.connections.get(token) {
            connection.received = received;
        }
    }

    /// Serves the first request in `bytes`; how many bytes it took, `None` when none can be served now.
    fn serve_one(&mut self, token: ConnectionToken, bytes: &[u8]) -> Option<usize> {
        let connection = self.connections.get(token).filter(|connection| connection.may_serve())?;
        let (request, length) = match request::read(bytes) {
            Ok(Progress::Complete(request, length)) => (request, length),
            Ok(Progress::Partial(expects_continue)) => {
                if expects_continue && !connection.continued {
                    connection.continued = true;
                    connection.unsent.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                return None;
            }
            Err(error) => {
                self.service.counters.malformed();
                connection.closing = true;
                let form = Form { head: false, is_old: false, keep_alive: false };
                answer::write(&mut connection.unsent, &refusal(error), form, None);
                return Some(bytes.len());
            }
        };
        self.stall();
        let Handled { reply, difference, last } = self.service.handle(&request, &mut self.burner);
        let form = Form { head: request.method == "HEAD", is_old: request.is_old, keep_alive: request.keep_alive };
        let connection = self.connections.get(token)?;
        connection.continued = false;
        connection.closing |= !form.keep_alive || last;
        connection.last |= last;
        match reply {
            Reply::Now(answer) => answer::write(&mut connection.unsent, &answer, form, difference),
            Reply::Query(query) => {
                connection.owed = Some(Owed { form, difference });
                let progress = self.pool.ask(token, query);
                self.settle(progress);
            }
        }
        Some(length)
    }
}

fn data(token: Token) -> EventData {
    EventData::new_u64(token.encode())
}

fn refusal(error: Malformed) -> Answer {
    let status = match error {
        Malformed::Syntax => Status::BadRequest,
        Malformed::TooLarge => Status::TooLarge,
        Malformed::HeadTooLarge => Status::HeadTooLarge,
    };
    Answer::failure(status, &error.to_string())
}
