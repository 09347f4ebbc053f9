//! `gaugeblock run`.

use std::{
    error::Error,
    io::{Write as _, stderr, stdout},
    process::ExitCode,
};

use gaugeblock_local::{Finished, Manifest, Options, driver};
use gaugeblock_report::{json, markdown, terminal as tables};

use crate::{
    arguments::{Format, Run},
    exit_code,
    progress::Display,
    terminal,
};

/// Runs a manifest and shows its result.
pub fn run(arguments: &Run) -> Result<ExitCode, Box<dyn Error>> {
    let Run { file, output_dir, output, quiet } = arguments;
    let manifest = Manifest::read(file)?;
    let mut display = Display::new(*quiet);
    let options = Options { output_dir: output_dir.clone() };
    let finished = driver::run(&manifest, &options, &mut display);
    display.end();
    let finished = finished?;
    show(&finished, *output)?;
    Ok(exit_code::of_run(&finished.status, finished.interrupted))
}

/// Prints the report on standard output, and on standard error where the rest is: whatever reads
/// standard output gets the report alone.
fn show(finished: &Finished, format: Format) -> Result<(), Box<dyn Error>> {
    let Finished { status, report, folder, report_file, logs, interrupted } = finished;
    let text = match (report, format) {
        (Some(report), Format::Text) => tables::render(report, terminal::style()),
        (Some(report), Format::Json) => json::render(report)?,
        (Some(report), Format::Markdown) => markdown::render(report),
        // Nothing was planned: the status says why.
        (None, _) => String::new(),
    };
    // Whoever stops reading has seen enough.
    let _ = stdout().lock().write_all(text.as_bytes());
    let mut err = stderr().lock();
    if report.is_none() {
        let reason = status.reason.map_or("failed", |reason| reason.name());
        let message = status.message.as_deref().unwrap_or("the run did not begin");
        let _ = writeln!(err, "{reason}: {message}");
    }
    for log in logs {
        let _ = writeln!(err, "log: {}", log.display());
    }
    let _ = match report_file {
        Some(file) => writeln!(err, "report: {}", file.display()),
        None => writeln!(err, "folder: {}", folder.display()),
    };
    if *interrupted {
        let _ = writeln!(err, "interrupted: what was measured until then is kept");
    }
    Ok(())
}
