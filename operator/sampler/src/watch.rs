//! The loop: look often while the target starts, then sample, until it is gone.

use std::os::fd::AsFd as _;

use gaugeblock_measurement::{
    SamplerPlan, UnixNanos,
    sampler::{ContainerSeries, CpuSeries, End, Exclusivity, Start},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    time::Timespec,
};

use crate::{
    cgroup::kubepods::Kubepods,
    clock::{self, SECOND, monotonic},
    cpu_set::CpuSet,
    host_cpu::{self, HostCpus},
    kernel_file::Buffer,
    notes::Notes,
    pod::Node,
    process::Proc,
    proof::Prover,
    signals::Signals,
    start::Starting,
    unit::{Presence, Unit},
};

/// Time between two proofs while the target has its CPUs to itself (ns).
const PROOF: u64 = 5 * SECOND;
/// The same while it does not, at first: the kubelet takes a CPU out of the others' sets only at its
/// next reconciliation, by default within 10 s.
const PROOF_WHILE_SHARED: u64 = SECOND;
/// How long it is waited for that (ns).
const RECONCILIATION: u64 = 20 * SECOND;

/// Everything under watch.
pub struct Watcher<'a> {
    plan: &'a SamplerPlan,
    proc: &'a Proc,
    signals: &'a Signals,
    target: Unit,
    others: Vec<Unit>,
    starts: Vec<Starting>,
    host: Option<HostCpus>,
    prover: Prover<'a>,
    schedule: Schedule,
    buffer: Buffer,
    /// What could not be read.
    pub notes: Notes,
}

/// When what is due (monotonic ns).
struct Schedule {
    sample: u64,
    host: u64,
    proof: u64,
    first_proof: Option<u64>,
    appear: u64,
    end: u64,
}

/// What was seen.
pub struct Seen {
    /// How it ended.
    pub end: End,
    /// When.
    pub ended: UnixNanos,
    /// The kubelet that the target belonged to.
    pub kubelet: Option<Kubepods>,
    /// Every start.
    pub starts: Vec<Start>,
    /// Every series, the target's first.
    pub series: Vec<ContainerSeries>,
    /// The machine's CPUs.
    pub cpus: Vec<CpuSeries>,
    /// The proofs.
    pub exclusivity: Vec<Exclusivity>,
    /// CPUs of the target.
    pub target_cpus: CpuSet,
    /// What could not be read.
    pub notes: Notes,
}

impl<'a> Watcher<'a> {
    /// Gets ready; `None` where a pod is to be watched and there is no cgroup tree.
    pub fn new(
        plan: &'a SamplerPlan,
        proc: &'a Proc,
        node: Option<&'a Node>,
        online: CpuSet,
        signals: &'a Signals,
    ) -> Option<Self> {
        let now = monotonic();
        Some(Self {
            plan,
            proc,
            signals,
            target: Unit::new(&plan.target, node, proc)?,
            others: plan.others.iter().map(|watch| Unit::new(watch, node, proc)).collect::<Option<_>>()?,
            starts: Vec::new(),
            host: None,
            prover: Prover::new(node, proc, online),
            schedule: Schedule {
                sample: now,
                host: now,
                proof: u64::MAX,
                first_proof: None,
                appear: now.saturating_add(plan.appear_time_out),
                end: now.saturating_add(plan.deadline),
            },
            buffer: Buffer::default(),
            notes: Notes::default(),
        })
    }

    /// Watches until there is nothing more to watch. `ready` is called after the first look, from
    /// which on nothing is missed.
    pub fn run(mut self, ready: impl FnOnce()) -> Seen {
        self.target.look(true, self.proc, &mut self.buffer, &mut self.notes);
        ready();
        let mut roused = false;
        let end = loop {
            if self.signals.stop() {
                break End::Interrupted;
            }
            if self.signals.take_window_over() {
                self.read_private();
            }
            if let Some(end) = self.step(roused) {
                break end;
            }
            roused = self.sleep();
        };
        self.finish(end)
    }

    /// Does what is due; answers how it ended, if it did. `roused` when a descriptor was ready.
    fn step(&mut self, roused: bool) -> Option<End> {
        if roused {
            for unit in std::iter::once(&mut self.target).chain(&mut self.others) {
                unit.sample_ended(self.proc, &mut self.buffer, &mut self.notes);
            }
        }
        let urgent = roused || self.is_urgent();
        self.target.look(urgent, self.proc, &mut self.buffer, &mut self.notes);
        let now = monotonic();
        match self.target.presence(&self.plan.container) {
            Presence::Gone => return Some(End::TargetGone),
            Presence::Absent if self.starts.is_empty() && now > self.schedule.appear => {
                return Some(End::NeverAppeared);
            }
            Presence::Absent => {}
            Presence::Running(began) => {
                if self.starts.last().is_none_or(|start| start.began().process != began.process) {
                    let Self { plan, proc, .. } = self;
                    self.starts.push(Starting::new(began, plan, proc));
                    self.schedule.sample = now;
                }
            }
        }
        if now > self.schedule.end {
            return Some(End::DeadlineExceeded);
        }
        self.follow_start(now);
        self.sample(now);
        self.prove(now);
        None
    }

