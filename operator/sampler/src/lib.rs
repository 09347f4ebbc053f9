//! The sampler: what a target used, read from the kernel, without touching it.
//!
//! It watches one target and the dependencies beside it: a pod by its UID in the node's cgroup tree
//! (version 1 or 2, cgroupfs or systemd driver), or a tree of processes in local mode. It looks each
//! millisecond while the target starts, then samples at the plan's interval, and prints one framed
//! [`SamplerRecord`] when the target is gone. It needs no privilege but to see the target's processes (hostPID)
//! and the cgroup tree, and no network but to the target.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    rc::Rc,
};

use gaugeblock_measurement::{
    RECORD_VERSION, SamplerPlan, SamplerRecord, frame,
    identity::Program,
    plan::Watch,
    sampler::{Driver, Source},
};

pub mod answer;
pub mod arguments;
pub mod cgroup;
pub mod clock;
pub mod cpu_set;
pub mod door;
pub mod exclusivity;
pub mod fingerprint;
pub mod host_cpu;
pub mod kernel_file;
pub mod listener;
pub mod neighbours;
pub mod notes;
pub mod pod;
pub mod process;
pub mod process_clock;
pub mod process_tree;
pub mod proof;
pub mod series;
pub mod signals;
pub mod speed;
pub mod start;
pub mod tasks;
pub mod unit;
pub mod watch;

use arguments::{Arguments, PlanError};
use cgroup::{NoTree, Tree, kubepods::Kubepods};
use fingerprint::{Sys, fingerprint};
use notes::Notes;
use pod::Node;
use process::Proc;
use signals::Signals;
use watch::{Seen, Watcher};

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No cgroup tree, and a pod to watch.
    #[error(transparent)]
    NoTree(#[from] NoTree),
    /// Signals.
    #[error("failed to listen to signals")]
    Signals(#[source] io::Error),
    /// The record could not be written down.
    #[error("failed to encode the record")]
    Encode(#[source] serde_json::Error),
    /// Standard output is closed or full.
    #[error("failed to print the record")]
    Print(#[source] io::Error),
}

/// Runs the sampler with the process's own arguments.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Runs the sampler with a command line whose first word is the program's name. Exit code 0: a
/// record was printed; 1: there is none, and standard error says why; 2: wrong arguments.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::parse_words(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match sample(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut message = format!("gaugeblock-sampler: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                message = format!("{message}: {cause}");
                source = cause.source();
            }
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn sample(arguments: &Arguments) -> Result<(), SamplerError> {
    let plan = arguments.read_plan()?;
    let signals = Signals::register().map_err(SamplerError::Signals)?;
    let record = watch(&plan, arguments, &signals)?;
    let lines = frame::encode(&record).map_err(SamplerError::Encode)?;
    let mut out = io::stdout().lock();
    out.write_all(lines.as_bytes()).and_then(|()| out.flush()).map_err(SamplerError::Print)
}

/// Watches what the plan names, and answers the record.
pub fn watch(plan: &SamplerPlan, arguments: &Arguments, signals: &Signals) -> Result<SamplerRecord, SamplerError> {
    let proc = Rc::new(Proc::new(arguments.proc_root.clone()));
    let sys = Sys::new(arguments.sys_root.clone());
    let tree = tree(plan, &arguments.cgroup_root)?;
    let fingerprint = fingerprint(&proc, &sys, tree.as_ref());
    let node = tree.map(|tree| Node { tree: Rc::new(tree), proc: Rc::clone(&proc) });

    let mut notes = Notes::default();
    let mut speed = speed::probe(&speed::allowed(), &mut notes);
    let online = sys.online_cpus();
    let Some(watcher) = Watcher::new(plan, &proc, node.as_ref(), online, signals) else {
        return Err(NoTree::at(&arguments.cgroup_root).into());
    };
    let started = clock::now();
    let seen = watcher.run(|| eprintln!("watching"));
    let Seen { end, ended, kubelet, starts, series, cpus, exclusivity, target_cpus, notes: more } = seen;
    let mut after = speed::probe(&target_cpus, &mut notes);
    if after.is_empty() {
        // The target's own CPUs are given back only later: at least the machine's.
        after = speed::probe(&speed::allowed(), &mut notes);
    }
    speed.extend(after);
    more.into_vec().into_iter().for_each(|note| notes.add(note));
    Ok(SamplerRecord {
        version: RECORD_VERSION,
        program: Program { name: "gaugeblock-sampler".into(), version: env!("CARGO_PKG_VERSION").into() },
        trial: plan.trial.clone(),
        node: arguments.node.clone(),
        target_uid: uid(&plan.target).to_owned(),
        source: source(plan, node.as_ref(), kubelet.as_ref()),
        interval: plan.interval,
        started,
        ended,
        end,
        starts,
        series,
        cpus,
        exclusivity,
        speed,
        fingerprint,
        notes: notes.into_vec(),
    })
}

/// The cgroup tree, which only a pod needs.
fn tree(plan: &SamplerPlan, root: &Path) -> Result<Option<Tree>, NoTree> {
    let pods = std::iter::once(&plan.target).chain(&plan.others).any(|watch| matches!(watch, Watch::Pod { .. }));
    match Tree::detect(root) {
        Ok(tree) => Ok(Some(tree)),
        Err(error) if pods => Err(error),
        Err(_) => Ok(None),
    }
}

fn source(plan: &SamplerPlan, node: Option<&Node>, kubelet: Option<&Kubepods>) -> Source {
    let Some(node) = node.filter(|_| matches!(plan.target, Watch::Pod { .. })) else {
        return Source::ProcessTree;
    };
    // A pod that never appeared has no kubelet: the first of the node's stands for it.
    let driver = match kubelet {
        Some(kubelet) => kubelet.driver(),
        None => Kubepods::search(node.tree.lookup()).first().map_or(Driver::Cgroupfs, Kubepods::driver),
    };
    match *node.tree {
        Tree::Version1(_) => Source::CgroupV1(driver),
        Tree::Version2(_) => Source::CgroupV2(driver),
    }
}

fn uid(watch: &Watch) -> &str {
    match watch {
        Watch::Pod { uid, .. } | Watch::ProcessFile { uid, .. } => uid,
    }
}
