//! What all workers share, and what a request leads to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::burner::Burner;
use crate::clock::{self, Moment};
use crate::database::pool::Outcome;
use crate::database::query::Query;
use crate::database::settings::Settings;
use crate::documents::{self, Change};
use crate::endpoint::{Endpoint, Route, route};
use crate::fate::{self, Fate};
use crate::http::answer::{Answer, Status};
use crate::http::request::Request;
use crate::inbox::Inbox;
use crate::knobs::Knobs;
use crate::memory::{self, Leak};
use crate::readiness::Readiness;
use crate::stall::Stall;
use crate::truth::{self, Counters};

/// Between two steps of the leak that goes with time.
const LEAK_STEP: Duration = Duration::from_millis(20);

/// When this process came to be.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// As the kernel says.
    pub process: Option<Moment>,
    /// First instruction of `main`.
    pub main_entered: Moment,
    /// `listen()` has returned.
    pub listening: Moment,
}

/// What all workers share.
pub struct Service {
    /// The planted behaviour.
    pub knobs: Knobs,
    /// When it started.
    pub start: Start,
    /// Its stalls.
    pub stall: Option<Stall>,
    /// Whether it is ready.
    pub readiness: Readiness,
    /// Where its database is.
    pub database: Option<Settings>,
    /// What happened.
    pub counters: Counters,
    /// One inbox for each worker.
    pub inboxes: Vec<Inbox>,
    leak: Mutex<Leak>,
}

/// What a request leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// An answer at once.
    Now(Answer),
    /// An answer when the database has given its own.
    Query(Query),
}

/// A request that has been handled.
#[derive(Debug, PartialEq, Eq)]
pub struct Handled {
    /// What it leads to.
    pub reply: Reply,
    /// The byte of the answer's body that shall differ.
    pub difference: Option<usize>,
    /// The process shall end once the answer has left.
    pub last: bool,
}

impl Service {
    /// A service that has just begun to listen.
    pub fn new(knobs: Knobs, database: Option<Settings>, start: Start) -> rustix::io::Result<Self> {
        let listening_ns = start.listening.monotonic_ns;
        Ok(Self {
            start,
            stall: Stall::new(listening_ns, knobs.stall.0, knobs.stall_period.0),
            readiness: Readiness::new(listening_ns + knobs.ready_delay.0, database.is_some()),
            database,
            counters: Counters::default(),
            inboxes: (0..knobs.workers).map(|_| Inbox::new()).collect::<Result<_, _>>()?,
            leak: Mutex::default(),
            knobs,
        })
    }

    /// Bytes leaked so far.
    pub fn leaked(&self) -> u64 {
        self.leak.lock().unwrap_or_else(PoisonError::into_inner).lost()
    }

    /// Leaks as time goes by, if the knobs say so.
    pub fn start_leaking(self: &Arc<Self>) {
        let rate = self.knobs.leak_rate.0;
        if rate == 0 {
            return;
        }
        let service = Arc::clone(self);
        std::thread::spawn(move || {
            let mut lost = 0;
            loop {
                std::thread::sleep(LEAK_STEP);
                let elapsed = clock::monotonic() - service.start.listening.monotonic_ns;
                let due = (u128::from(rate) * u128::from(elapsed) / 1_000_000_000) as u64;
                service.lose(due - lost);
                lost = due;
            }
        });
    }