    fn follow_start(&mut self, now: u64) {
        let Some(start) = self.starts.last_mut() else {
            return;
        };
        let answered = start.is_answering();
        let Self { target, proc, .. } = self;
        start.look(self.plan, |inode| target.owns_socket(proc, inode), &mut self.buffer, &mut self.notes);
        if !answered && start.is_answering() {
            self.target.settle(self.proc, &mut self.notes);
            self.others.iter_mut().for_each(|other| other.settle(self.proc, &mut self.notes));
        }
        // Reading every container of the node takes milliseconds: not while an answer is awaited.
        if self.schedule.proof == u64::MAX && start.is_settled() {
            self.schedule.proof = now;
        }
    }

    fn sample(&mut self, now: u64) {
        if now < self.schedule.sample || self.starts.is_empty() {
            return;
        }
        // On a fixed grid: what one sample is late, the next one is not.
        let interval = self.plan.interval;
        let missed = now.saturating_sub(self.schedule.sample) / interval;
        self.schedule.sample += (missed + 1) * interval;
        self.target.sample(self.proc, &mut self.buffer, &mut self.notes);
        for other in &mut self.others {
            other.look(false, self.proc, &mut self.buffer, &mut self.notes);
            other.sample(self.proc, &mut self.buffer, &mut self.notes);
        }
        if now < self.schedule.host {
            return;
        }
        self.schedule.host = now + host_cpu::INTERVAL.max(interval);
        if let Some(host) = &mut self.host
            && let Err(error) = host.sample(clock::now(), &mut self.buffer)
        {
            self.notes.add(format!("/proc/stat cannot be read: {error}"));
        }
    }

    fn prove(&mut self, now: u64) {
        if now < self.schedule.proof {
            return;
        }
        let exclusive =
            self.prover.prove(&self.target, &self.plan.container, &self.others, &mut self.buffer, &mut self.notes);
        let since = *self.schedule.first_proof.get_or_insert(now);
        let hope = exclusive == Some(false) && now.saturating_sub(since) < RECONCILIATION;
        self.schedule.proof = now + if hope { PROOF_WHILE_SHARED } else { PROOF };
        if self.host.is_none() && !self.prover.target_cpus().is_empty() {
            match HostCpus::open(self.proc, self.prover.target_cpus()) {
                Ok(host) => self.host = Some(host),
                Err(error) => self.notes.add(format!("/proc/stat cannot be read: {error}")),
            }
        }
    }

    fn read_private(&mut self) {
        for unit in std::iter::once(&mut self.target).chain(&mut self.others) {
            unit.read_private(self.proc, &mut self.buffer, &mut self.notes);
        }
    }

    /// Whether something is about to start.
    fn is_urgent(&self) -> bool {
        self.target.is_starting(&self.plan.container) || self.starts.last().is_some_and(|start| !start.is_over())
    }

    /// Sleeps until something is due, a program ends, an answer comes, or a signal; answers whether a
    /// descriptor is ready.
    fn sleep(&self) -> bool {
        let now = monotonic();
        let due = if self.target.is_starting(&self.plan.container) {
            now + self.plan.start_poll
        } else {
            let awaited = self.starts.last().filter(|start| !start.is_over());
            awaited.map_or(u64::MAX, |start| now.saturating_add(start.pace()))
        };
        let sampling = if self.starts.is_empty() { u64::MAX } else { self.schedule.sample };
        let until =
            [due, sampling, self.schedule.proof, self.schedule.end, now + SECOND].into_iter().min().unwrap_or(now);
        let span = until.saturating_sub(now);
        let time_out = Timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as i64 };
        let mut descriptors: Vec<PollFd> = std::iter::once(&self.target)
            .chain(&self.others)
            .flat_map(Unit::end_descriptors)
            .map(|end| PollFd::new(end, PollFlags::IN))
            .collect();
        if let Some((stream, flags)) = self.starts.last().and_then(Starting::descriptor) {
            descriptors.push(PollFd::from_borrowed_fd(stream.as_fd(), flags));
        }
        // Interrupted by a signal: the loop looks at its flags.
        poll(&mut descriptors, Some(&time_out)).is_ok_and(|ready| ready > 0)
    }

    fn finish(self, end: End) -> Seen {
        let ended = clock::now();
        let Self { plan, proc, signals: _, target, others, starts, host, prover, schedule: _, mut buffer, mut notes } =
            self;
        let kubelet = target.kubelet().cloned();
        let mut series = target.finish(Some(&plan.container), proc, &mut buffer, &mut notes);
        for other in others {
            series.extend(other.finish(None, proc, &mut buffer, &mut notes));
        }
        let starts = starts.into_iter().map(|start| start.finish(&mut notes)).collect();
        let cpus = host.map(HostCpus::finish).unwrap_or_default();
        let target_cpus = prover.target_cpus().clone();
        Seen { end, ended, kubelet, starts, series, cpus, exclusivity: prover.finish(), target_cpus, notes }
    }
}
