//! Bringing dependencies to a known state before a window, and reading what they counted around it.
//!
//! For Postgres: `VACUUM (ANALYZE)` and `CHECKPOINT`, so that neither autovacuum nor a checkpoint
//! that was due falls into one arm's window and not into the other's; both are counted all the
//! same. Nothing is asked inside the window.

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use gaugeblock_measurement::{
    generator::{GeneratorFailure, Settled},
    plan::Settle,
};
use postgres::{Client, Config, NoTls};

use crate::{
    address::{AddressError, ip_address},
    clock::{self, MILLISECOND, SECOND},
    watch::{Halt, Watch},
};

/// What is run, as it stands in the record.
const ACTION: &str = "VACUUM (ANALYZE); CHECKPOINT";
/// Time allowed for reading the counters.
const READ: u64 = SECOND;
/// Time between two looks whether to go on.
const LOOK: Duration = Duration::from_millis(5);
/// Time allowed for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Counters of the database that the target uses (PostgreSQL manual, 27.2: the cumulative
/// statistics system). A backend reports them at most once a second, so a reading under load is up
/// to a second behind: alike before and after. The WAL position is exact.
const DATABASE: &str = "SELECT xact_commit, xact_rollback, blks_read, blks_hit, tup_returned, \
    tup_fetched, tup_inserted, tup_updated, tup_deleted, temp_bytes, deadlocks \
    FROM pg_stat_database WHERE datname = current_database()";
/// Names of those counters in the record, in the same order.
const DATABASE_NAMES: [&str; 11] = [
    "transactions",
    "rollbacks",
    "blocks_read",
    "blocks_hit",
    "rows_returned",
    "rows_fetched",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "temporary_bytes",
    "deadlocks",
];
/// What autovacuum did.
const VACUUMS: &str = "SELECT coalesce(sum(autovacuum_count), 0)::bigint, \
    coalesce(sum(autoanalyze_count), 0)::bigint FROM pg_stat_all_tables";
/// Bytes of write-ahead log ever written.
const WAL: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8";
/// Checkpoints, since version 17.
const CHECKPOINTS: &str = "SELECT num_timed + num_requested FROM pg_stat_checkpointer";
/// Checkpoints, before.
const CHECKPOINTS_BEFORE_17: &str = "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter";

