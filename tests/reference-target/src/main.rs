//! A service with known truth: what the end-to-end tests measure.
//!
//! It serves a few ordinary endpoints with a fixed, small cost, and every knob plants one behaviour whose size
//! is then known: CPU time per request, memory, a leak, stalls, a slow start, errors, wrong bytes, a crash.
//! `GET /truth` tells what really happened, so that a test can compare a measurement with it.

mod burner;
mod clock;
mod connection;
mod database;
mod documents;
mod endpoint;
mod fate;
mod http;
mod inbox;
mod knobs;
mod memory;
mod quantity;
mod readiness;
mod service;
mod stall;
mod table;
mod token;
mod truth;
mod worker;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;
use rustix::process::{Resource, Rlimit};
use signal_hook::consts::{SIGINT, SIGTERM};

use clock::Moment;
use database::connector;
use database::settings::{Settings, SettingsError};
use knobs::Knobs;
use memory::Ballast;
use service::{Service, Start};
use worker::Worker;

/// Connections that may wait to be accepted; the standard library's 128 is few for a load generator that opens
/// a thousand at once. The kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// Why the service could not start or go on.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("failed to handle signals")]
    Signals(#[source] std::io::Error),
    #[error("failed to find the database")]
    Database(#[source] SettingsError),
    #[error("failed to listen at {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    #[error("failed to serve")]
    Serve(#[from] rustix::io::Errno),
}

fn main() -> ExitCode {
    let main_entered = Moment::now();
    let knobs = Knobs::parse();
    if knobs.exhaust_memory {
        memory::exhaust();
    }
    match run(knobs, main_entered) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let source = std::error::Error::source(&failure).map(|source| format!(": {source}"));
            eprintln!("{failure}{}", source.unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

fn run(knobs: Knobs, main_entered: Moment) -> Result<(), Failure> {
    exit_on_signals().map_err(Failure::Signals)?;
    keep_memory_and_files_plain();
    let variable = |name: &str| std::env::var(name).ok();
    let database = Settings::read(variable).map_err(Failure::Database)?;
    let address = knobs.address(variable("PORT").and_then(|port| port.parse().ok()));
    let _ballast = Ballast::new(knobs.memory.0 as usize);

    let listen_at = main_entered.monotonic_ns + knobs.startup_delay.0;
    std::thread::sleep(Duration::from_nanos(listen_at.saturating_sub(clock::monotonic())));
    let failed = |error| Failure::Listen(address, error);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let start = Start { process: clock::process_start(), main_entered, listening: Moment::now() };
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;

    let service = Arc::new(Service::new(knobs, database, start)?);
    // A closed stdout is no reason to end.
    let _ignored = writeln!(std::io::stdout(), "listening on {bound}");
    service.start_leaking();
    if let Some(settings) = &service.database {
        connector::open_all(&service, settings);
    }
    for index in 1..service.inboxes.len() {
        let worker = Worker::new(Arc::clone(&service), index, None)?;
        std::thread::spawn(move || worker.run());
    }
    Ok(Worker::new(Arc::clone(&service), 0, Some(listener))?.run()?)
}

/// Ends the process with 0 from inside the handler: at once, even while a worker burns or stalls, and also as
/// process 1 of a container, which the kernel shields from signals without a handler.
fn exit_on_signals() -> Result<(), std::io::Error> {
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::new(AtomicBool::new(true)))?;
    }
    Ok(())
}

/// Keeps huge pages out, which would round known sizes of memory up to 2 MiB, and lifts the soft limit of open
/// files to the hard one. Where the kernel refuses, all works as well with smaller numbers.
fn keep_memory_and_files_plain() {
    let _refused = rustix::thread::disable_transparent_huge_pages(true);
    let files = rustix::process::getrlimit(Resource::Nofile);
    let lifted = Rlimit { current: files.maximum, ..files };
    let _refused = rustix::process::setrlimit(Resource::Nofile, lifted);
}
