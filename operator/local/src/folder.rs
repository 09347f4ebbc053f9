//! The folder of a run: everything that it leaves behind, for people and programs.
//!
//! ```text
//! .gaugeblock/first-20261130T233000Z/
//!   plan.json      what the run used, frozen
//!   status.json    the status document, as a cluster would show it
//!   report.md      the report for people
//!   report.json    the same for programs
//!   summaries.json what is kept at hand of each trial
//!   trials/        the record of each trial
//!   logs/          what every process said
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gaugeblock_crds::BenchmarkRunStatus;
use gaugeblock_measurement::TrialRecord;
use gaugeblock_planner::{Snapshot, TrialSummary};
use gaugeblock_report::{Report, json, markdown};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

/// Folder beside the current one that holds all runs.
const ALL_RUNS: &str = ".gaugeblock";

/// File that every run leaves.
const PLAN: &str = "plan.json";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    root: PathBuf,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another run left its results there.
    #[error("{} holds the results of another run: name another folder, or remove it", .0.display())]
    Taken(PathBuf),
}

impl RunFolder {
    /// Makes the folder of a run: `output`, or one of its own under `.gaugeblock`.
    pub fn create(output: Option<&Path>, run: &str, now: Timestamp) -> Result<Self, FolderError> {
        let root = match output {
            Some(output) if output.join(PLAN).exists() => return Err(FolderError::Taken(output.to_owned())),
            Some(output) => output.to_owned(),
            None => {
                let all = PathBuf::from(ALL_RUNS);
                let is_new = !all.exists();
                let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ");
                let root = all.join(format!("{run}-{time}"));
                make(&root)?;
                if is_new {
                    // Results are nobody's source.
                    write(&all.join(".gitignore"), b"*\n")?;
                }
                root
            }
        };
        make(&root)?;
        // Absolute: processes start in folders of their own.
        let root = fs::canonicalize(&root).map_err(|source| FolderError::Write { path: root, source })?;
        let folder = Self { root };
        for folder in [folder.trials(), folder.logs(), folder.processes()] {
            make(&folder)?;
        }
        Ok(folder)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Logs of all processes.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Data of dependencies, while the run lasts.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// File that holds the process ID of a unit, while it runs.
    pub fn pid_file(&self, unit: &str) -> PathBuf {
        self.processes().join(format!("{unit}.pid"))
    }

    /// Files with process IDs, while the run lasts.
    pub fn processes(&self) -> PathBuf {
        self.root.join("processes")
    }

    /// The Markdown report.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.md")
    }

    fn trials(&self) -> PathBuf {
        self.root.join("trials")
    }

    /// Writes the frozen plan.
    pub fn write_plan(&self, snapshot: &Snapshot) -> Result<(), FolderError> {
        self.json(PLAN, snapshot)
    }

    /// Writes the status.
    pub fn write_status(&self, status: &BenchmarkRunStatus) -> Result<(), FolderError> {
        self.json("status.json", status)
    }

    /// Writes the record of a trial, and the summaries of all so far.
    pub fn write_trial(&self, name: &str, record: &TrialRecord, all: &[TrialSummary]) -> Result<(), FolderError> {
        self.json(&format!("trials/{name}.json"), record)?;
        self.json("summaries.json", &all)
    }

    /// Writes the reports.
    pub fn write_report(&self, report: &Report) -> Result<(), FolderError> {
        let path = self.root.join("report.json");
        let text =
            json::render(report).map_err(|error| FolderError::Write { path: path.clone(), source: error.into() })?;
        write(&path, text.as_bytes())?;
        write(&self.report(), markdown::render(report).as_bytes())
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let path = self.root.join(name);
        let mut text = serde_json::to_vec_pretty(value)
            .map_err(|error| FolderError::Write { path: path.clone(), source: error.into() })?;
        text.push(b'\n');
        write(&path, &text)
    }
}

fn make(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(|source| FolderError::Write { path: folder.to_owned(), source })
}

/// Writes a file whole: a reader sees the old one or the new one.
fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(|source| FolderError::Write { path: path.to_owned(), source })
}