    /// Handles one request: the knobs first, then the endpoint.
    pub fn handle(self: &Arc<Self>, request: &Request<'_>, burner: &mut Burner) -> Handled {
        let plain = |answer| Handled { reply: Reply::Now(answer), difference: None, last: false };
        let (endpoint, row) = match route(request.method, request.target) {
            Route::To(endpoint) => (endpoint, ""),
            Route::Row(endpoint, row) => (endpoint, row),
            Route::MethodNotAllowed(allowed) => {
                self.counters.request(Endpoint::Other);
                let status = Status::MethodNotAllowed(allowed);
                return plain(Answer::failure(status, "failed to use this method here"));
            }
            Route::NotFound => {
                self.counters.request(Endpoint::Other);
                return plain(Answer::failure(Status::NotFound, "failed to find this path"));
            }
        };
        if endpoint != Endpoint::Truth && !self.readiness.delay_has_passed() {
            self.counters.not_ready();
            return plain(Answer::failure(Status::Unavailable, "not ready yet"));
        }
        self.counters.request(endpoint);
        if !endpoint.is_measured() {
            return plain(self.control(endpoint));
        }
        let Fate { error, last, exhaust, exhaust_child } = fate::of(self.counters.measured(), &self.knobs);
        if exhaust {
            memory::exhaust();
        }
        if exhaust_child {
            self.exhaust_child();
        }
        self.work(endpoint, burner);
        let reply = if error {
            self.counters.planned_error();
            Reply::Now(Answer::failure(Status::Error, "planned"))
        } else {
            reply(endpoint, row, &request.body)
        };
        Handled { reply, difference: self.knobs.byte_difference, last }
    }

    fn control(&self, endpoint: Endpoint) -> Answer {
        match endpoint {
            Endpoint::Truth => truth::answer(self),
            _ if self.readiness.is_ready() => Answer::text("ready\n"),
            _ => Answer::failure(Status::Unavailable, "not ready yet"),
        }
    }

    /// The cost that the knobs put on one request.
    fn work(&self, endpoint: Endpoint, burner: &mut Burner) {
        let cpu_ns = self.knobs.cpu_for(endpoint);
        if cpu_ns > 0 {
            burner.burn(cpu_ns);
            self.counters.burnt(cpu_ns);
        }
        self.lose(self.knobs.leak_per_request.0);
    }

    fn lose(&self, bytes: u64) {
        if bytes > 0 {
            self.leak.lock().unwrap_or_else(PoisonError::into_inner).lose(bytes);
        }
    }

    /// Lets a child of this process, made of the same program, exhaust the memory, and serves on.
    fn exhaust_child(self: &Arc<Self>) {
        let service = Arc::clone(self);
        std::thread::spawn(move || {
            let child = std::process::Command::new("/proc/self/exe").arg("--exhaust-memory").spawn();
            match child.and_then(|mut child| child.wait()) {
                Ok(status) if !status.success() => service.counters.child_killed(),
                Ok(_) => {}
                Err(error) => eprintln!("failed to run the child that exhausts memory: {error}"),
            }
        });
    }
}

/// What a measured endpoint replies.
fn reply(endpoint: Endpoint, row: &str, body: &[u8]) -> Reply {
    match endpoint {
        Endpoint::JsonOut => Reply::Now(documents::greeting()),
        Endpoint::JsonIn => Reply::Now(documents::derived(body)),
        Endpoint::RowRead | Endpoint::RowUpdate => query(endpoint, row, body).map_or_else(Reply::Now, Reply::Query),
        Endpoint::Plaintext | Endpoint::Health | Endpoint::Truth | Endpoint::Other => {
            Reply::Now(Answer::text("Hello, World!"))
        }
    }
}

fn query(endpoint: Endpoint, row: &str, body: &[u8]) -> Result<Query, Answer> {
    let refused = |reason| Answer::failure(Status::BadRequest, reason);
    let id = row.parse().map_err(|_| refused("failed to read the row's id"))?;
    if endpoint == Endpoint::RowRead {
        return Ok(Query::Read(id));
    }
    let Change { title, body } = Change::read(body).map_err(|_| refused("failed to read the change"))?;
    Ok(Query::Update { id, title, body })
}

/// The answer that the database's own leads to.
pub fn answer_of(outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Row(row) => Answer::json(row),
        Outcome::Missing => Answer::failure(Status::NotFound, "failed to find this row"),
        Outcome::Refused(reason) => Answer::failure(Status::Error, reason),
        Outcome::Unavailable => Answer::failure(Status::Unavailable, "failed to reach the database"),
    }
}
