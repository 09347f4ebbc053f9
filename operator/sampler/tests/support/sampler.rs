//! The real program, watching something, and the record that it prints.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use gaugeblock_measurement::{
    SamplerPlan, SamplerRecord, TrialId, UnixNanos, frame,
    plan::{PLAN_VARIABLE, PLAN_VERSION, ReadyProbe, Watch},
    sampler::ContainerSeries,
};
use tempfile::TempDir;

const MILLISECOND: u64 = 1_000_000;

/// A plan with usual figures.
pub fn plan(target: Watch) -> SamplerPlan {
    SamplerPlan {
        version: PLAN_VERSION,
        trial: TrialId { run_uid: "run".into(), block: 1, arm: "arm".into(), stage: 0, attempt: 0 },
        target,
        others: Vec::new(),
        container: "target".into(),
        port: 0,
        ready: ReadyProbe { path: "/".into(), status: 200, time_out: 5_000 * MILLISECOND },
        interval: 100 * MILLISECOND,
        start_poll: MILLISECOND,
        appear_time_out: 10_000 * MILLISECOND,
        deadline: 60_000 * MILLISECOND,
    }
}

/// A process unit whose file is yet to be written.
pub struct Unit {
    folder: TempDir,
}

impl Unit {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("process")
    }

    pub fn watch(&self) -> Watch {
        Watch::ProcessFile { name: "target".into(), uid: "unit".into(), path: self.path().display().to_string() }
    }

    /// Names a process, in one step, as a launcher does.
    pub fn name(&self, content: &str) {
        let unfinished = self.folder.path().join("unfinished");
        std::fs::write(&unfinished, content).unwrap();
        std::fs::rename(unfinished, self.path()).unwrap();
    }

    pub fn remove(&self) {
        std::fs::remove_file(self.path()).unwrap();
    }
}

/// The program at work.
pub struct Sampler {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Sampler {
    /// Starts it, and comes back when it is watching.
    pub fn start(plan: &SamplerPlan) -> Self {
        Self::start_with(plan, |_| ())
    }

    pub fn start_with(plan: &SamplerPlan, more: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gaugeblock-sampler"));
        command
            .env(PLAN_VARIABLE, serde_json::to_string(plan).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        more(&mut command);
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "watching\n");
        Self { child, errors }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status().unwrap();
        assert!(status.success());
        // Signals are flags: give the loop a moment to look at them.
        std::thread::sleep(Duration::from_millis(150));
    }

    /// Waits for the record.
    pub fn record(mut self) -> SamplerRecord {
        let mut log = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut log).unwrap();
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).unwrap();
        assert!(self.child.wait().unwrap().success(), "{errors}");
        frame::decode(&log).unwrap()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The target's series.
pub fn target(record: &SamplerRecord) -> &ContainerSeries {
    record.series.iter().find(|series| series.target).expect("a series of the target")
}

/// Last value of a column at or before a moment.
pub fn at(series: &ContainerSeries, column: &[u64], moment: UnixNanos) -> u64 {
    let after = series.at.partition_point(|at| *at <= moment);
    column[after.checked_sub(1).expect("a sample before the moment")]
}