/// Why a dependency could not be settled.
#[derive(Debug, thiserror::Error)]
enum SettleError {
    #[error("the environment variable {0:?}, which should hold the password, is not set")]
    NoPassword(String),
    #[error("failed to find its address: {0}")]
    Address(#[from] AddressError),
    #[error("{}", words(.0))]
    Postgres(#[from] postgres::Error),
    #[error("the session's thread ended without a word")]
    Thread,
}

/// A database's own words, which `Display` keeps back.
fn words(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(database) => format!("{}: {}", database.code().code(), database.message()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// Why settling ended without success.
#[derive(Debug, PartialEq)]
pub enum NotSettled {
    /// For the record.
    Failed(GeneratorFailure),
    /// Everything has to end.
    Halted(Halt),
}

/// Sessions with all dependencies of a scenario, open while it runs and silent inside its window.
#[derive(Default)]
pub struct Sessions {
    open: Vec<Session>,
}

struct Session {
    client: Client,
    version: i32,
}

/// A reading of the counters of all dependencies together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    at: u64,
    counters: BTreeMap<&'static str, f64>,
}

impl Sessions {
    /// Settles each dependency and keeps a session with it.
    pub fn settle(
        plans: &[Settle],
        environment: &dyn Fn(&str) -> Option<String>,
        watch: &Watch,
    ) -> Result<(Self, Vec<Settled>), NotSettled> {
        let mut sessions = Self::default();
        let mut settled = Vec::new();
        for plan in plans {
            let began = clock::monotonic();
            watch.check(began).map_err(NotSettled::Halted)?;
            let Settle::Postgres { dependency, password_variable, .. } = plan;
            let failed = |error: &SettleError| {
                NotSettled::Failed(GeneratorFailure::SettleFailed {
                    dependency: dependency.clone(),
                    message: error.to_string(),
                })
            };
            let password = environment(password_variable)
                .ok_or_else(|| failed(&SettleError::NoPassword(password_variable.clone())))?;
            let (plan, limit) = (plan.clone(), watch.left(began));
            let work = move || Session::open(&plan, password, limit)?.settle();
            let session = aside(work, |now| watch.check(now))
                .map_err(NotSettled::Halted)?
                .unwrap_or(Err(SettleError::Thread))
                .map_err(|error| failed(&error))?;
            settled.push(Settled {
                dependency: dependency.clone(),
                action: ACTION.to_owned(),
                seconds: (clock::monotonic() - began) as f64 / SECOND as f64,
            });
            sessions.open.push(session);
        }
        Ok((sessions, settled))
    }

    /// Reads the counters, or `None` when there are no dependencies or one does not answer within a
    /// second: a missing counter does not spoil a window, and a late one would disturb it.
    pub fn read(&mut self) -> Option<Reading> {
        if self.open.is_empty() {
            return None;
        }
        let at = clock::monotonic();
        let mut open = std::mem::take(&mut self.open);
        let work = move || {
            let mut counters = BTreeMap::new();
            for session in &mut open {
                for (name, value) in session.read()? {
                    *counters.entry(name).or_default() += value;
                }
            }
            Ok::<_, postgres::Error>((open, counters))
        };
        let in_time = |now| if now < at + READ { Ok(()) } else { Err(()) };
        // Sessions that did not answer are gone with their thread.
        let (open, counters) = aside(work, in_time).ok()??.ok()?;
        self.open = open;
        Some(Reading { at, counters })
    }
}

/// Does something in a thread of its own, which is left alone when `go_on` says so: a database that
/// hangs must not hold up the generator. `None` when the thread ended without a word.
fn aside<T: Send + 'static, E>(
    work: impl FnOnce() -> T + Send + 'static,
    go_on: impl Fn(u64) -> Result<(), E>,
) -> Result<Option<T>, E> {
    let (done, doing) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody listens any more when it took too long.
        let _ = done.send(work());
    });
    loop {
        match doing.recv_timeout(LOOK) {
            Ok(value) => return Ok(Some(value)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => go_on(clock::monotonic())?,
        }
    }
}

impl Reading {
    /// What was counted from an earlier reading until this one, with the time between them (s).
    pub fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let mut counted: BTreeMap<String, f64> = self
            .counters
            .iter()
            .filter_map(|(name, value)| {
                let earlier = before.counters.get(name)?;
                Some(((*name).to_owned(), value - earlier))
            })
            .collect();
        let seconds = (self.at - before.at) as f64 / SECOND as f64;
        counted.insert("seconds".to_owned(), seconds);
        counted
    }
}

impl Session {
    fn open(plan: &Settle, password: String, limit: u64) -> Result<Self, SettleError> {
        let Settle::Postgres { dependency: _, host, port, user, database, password_variable: _ } = plan;
        let mut client = Config::new()
            .host(host)
            .hostaddr(ip_address(host)?)
            .port(*port)
            .user(user)
            .dbname(database)
            .password(password)
            .application_name("gaugeblock-load-generator")
            .connect_timeout(CONNECT)
            .connect(NoTls)?;
        // When the generator is stopped meanwhile, the server ends the statement by itself.
        let limit = (limit / MILLISECOND).clamp(1, i32::MAX as u64);
        client.batch_execute(&format!("SET statement_timeout = {limit}"))?;
        let version: String = client.query_one("SHOW server_version_num", &[])?.get(0);
        Ok(Self { client, version: version.parse().unwrap_or(0) })
    }

    fn settle(mut self) -> Result<Self, SettleError> {
        for statement in ACTION.split("; ") {
            self.client.batch_execute(statement)?;
        }
        Ok(self)
    }

    fn read(&mut self) -> Result<Vec<(&'static str, f64)>, postgres::Error> {
        let mut read = Vec::with_capacity(DATABASE_NAMES.len() + 4);
        let row = self.client.query_one(DATABASE, &[])?;
        for (index, name) in DATABASE_NAMES.into_iter().enumerate() {
            read.push((name, row.try_get::<_, i64>(index)? as f64));
        }
        let row = self.client.query_one(VACUUMS, &[])?;
        read.push(("autovacuums", row.try_get::<_, i64>(0)? as f64));
        read.push(("autoanalyzes", row.try_get::<_, i64>(1)? as f64));
        let checkpoints = if self.version >= 170_000 { CHECKPOINTS } else { CHECKPOINTS_BEFORE_17 };
        let row = self.client.query_one(checkpoints, &[])?;
        read.push(("checkpoints", row.try_get::<_, i64>(0)? as f64));
        let row = self.client.query_one(WAL, &[])?;
        read.push(("wal_bytes", row.try_get::<_, f64>(0)?));
        Ok(read)
    }
}
