//! The loop: observe → plan → execute, until the run has finished.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use gaugeblock_crds::{BenchmarkRunStatus, condition::ConditionType};
use gaugeblock_planner::{Observed, TrialSummary, plan};
use gaugeblock_report::Report;
use jiff::Timestamp;

use crate::{
    cpu_list::CpuList,
    estimate,
    execute::ExecuteError,
    folder::{FolderError, RunFolder},
    layout::{self, Layout, Wanted},
    listener::{Listener, Load, News},
    manifest::Manifest,
    port::Ports,
    prepare::{self, PrepareError, Workshop},
    process::{ProcessError, Spawner},
    program::Programs,
    wakeup::Wakeup,
    world::{World, random},
};

/// Between two looks while something starts or ends, which no signal tells.
const IN_MOTION: Duration = Duration::from_millis(10);
/// The longest sleep: progress is shown by the second.
const LONGEST: Duration = Duration::from_secs(1);
/// The longest an interrupted run takes to end in order.
const INTERRUPTED: Duration = Duration::from_secs(15);

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folder for everything that the run leaves behind; one of its own when absent.
    pub output_dir: Option<PathBuf>,
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its last status.
    pub status: BenchmarkRunStatus,
    /// Its report, if it came as far as a plan.
    pub report: Option<Report>,
    /// Its folder.
    pub folder: PathBuf,
    /// The Markdown report, if it was written.
    pub report_file: Option<PathBuf>,
    /// Logs of what failed.
    pub logs: Vec<PathBuf>,
    /// Whether someone asked to stop.
    pub interrupted: bool,
}

