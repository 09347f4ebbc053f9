//! Bringing dependencies to a known state before a window, and reading what they counted around it.
//!
//! For Postgres: `VACUUM (ANALYZE)` and `CHECKPOINT`, so that neither autovacuum nor a checkpoint
//! that was due falls into one arm's window and not into the other's; both are counted all the
//! same. Nothing is asked inside the window.

use std::{collections::BTreeMap, time::Duration};

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
    dependency: String,
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
            let failed = |error: SettleError| {
                let Settle::Postgres { dependency, .. } = plan;
                NotSettled::Failed(GeneratorFailure::SettleFailed {
                    dependency: dependency.clone(),
                    message: error.to_string(),
                })
            };
            let session = Session::open(plan, environment, watch.left(began)).map_err(failed)?;
            let session = session.settle(watch, failed)?;
            settled.push(Settled {
                dependency: session.dependency.clone(),
                action: ACTION.to_owned(),
                seconds: (clock::monotonic() - began) as f64 / SECOND as f64,
            });
            sessions.open.push(session);
        }
        Ok((sessions, settled))
    }

    /// Reads the counters, or `None` when there are no dependencies or one does not answer: a
    /// missing counter does not spoil a window.
    pub fn read(&mut self) -> Option<Reading> {
        if self.open.is_empty() {
            return None;
        }
        let mut reading = Reading { at: clock::monotonic(), ..Reading::default() };
        for session in &mut self.open {
            for (name, value) in session.read().ok()? {
                *reading.counters.entry(name).or_default() += value;
            }
        }
        Some(reading)
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
    fn open(plan: &Settle, environment: &dyn Fn(&str) -> Option<String>, limit: u64) -> Result<Self, SettleError> {
        let Settle::Postgres { dependency, host, port, user, database, password_variable } = plan;
        let password =
            environment(password_variable).ok_or_else(|| SettleError::NoPassword(password_variable.clone()))?;
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
        let limit = (limit / MILLISECOND).clamp(1, i32::MAX as u64);
        client.batch_execute(&format!("SET statement_timeout = {limit}"))?;
        let version: String = client.query_one("SHOW server_version_num", &[])?.get(0);
        Ok(Self { dependency: dependency.clone(), client, version: version.parse().unwrap_or(0) })
    }

    /// Runs the statements in a thread of their own, so that they can be cancelled.
    fn settle(mut self, watch: &Watch, failed: impl Fn(SettleError) -> NotSettled) -> Result<Self, NotSettled> {
        let cancel = self.client.cancel_token();
        let running = std::thread::spawn(move || {
            for statement in ACTION.split("; ") {
                self.client.batch_execute(statement)?;
            }
            Ok(self)
        });
        let mut halted = Ok(());
        while !running.is_finished() {
            if halted.is_ok() {
                halted = watch.check(clock::monotonic());
                if halted.is_err() {
                    let _ = cancel.cancel_query(NoTls);
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let settled = running.join().unwrap_or(Err(SettleError::Thread));
        halted.map_err(NotSettled::Halted)?;
        settled.map_err(failed)
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
