//! What the sampler reports of one trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{TrialId, UnixNanos, fingerprint::Fingerprint, identity::Program};

/// Everything the sampler read from the kernel in one stage of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplerRecord {
    /// [`crate::RECORD_VERSION`].
    pub version: u32,
    /// Who wrote it.
    pub program: Program,
    /// Whose it is.
    pub trial: TrialId,
    /// Node it ran on, as far as it was told.
    pub node: Option<String>,
    /// UID of the target pod (in local mode, of the process unit).
    pub target_uid: String,
    /// Where the figures come from.
    pub source: Source,
    /// Interval between two samples (ns).
    pub interval: u64,
    /// When watching began; a target whose cgroup was there already was not seen starting.
    pub started: UnixNanos,
    /// When the target's cgroup had vanished, or watching ended otherwise.
    pub ended: UnixNanos,
    /// How watching ended.
    pub end: End,
    /// Every start that was seen, the first one first.
    pub starts: Vec<Start>,
    /// One series per container (or process unit) watched: the target's, and the dependencies'.
    pub series: Vec<ContainerSeries>,
    /// The node's CPUs over time, for the CPUs of the target.
    pub cpus: Vec<CpuSeries>,
    /// Proof of exclusive CPUs: one reading after the start and one before the end.
    pub exclusivity: Vec<Exclusivity>,
    /// Machine speed, before and after.
    pub speed: Vec<SpeedProbe>,
    /// The machine.
    pub fingerprint: Fingerprint,
    /// What could not be read, in words, each once.
    pub notes: Vec<String>,
}

/// Where a sampler's figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// cgroup version 1, with the driver that named the folders.
    CgroupV1(Driver),
    /// cgroup version 2, with the driver that named the folders.
    CgroupV2(Driver),
    /// A tree of processes under one root process (local mode without a cgroup).
    ProcessTree,
}

/// The kubelet's cgroup driver, told from the folders' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Driver {
    /// `kubepods/pod<UID>/<ID>`.
    Cgroupfs,
    /// `kubepods.slice/…-pod<UID>.slice/cri-containerd-<ID>.scope`.
    Systemd,
}

/// How the sampler's watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The target's container is gone: the normal end.
    TargetGone,
    /// The target never appeared within its time.
    NeverAppeared,
    /// The time allowed was used up.
    DeadlineExceeded,
    /// The sampler was told to stop.
    Interrupted,
}

/// One start of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Whether the sampler was watching before the process began.
    pub watched: bool,
    /// Start of the program: in a container, the first look that saw it instead of the runtime's own
    /// process; of a process, its start as the launcher told it, or as the kernel has it (10 ms steps),
    /// narrowed by the first look and the time that it has run since.
    pub process: UnixNanos,
    /// First time a listening socket was seen on the target's port.
    pub listening: Option<UnixNanos>,
    /// First correct answer.
    pub answering: Option<UnixNanos>,
    /// Interval between two looks (ns): the resolution.
    pub poll: u64,
}

/// Cumulative and momentary figures of one container over time. All columns are as long as `at`;
/// a column that the kernel does not offer is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerSeries {
    /// Container name, or the unit's name in local mode.
    pub name: String,
    /// Container ID, empty in local mode.
    pub container_id: String,
    /// Whether this is the measured container of the target.
    pub target: bool,
    /// Time of each sample.
    pub at: Vec<UnixNanos>,
    /// CPU time used since the start (ns, cumulative).
    pub cpu: Vec<u64>,
    /// User part of it (ns, cumulative). Tick-sampled on many kernels: shown, never gated.
    pub cpu_user: Vec<u64>,
    /// System part of it (ns, cumulative).
    pub cpu_system: Vec<u64>,
    /// Time throttled by a CFS quota (ns, cumulative).
    pub throttled: Vec<u64>,
    /// Periods throttled (cumulative).
    pub throttled_periods: Vec<u64>,
    /// Time runnable but not running (ns, cumulative over the tasks seen).
    pub run_wait: Vec<u64>,
    /// Anonymous + shared + swapped memory (bytes).
    pub anonymous: Vec<u64>,
    /// Usage without inactive file pages, as the kubelet has it (bytes).
    pub working_set: Vec<u64>,
    /// Page cache (bytes).
    pub file: Vec<u64>,
    /// Number of processes.
    pub processes: Vec<u64>,
    /// Involuntary context switches (cumulative over the tasks seen).
    pub involuntary_switches: Vec<u64>,
    /// Highest usage that the kernel kept (bytes); where that was the runtime's own start, the
    /// highest sample.
    pub peak: Option<u64>,
    /// Private_Clean + Private_Dirty of all processes, read once after the window (bytes).
    pub private: Option<u64>,
    /// Memory limit (bytes).
    pub memory_limit: Option<u64>,
    /// OOM kills inside the container, children included.
    pub oom_kills: u64,
    /// Further figures by name, each as long as `at`: room for what later versions add.
    pub more: BTreeMap<String, Vec<u64>>,
}

/// One CPU of the node over time, from `/proc/stat` (ns, cumulative).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSeries {
    /// CPU number.
    pub cpu: u32,
    /// Time of each sample.
    pub at: Vec<UnixNanos>,
    /// Everything but idle and I/O wait.
    pub busy: Vec<u64>,
    /// Taken by the hypervisor.
    pub steal: Vec<u64>,
    /// Hard and soft interrupts.
    pub interrupts: Vec<u64>,
}

/// Which CPUs each container of the node may use, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exclusivity {
    /// When.
    pub at: UnixNanos,
    /// The target's CPU set, such as `1` or `2-3`.
    pub target_cpus: String,
    /// CFS quota of the target in CPUs; `None` when there is none (as for exclusive CPUs).
    pub quota_cpus: Option<f64>,
    /// All other containers of the node.
    pub others: Vec<Neighbour>,
    /// Whether no other container's CPU set overlaps and the target's set is smaller than the
    /// machine.
    pub exclusive: bool,
    /// Why it is not exclusive, in words.
    pub reason: Option<String>,
}

/// Another container (or process unit) on the same machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// UID of its pod, or the unit's name.
    pub pod_uid: String,
    /// Its container ID.
    pub container_id: String,
    /// Its CPU set.
    pub cpus: String,
    /// Whether it overlaps the target's.
    pub overlaps: bool,
}

/// How long a fixed integer loop took: machine speed where frequency cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedProbe {
    /// When.
    pub at: UnixNanos,
    /// On which CPU.
    pub cpu: u32,
    /// Best of the repetitions (ns).
    pub nanos: u64,
    /// Version of the loop.
    pub loop_version: u32,
}