/// Why a run could not be carried out. A target that fails is no such error.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// A file of the run.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// This machine's CPUs.
    #[error("failed to read or take CPUs")]
    Cpus(#[source] io::Error),
    /// Signals.
    #[error("failed to listen to signals")]
    Signals(#[source] io::Error),
    /// The warden.
    #[error("failed to start the process that cleans up")]
    Warden(#[source] io::Error),
    /// Randomness.
    #[error("failed to read /dev/urandom")]
    Random(#[source] io::Error),
    /// Builds, programs, databases.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A process.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// An action of the plan.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Someone asked to stop before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

/// Runs a manifest to its end.
///
/// Call it from the main thread: the kernel ends the processes of a run when the *thread* that
/// started them ends.
pub fn run(manifest: &Manifest, options: &Options, listener: &mut dyn Listener) -> Result<Finished, LocalError> {
    let created = Timestamp::now();
    let mut wakeup = Wakeup::listen().map_err(LocalError::Signals)?;
    let allowed = CpuList::allowed().map_err(|error| LocalError::Cpus(error.into()))?;
    let layout = Layout::of(&layout::cores(&allowed), wanted(manifest));
    let folder = RunFolder::create(options.output_dir.as_deref(), &manifest.name, created)?;
    let uid = random(16).map_err(LocalError::Random)?;
    let spawner = Spawner::new(&uid, &folder.logs()).map_err(LocalError::Warden)?;
    spawner.warden.enter_folder(&folder.processes());
    listener.hear(News::Began { folder: folder.root() });
    let mut world = World {
        manifest,
        folder,
        spawner,
        layout,
        ports: Ports::begin(),
        arms: Vec::new(),
        programs: Programs::default(),
        ran: BTreeMap::new(),
        databases: BTreeMap::new(),
        password: random(16).map_err(LocalError::Random)?,
        notes: Vec::new(),
        uid,
        created,
        spec: manifest.spec.clone(),
        status: BenchmarkRunStatus::default(),
        snapshot: None,
        has_credentials: false,
        result: None,
        units: Vec::new(),
        trials: Vec::new(),
        records: Vec::new(),
        kept_logs: Vec::new(),
    };
    match prepare(&mut world, &allowed, &mut wakeup, listener) {
        Err(_) if wakeup.interrupted() => return Err(LocalError::Interrupted),
        prepared => prepared?,
    }
    let interrupted = drive(&mut world, &mut wakeup, listener)?;
    world.end_all();
    finish(&world, interrupted)
}

/// What the manifest asks for, in whole CPUs.
fn wanted(manifest: &Manifest) -> Wanted {
    let whole = |cpus: f64| cpus.ceil().max(1.0) as u32;
    let spec = &manifest.spec;
    let of_targets = spec.targets.iter().filter_map(|target| target.resources.cpu.value().ok());
    let postgres = spec.dependencies.iter().filter_map(|dependency| dependency.postgres.as_ref());
    let of_dependencies: f64 = postgres.filter_map(|postgres| postgres.resources.cpu.value().ok()).sum();
    Wanted {
        target: whole(of_targets.fold(0.0, f64::max)),
        generator: whole(spec.generator.resources.cpu.value().unwrap_or(1.0)),
        dependencies: of_dependencies.ceil() as u32,
    }
}

/// Everything before the first trial.
fn prepare(
    world: &mut World<'_>,
    allowed: &CpuList,
    wakeup: &mut Wakeup,
    listener: &mut dyn Listener,
) -> Result<(), LocalError> {
    for kind in &world.manifest.ignored {
        listener.hear(News::Note(&format!("{kind}: not used without a cluster")));
    }
    prepare::build(world.manifest, allowed, &world.spawner, wakeup, listener)?;
    world.arms = prepare::programs(world.manifest)?;
    let workshop = Workshop {
        manifest: world.manifest,
        uid: &world.uid,
        data: &world.folder.data(),
        password: &world.password,
        cpus: allowed,
    };
    let (databases, notes) = prepare::databases(&workshop, &mut world.ports, &world.spawner, wakeup, listener)?;
    world.databases = databases;
    world.notes = notes;
    for note in world.layout.shared.iter().chain(&world.notes) {
        listener.hear(News::Note(note));
    }
    // From here on this process keeps off the target's CPUs.
    world.layout.others.pin().map_err(|error| LocalError::Cpus(error.into()))
}

/// Observes, plans and executes until the run has finished. Whether someone asked to stop.
fn drive(world: &mut World<'_>, wakeup: &mut Wakeup, listener: &mut dyn Listener) -> Result<bool, LocalError> {
    let mut last: Option<(Observed, Instant)> = None;
    let mut again = LONGEST;
    let mut interrupted: Option<Instant> = None;
    let began = Instant::now();
    let mut voice = GeneratorVoice::default();
    loop {
        match world.look(wakeup) {
            Err(ProcessError::Interrupted) => {}
            looked => looked?,
        }
        if wakeup.interrupted() && interrupted.is_none() {
            interrupted = Some(Instant::now());
            // The plan's own way to end early: what was measured is kept and judged.
            world.spec.cancel = true;
            listener.hear(News::Interrupted);
        }
        if interrupted.is_some_and(|since| since.elapsed() > INTERRUPTED) {
            return Ok(true);
        }
        let observed = world.observe();
        let unchanged = last.as_ref().is_some_and(|(known, at)| *known == observed && at.elapsed() < again);
        if unchanged {
            tell(world, listener, &mut voice, began);
            wakeup.wait(if world.is_in_motion() { IN_MOTION } else { LONGEST.min(again) });
            continue;
        }
        let now = Timestamp::now();
        let plan = plan(&observed, now);
        last = Some((observed, Instant::now()));
        again = plan.again.unwrap_or(LONGEST);
        let stored = world.trials.len();
        for action in plan.actions {
            match world.execute(action, Timestamp::now()) {
                Err(ExecuteError::Process(ProcessError::Interrupted)) => break,
                executed => executed?,
            }
        }
        for trial in &world.trials[stored..] {
            let arm = manifest_arm(world, trial);
            listener.hear(News::Stored { arm, trial });
        }
        if plan.status != world.status {
            world.status = plan.status;
            world.folder.write_status(&world.status)?;
            listener.hear(News::Status(&world.status));
        }
        for event in &plan.events {
            listener.hear(News::Event(event));
        }
        let finished = gaugeblock_planner::status::is(&world.status, ConditionType::Finished);
        if finished && world.units.is_empty() {
            return Ok(interrupted.is_some());
        }
    }
}

fn manifest_arm<'a>(world: &'a World<'_>, trial: &TrialSummary) -> &'a str {
    world.manifest.spec.targets.get(trial.slot.arm as usize).map_or("", |target| target.name.as_str())
}

/// What the load generator said last.
#[derive(Debug, Default)]
struct GeneratorVoice {
    file: PathBuf,
    heard: usize,
}

fn tell(world: &World<'_>, listener: &mut dyn Listener, voice: &mut GeneratorVoice, began: Instant) {
    let Some(snapshot) = &world.snapshot else { return };
    let first = world.units.iter().map(|unit| unit.created).min();
    let current = first
        .map_or(Duration::ZERO, |first| Duration::try_from(Timestamp::now().duration_since(first)).unwrap_or_default());
    let progress = estimate::progress(snapshot, &world.trials, began.elapsed(), current);
    listener.hear(News::Progress(progress));
    if !listener.is_live() {
        return;
    }
    if let Some(load) = world.generator_log().and_then(|log| voice.listen(&log)) {
        listener.hear(News::Load(&load));
    }
}

impl GeneratorVoice {
    /// The last whole line that is new.
    fn listen(&mut self, log: &Path) -> Option<Load> {
        if self.file != log {
            *self = Self { file: log.to_owned(), heard: 0 };
        }
        let text = fs::read_to_string(log).ok()?;
        let new = text.get(self.heard..)?;
        let whole = new.rfind('\n')?;
        self.heard += whole + 1;
        new[..whole].lines().rev().find_map(|line| serde_json::from_str(line).ok())
    }
}

fn finish(world: &World<'_>, interrupted: bool) -> Result<Finished, LocalError> {
    let report = world.report();
    let mut report_file = None;
    if let Some(report) = &report {
        world.folder.write_report(report)?;
        report_file = Some(world.folder.report());
    }
    Ok(Finished {
        status: world.status.clone(),
        report,
        folder: world.folder.root().to_owned(),
        report_file,
        logs: world.kept_logs.clone(),
        interrupted,
    })
}
