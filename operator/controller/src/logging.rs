//! Logs: one JSON object a line, on standard error's sibling that container runtimes keep.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::options::LogFormat;

/// Starts logging.
pub fn start(filter: &str, format: LogFormat) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(true).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}
