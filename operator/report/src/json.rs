//! The report as JSON: complete and versioned, for programs.

use crate::model::Report;

/// The whole report, indented, with a newline at its end.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
