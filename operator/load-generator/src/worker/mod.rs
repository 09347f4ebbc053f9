//! One worker thread: its share of the connections and of the load, in one epoll loop.
//!
//! Latency is true only if the loop never waits for anything but the kernel: no locks, no
//! allocation per request, no timers of a runtime. Requests are not queued: an arrival that finds
//! no free connection stays the schedule's next one and counts from the time it was meant for
//! (coordinated omission, Gil Tene's wrk2). The connection that has been idle longest is taken: the
//! most recently used one is the warmest, and hides the latency that the others would have had.

mod demand;
mod links;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    net::SocketAddr,
};

use gaugeblock_measurement::plan::LoadPlan;

use crate::{
    clock::{self, MICROSECOND, MILLISECOND, SECOND},
    connection::{BUFFER, Connection, State},
    control::Control,
    poller::{Poller, Ready, Wait},
    random::{Random, Stream},
    request::Scratch,
    schedule::Schedule,
    tally::{Tally, Times},
    workload::Requests,
};

/// Before a send the loop spins this long instead of sleeping, as the kernel wakes a sleeper some
/// 15 to 50 µs late (measured: a quarter of a core at 5,000/s).
const SPIN: u64 = 40 * MICROSECOND;
/// Longest wait, after which the worker looks whether it shall stop.
const LONGEST_WAIT: u64 = 100 * MILLISECOND;
/// Time allowed for opening all connections before the load begins.
const OPENING: u64 = 10 * SECOND;

/// What one worker has to do.
#[derive(Debug)]
pub struct Job<'a> {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Number of workers.
    pub workers: u32,
    /// Number of the scenario, from 0.
    pub scenario: u64,
    /// Seed of the whole load.
    pub seed: u64,
    /// Where to connect.
    pub target: SocketAddr,
    /// What to send.
    pub requests: &'a Requests,
    /// The load of all workers together.
    pub load: LoadPlan,
    /// Connections of this worker.
    pub connections: u32,
    /// Limit for one request (ns).
    pub time_out: u64,
    /// Whether to spin all the time, and on which CPU.
    pub spin: bool,
    /// CPU to stay on.
    pub cpu: Option<usize>,
}

/// What one worker measured.
#[derive(Debug)]
pub struct Work {
    /// Counts and histograms.
    pub tally: Tally,
    /// When it ended (monotonic ns).
    pub ended: u64,
    /// What it used of the machine inside the window.
    pub usage: Usage,
    /// Most connections open at once.
    pub connections_peak: u32,
    /// Connections opened inside the window.
    pub connections_opened: u64,
    /// Time inside the window in which no connection was idle (ns); the whole of it in a closed
    /// loop.
    pub none_idle: u64,
}

/// What a thread used of the machine (ns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub cpu: u64,
    /// Wall time in which it only waited actively for the next send or answer.
    pub spun: u64,
    /// Time runnable without a CPU; `None` where the kernel does not tell.
    pub run_wait: Option<u64>,
}

/// What makes a worker send.
#[derive(Debug)]
enum Demand {
    /// Nothing yet.
    Waiting,
    /// Every free connection.
    Closed,
    /// The next time in a schedule.
    Open(Schedule),
}

/// Which boundary of the window comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    Before,
    Inside(Usage),
    After(Usage),
}

