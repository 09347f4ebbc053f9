//! The world of a run without a cluster: its processes, its files, and what the planner sees of
//! them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use gaugeblock_crds::{BenchmarkRunSpec, BenchmarkRunStatus};
use gaugeblock_measurement::{TrialRecord, frame};
use gaugeblock_planner::{Observed, Role, RunView, Slot, Snapshot, TrialSummary, UnitState, Waiting, observed::Place};
use jiff::Timestamp;

use crate::{
    folder::RunFolder,
    layout::Layout,
    manifest::Manifest,
    port::Ports,
    postgres::{Login, psql},
    prepare::{ArmProgram, Database},
    process::{ProcessError, Spawner},
    program::Programs,
    unit::{LocalUnit, Part},
    wakeup::Wakeup,
    warden,
};

/// Word on the sampler's standard error once it watches.
const WATCHING: &str = "watching";

/// Everything of a run.
pub struct World<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The run's folder.
    pub folder: RunFolder,
    /// Starts processes.
    pub spawner: Spawner,
    /// Who runs where.
    pub layout: Layout,
    /// Free ports.
    pub ports: Ports,
    /// Programs of the arms.
    pub arms: Vec<ArmProgram>,
    /// What they are.
    pub programs: Programs,
    /// What the target of each trial really was.
    pub ran: BTreeMap<Slot, String>,
    /// Databases at rest, by name of the dependency.
    pub databases: BTreeMap<String, Database>,
    /// Password of the dependencies.
    pub password: String,
    /// What every trial's record should say, one sentence each.
    pub notes: Vec<String>,
    /// UID of the run.
    pub uid: String,
    /// When the run was created.
    pub created: Timestamp,
    /// What its owner asks for: the manifest, and to cancel when interrupted.
    pub spec: BenchmarkRunSpec,
    /// What was last said about it.
    pub status: BenchmarkRunStatus,
    /// The frozen plan.
    pub snapshot: Option<Snapshot>,
    /// Whether the planner had the credentials made.
    pub has_credentials: bool,
    /// Whether the result is written.
    pub result: Option<String>,
    /// Units.
    pub units: Vec<LocalUnit>,
    /// Trials.
    pub trials: Vec<TrialSummary>,
    /// Their records.
    pub records: Vec<TrialRecord>,
    /// Logs of units that failed.
    pub kept_logs: Vec<std::path::PathBuf>,
}

