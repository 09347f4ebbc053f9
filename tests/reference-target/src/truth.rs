//! What the service knows about itself, for tests to compare a measurement with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::clock::{self, Moment};
use crate::endpoint::{ENDPOINTS, Endpoint};
use crate::http::answer::Answer;
use crate::knobs::Knobs;
use crate::memory;
use crate::service::Service;

/// Counts of what happened, shared by all workers.
#[derive(Debug, Default)]
pub struct Counters {
    requests: [AtomicU64; ENDPOINTS],
    measured: AtomicU64,
    planned_errors: AtomicU64,
    not_ready: AtomicU64,
    malformed: AtomicU64,
    burnt_ns: AtomicU64,
    connections: AtomicU64,
    children_killed: AtomicU64,
}

impl Counters {
    /// One more request to `endpoint`.
    pub fn request(&self, endpoint: Endpoint) {
        self.requests[endpoint as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// One more request that the knobs apply to; its index, from 0.
    pub fn measured(&self) -> u64 {
        self.measured.fetch_add(1, Ordering::Relaxed)
    }

    /// One more request failed because the knobs say so.
    pub fn planned_error(&self) {
        self.planned_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// One more request came before the service was ready.
    pub fn not_ready(&self) {
        self.not_ready.fetch_add(1, Ordering::Relaxed);
    }

    /// One more request could not be read.
    pub fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// CPU time was burnt.
    pub fn burnt(&self, nanoseconds: u64) {
        self.burnt_ns.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// One more connection was accepted.
    pub fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A child was killed by the kernel.
    pub fn child_killed(&self) {
        self.children_killed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The answer of `GET /truth`. Times in nanoseconds, sizes in bytes.
#[derive(Debug, Serialize)]
struct Truth<'a> {
    process_id: u32,
    process_cpu_ns: u64,
    now: Moment,
    /// As the kernel says, to 10 ms.
    process_start: Option<Moment>,
    /// First instruction of `main`.
    main_entered: Moment,
    /// `listen()` has returned.
    listening: Moment,
    /// Absent until it is known.
    ready: Option<Moment>,
    requests: BTreeMap<&'static str, u64>,
    /// Requests that the knobs applied to; the one that asks is not among them.
    measured_requests: u64,
    planned_errors: u64,
    /// Answered with 503 before the ready delay had passed; not among `requests`.
    not_ready: u64,
    malformed: u64,
    connections: u64,
    burnt_cpu_ns: u64,
    ballast_bytes: u64,
    leaked_bytes: u64,
    resident_anonymous_bytes: Option<u64>,
    children_killed: u64,
    database_configured: bool,
    knobs: &'a Knobs,
}

/// Answers `GET /truth`.
pub fn answer(service: &Service) -> Answer {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let Counters { requests, measured, planned_errors, not_ready, malformed, burnt_ns, connections, children_killed } =
        &service.counters;
    let listening = service.start.listening;
    let ready = service.readiness.since().map(|since| listening.after(since - listening.monotonic_ns));
    Answer::json(&Truth {
        process_id: std::process::id(),
        process_cpu_ns: clock::process_cpu(),
        now: Moment::now(),
        process_start: service.start.process,
        main_entered: service.start.main_entered,
        listening,
        ready,
        requests: Endpoint::ALL.into_iter().map(|it| (it.name(), count(&requests[it as usize]))).collect(),
        measured_requests: count(measured),
        planned_errors: count(planned_errors),
        not_ready: count(not_ready),
        malformed: count(malformed),
        connections: count(connections),
        burnt_cpu_ns: count(burnt_ns),
        ballast_bytes: service.knobs.memory.0,
        leaked_bytes: service.leaked(),
        resident_anonymous_bytes: memory::resident_anonymous(),
        children_killed: count(children_killed),
        database_configured: service.database.is_some(),
        knobs: &service.knobs,
    })
}
