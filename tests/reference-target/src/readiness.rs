//! When the service is ready: its delay has passed and its database, when it has one, is there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock;

/// Not yet, as a time.
const NEVER: u64 = u64::MAX;

/// The readiness of the process; once ready it stays so.
#[derive(Debug)]
pub struct Readiness {
    not_before_ns: u64,
    database_ns: AtomicU64,
    ready: AtomicBool,
}

impl Readiness {
    /// Ready from `not_before_ns` on the monotonic clock, and not before the database is there if it
    /// `needs_database`.
    pub fn new(not_before_ns: u64, needs_database: bool) -> Self {
        let database_ns = AtomicU64::new(if needs_database { NEVER } else { 0 });
        Self { not_before_ns, database_ns, ready: AtomicBool::new(false) }
    }

    /// Notes that the database is there as of now.
    pub fn database_is_there(&self) {
        self.database_ns.fetch_min(clock::monotonic(), Ordering::Relaxed);
    }

    /// Whether the delay has passed, so that the service answers at all.
    pub fn delay_has_passed(&self) -> bool {
        self.ready.load(Ordering::Relaxed) || clock::monotonic() >= self.not_before_ns
    }

    /// Whether the service is ready.
    pub fn is_ready(&self) -> bool {
        if self.ready.load(Ordering::Relaxed) {
            return true;
        }
        let ready = self.since().is_some_and(|since| clock::monotonic() >= since);
        if ready {
            self.ready.store(true, Ordering::Relaxed);
        }
        ready
    }

    /// When it became or will become ready, on the monotonic clock; `None` while the database is not there.
    pub fn since(&self) -> Option<u64> {
        let database_ns = self.database_ns.load(Ordering::Relaxed);
        (database_ns != NEVER).then(|| self.not_before_ns.max(database_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_the_later_of_delay_and_database() {
        let now = clock::monotonic();
        assert!(Readiness::new(now, false).is_ready());
        let delayed = Readiness::new(now + 60_000_000_000, false);
        assert!(!delayed.is_ready() && !delayed.delay_has_passed());
        let with_database = Readiness::new(now, true);
        assert!(!with_database.is_ready() && with_database.delay_has_passed());
        assert_eq!(with_database.since(), None);
        with_database.database_is_there();
        assert!(with_database.is_ready());
        assert!(with_database.since() > Some(now));
    }
}