/// A worker at work.
#[derive(Debug)]
pub struct Worker<'a> {
    job: Job<'a>,
    control: &'a Control,
    poller: Poller,
    links: Vec<Connection>,
    /// Free connections, the one free longest first.
    idle: VecDeque<u32>,
    /// Connections to open, by the earliest time at which to try.
    closed: BinaryHeap<Reverse<(u64, u32)>>,
    /// Connections being opened.
    opening: u32,
    /// Connections open.
    open: u32,
    peak: u32,
    opened: u64,
    /// Since when every attempt to connect was refused, with no connection open.
    refused_since: Option<u64>,
    none_idle: u64,
    none_idle_since: Option<u64>,
    demand: Demand,
    random: Random,
    scratch: Scratch,
    times: Times,
    tally: Tally,
    /// Requests of the window under way.
    counted: u32,
    next_expiry: u64,
    window: Window,
    spun: u64,
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    /// A worker with nothing open.
    pub fn new(job: Job<'a>, control: &'a Control) -> Result<Self, rustix::io::Errno> {
        let times = Times { start: u64::MAX, open: u64::MAX, close: u64::MAX, end: u64::MAX };
        let links: Vec<Connection> = (0..job.connections).map(|_| Connection::default()).collect();
        Ok(Self {
            control,
            poller: Poller::new()?,
            idle: VecDeque::with_capacity(links.len()),
            closed: (0..job.connections).map(|index| Reverse((0, index))).collect(),
            links,
            opening: 0,
            open: 0,
            peak: 0,
            opened: 0,
            refused_since: None,
            none_idle: 0,
            none_idle_since: None,
            demand: Demand::Waiting,
            random: Random::new(job.seed, job.scenario, job.worker.into(), Stream::Mix),
            scratch: Scratch::default(),
            times,
            tally: Self::tally(&job, times),
            counted: 0,
            next_expiry: 0,
            window: Window::Before,
            spun: 0,
            // Zeroed by the kernel on first touch, and most of it is never touched.
            buffer: vec![0; BUFFER],
            job,
        })
    }

    fn tally(job: &Job, times: Times) -> Tally {
        let names = job.requests.requests.iter().map(|request| request.name.clone());
        let closed = matches!(job.load, LoadPlan::Closed { .. });
        Tally::new(names, times, job.time_out, closed)
    }

    /// Opens all connections, or as many as can be had in ten seconds.
    pub fn open_all(&mut self) -> Result<(), rustix::io::Errno> {
        if let Some(cpu) = self.job.cpu {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu);
            // Where it is refused, the thread may wander, which the run-queue wait shows.
            let _ = rustix::thread::sched_setaffinity(None, &set);
        }
        let began = clock::monotonic();
        let mut ready = Vec::new();
        while (self.open as usize) < self.links.len() && !self.control.is_stopped() {
            let now = clock::monotonic();
            if now > began + OPENING {
                break;
            }
            self.look_after_links(now);
            self.poller.wait(Wait::Until(now + MILLISECOND), &mut ready)?;
            for event in &ready {
                self.notice(*event);
            }
        }
        Ok(())
    }

    /// Loads the target at the given times.
    pub fn load(mut self, times: Times) -> Result<Work, rustix::io::Errno> {
        self.times = times;
        self.tally = Self::tally(&self.job, times);
        self.next_expiry = 0;
        self.wait_for_start(times.start);
        self.begin();
        let mut ready = Vec::with_capacity(64);
        let mut looked = clock::monotonic();
        let mut idled = false;
        loop {
            let now = clock::monotonic();
            if idled {
                self.spun += now - looked;
            }
            looked = now;
            self.cross_boundary(now);
            if self.control.is_stopped() || self.is_over(now) {
                break;
            }
            self.look_after_links(now);
            let sent = self.send_due(now);
            let wait = self.next_wait(now);
            self.poller.wait(wait, &mut ready)?;
            idled = wait == Wait::Not && !sent && ready.is_empty();
            for event in &ready {
                self.notice(*event);
            }
            if sent || !ready.is_empty() {
                self.control.publish(self.job.worker, self.tally.total_answers, self.tally.total_errors);
            }
        }
        Ok(self.finish())
    }

    fn wait_for_start(&self, start: u64) {
        while let Some(left) = start.checked_sub(clock::monotonic()) {
            if self.control.is_stopped() {
                break;
            }
            if left > MILLISECOND {
                std::thread::sleep(std::time::Duration::from_nanos(left.min(LONGEST_WAIT) / 2));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// The window's requests have all ended, or the time for them is up.
    fn is_over(&self, now: u64) -> bool {
        if now < self.times.close {
            return false;
        }
        let waiting = match &self.demand {
            Demand::Open(schedule) => schedule.next() < self.times.close,
            Demand::Closed | Demand::Waiting => false,
        };
        (self.counted == 0 && !waiting) || now >= self.times.end
    }

    fn usage(&self) -> Usage {
        Usage { cpu: clock::thread_cpu(), spun: self.spun, run_wait: clock::thread_run_wait() }
    }

    fn cross_boundary(&mut self, now: u64) {
        self.window = match self.window {
            Window::Before if now >= self.times.open => Window::Inside(self.usage()),
            Window::Inside(before) if now >= self.times.close => Window::After(self.usage().since(&before)),
            Window::Before | Window::Inside(_) | Window::After(_) => return,
        };
    }

    fn next_wait(&self, now: u64) -> Wait {
        let boundary = match self.window {
            Window::Before => self.times.open,
            Window::Inside(_) => self.times.close,
            Window::After(_) => self.times.end,
        };
        let mut until = (now + LONGEST_WAIT).min(boundary).min(self.next_expiry);
        if let Some(Reverse((at, _))) = self.closed.peek() {
            until = until.min(*at);
        }
        if let Demand::Open(schedule) = &self.demand {
            if self.job.spin {
                return Wait::Not;
            }
            let next = if self.idle.is_empty() && self.refused_since.is_none() {
                schedule.next() + self.job.time_out
            } else {
                schedule.next().saturating_sub(SPIN)
            };
            until = until.min(next);
        }
        if until <= now { Wait::Not } else { Wait::Until(until) }
    }

    /// What the kernel says about one connection.
    fn notice(&mut self, event: Ready) {
        let (index, generation) = crate::connection::from_token(event.token);
        let Some(link) = self.links.get_mut(index as usize) else {
            return;
        };
        if link.generation != generation {
            return;
        }
        match link.state {
            State::Closed => return,
            State::Connecting(_) => {
                if !event.writable && !event.hung_up {
                    return;
                }
                match link.opened() {
                    Ok(()) => self.opened(index),
                    Err(error) => return self.not_opened(index, error),
                }
            }
            State::Idle(_) => {}
            State::Busy(_) => {
                if event.writable && link.flush().is_err() {
                    return self.broken(index);
                }
            }
        }
        if event.readable {
            self.receive(index, event.hung_up);
        }
    }

    fn finish(mut self) -> Work {
        let now = clock::monotonic();
        let stopped = self.control.is_stopped();
        self.give_up_unanswered(now, stopped);
        self.note_none_idle(now);
        self.tally.finish();
        Work {
            usage: match self.window {
                Window::Before => Usage::default(),
                Window::Inside(before) => self.usage().since(&before),
                Window::After(usage) => usage,
            },
            tally: self.tally,
            ended: now,
            connections_peak: self.peak,
            connections_opened: self.opened,
            none_idle: self.none_idle,
        }
    }
}

impl Usage {
    fn since(&self, before: &Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            spun: self.spun.saturating_sub(before.spun),
            run_wait: match (self.run_wait, before.run_wait) {
                (Some(now), Some(before)) => Some(now.saturating_sub(before)),
                _ => None,
            },
        }
    }
}
