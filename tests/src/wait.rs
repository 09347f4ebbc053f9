//! Waits for a condition, with a deadline and a last word.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often a condition is looked at. Everything waited for here takes at least some tenths of a second.
const INTERVAL: Duration = Duration::from_millis(100);

/// Calls `condition` until it returns a value, and returns that.
///
/// `Ok(None)` and `Err` both mean "not yet": an API server that is just starting refuses connections.
///
/// # Errors
/// After `deadline`, with `what` was waited for and the last error seen.
pub fn until<T>(what: &str, deadline: Duration, mut condition: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        let last = match condition() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if start.elapsed() >= deadline {
            match last {
                Some(error) => {
                    return Err(error.context(format!("{what}: not within {deadline:?}")));
                }
                None => bail!("{what}: not within {deadline:?}"),
            }
        }
        std::thread::sleep(INTERVAL);
    }
}