impl World<'_> {
    /// Looks at every process. What has ended and is being deleted is gone.
    pub fn look(&mut self, wakeup: &mut Wakeup) -> Result<(), ProcessError> {
        let mut units = std::mem::take(&mut self.units);
        let looked = units.iter_mut().try_for_each(|unit| self.look_at(unit, wakeup));
        units.retain(|unit| {
            let gone = unit.deleting && matches!(unit.state, UnitState::Succeeded | UnitState::Failed { .. });
            if gone {
                let _ = fs::remove_file(&unit.pid_file);
                if let Part::Postgres(server) = &unit.part {
                    warden::remove(&server.data);
                }
            }
            !gone
        });
        self.units = units;
        looked
    }

    fn look_at(&self, unit: &mut LocalUnit, wakeup: &mut Wakeup) -> Result<(), ProcessError> {
        if matches!(unit.state, UnitState::Succeeded | UnitState::Failed { .. }) {
            return Ok(());
        }
        let log = self.spawner.log(&unit.name);
        let Some(process) = unit.process() else {
            if unit.deleting {
                // Behind its gate there is nothing to end.
                unit.state = UnitState::Succeeded;
            }
            return Ok(());
        };
        if let Some(status) = process.poll(&self.spawner) {
            unit.state = unit.ended(status, &log);
            return Ok(());
        }
        if unit.state == (UnitState::Running { ready: true }) {
            return Ok(());
        }
        let ready = match &unit.part {
            Part::Target { .. } | Part::Generator { .. } => true,
            Part::Sampler(_) => fs::read_to_string(&log).is_ok_and(|log| log.lines().any(|line| line == WATCHING)),
            Part::Postgres(server) => server.says_ready() && self.answers(unit, wakeup)?,
        };
        unit.state = unit.running(ready);
        Ok(())
    }

    /// Whether a Postgres server answers a query, as its user, from where the target will ask.
    fn answers(&self, unit: &LocalUnit, wakeup: &mut Wakeup) -> Result<bool, ProcessError> {
        let (Part::Postgres(server), Role::Dependency(index)) = (&unit.part, unit.key.role) else {
            return Ok(false);
        };
        let dependency = self.manifest.spec.dependencies.get(index as usize);
        let Some((dependency, postgres)) = dependency.and_then(|one| Some((one, one.postgres.as_ref()?))) else {
            return Ok(false);
        };
        let Some(database) = self.databases.get(&dependency.name) else { return Ok(false) };
        let login =
            Login { port: server.port, user: &postgres.user, database: &postgres.database, password: &self.password };
        let name = format!("{}-question", unit.name);
        let ask = ["--command", "SELECT 1"];
        let asked = psql(&self.spawner, wakeup, &database.binaries, (&name, &self.layout.others), login, &ask, None);
        match asked {
            Ok(()) => Ok(true),
            Err(ProcessError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the planner sees.
    pub fn observe(&self) -> Observed {
        Observed {
            run: RunView {
                namespace: "local".to_owned(),
                name: self.manifest.name.clone(),
                uid: self.uid.clone(),
                generation: 1,
                created: self.created,
                deleting: false,
                spec: self.spec.clone(),
                status: self.status.clone(),
            },
            place: Place::Local,
            snapshot: self.snapshot.clone(),
            has_credentials: self.has_credentials,
            result: self.result.clone(),
            units: self.units.iter().map(LocalUnit::view).collect(),
            trials: self.trials.clone(),
        }
    }

    /// Whether something may change without a signal.
    pub fn is_in_motion(&self) -> bool {
        self.units.iter().any(LocalUnit::is_in_motion)
    }

    /// The last lines that the load generator said, if it runs.
    pub fn generator_log(&self) -> Option<std::path::PathBuf> {
        let generator = self.units.iter().find(|unit| {
            matches!(unit.part, Part::Generator { process: Some(_), .. })
                && unit.state == (UnitState::Running { ready: true })
        })?;
        Some(self.spawner.log(&generator.name))
    }

    /// The record that a measuring program printed.
    pub fn record<R: frame::Record>(&self, name: &str) -> Result<R, gaugeblock_measurement::ResultUnreadable> {
        // A log that cannot be read holds no record.
        let output = fs::read(self.spawner.output(name)).unwrap_or_default();
        frame::decode(&String::from_utf8_lossy(&output))
    }

    /// Ends whatever still runs, at once.
    pub fn end_all(&mut self) {
        for unit in &mut self.units {
            if let Part::Postgres(server) = &mut unit.part {
                server.ask_to_end();
            }
        }
        let asked = Instant::now();
        for unit in &mut self.units {
            let Some(process) = unit.process() else { continue };
            while process.was_asked()
                && process.poll(&self.spawner).is_none()
                && asked.elapsed() < Duration::from_secs(3)
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            process.end_now(&self.spawner);
        }
        self.units.clear();
        for database in self.databases.values() {
            warden::remove(&database.folder);
        }
        warden::remove(&self.folder.processes());
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Random bytes of the kernel, in hexadecimal.
pub fn random(bytes: usize) -> io::Result<String> {
    use std::{fmt::Write as _, io::Read as _};
    let mut random = vec![0; bytes];
    fs::File::open(Path::new("/dev/urandom"))?.read_exact(&mut random)?;
    Ok(random.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// A state of a unit that was just created.
pub const fn starting() -> UnitState {
    UnitState::Pending(Waiting::Starting)
}
