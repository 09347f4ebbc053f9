//! What `/proc` says of one process, readable without any privilege (`proc_pid_*(5)`).

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    clock::TICK,
    cpu_set::CpuSet,
    kernel_file::{keyed, read_once},
};

/// Number of a process or thread in the sampler's PID namespace (with hostPID: the node's).
pub type ProcessId = i32;

/// "Forked but didn't exec" (`include/linux/sched.h`, `PF_FORKNOEXEC`): the kernel clears it on
/// `execve`, so it tells a container runtime's child that waits for its start from the program that
/// replaced it, whichever the runtime.
const FORKED_WITHOUT_EXEC: u64 = 0x40;

/// The mounted `/proc`.
#[derive(Clone, Debug)]
pub struct Proc {
    root: PathBuf,
}

/// The part of `/proc/PID/stat` that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Name of the program, at most 15 characters.
    pub command: String,
    /// State letter.
    pub state: char,
    /// Parent.
    pub parent: ProcessId,
    /// Whether it runs the program that it was started with, that is has called `execve`.
    pub executed: bool,
    /// CPU time of children that were waited for (ns, in steps of 10 ms).
    pub waited_children: u64,
    /// Start since boot (ns, rounded down to 10 ms).
    pub started: u64,
}

impl Stat {
    /// Whether the process has ended, although its parent has not yet asked how.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether this is (still) the container runtime at work, not the container's program: it has
    /// not called `execve` since it was forked, or it is runc's first stage (`runc:[0:PARENT]`), or
    /// runc as it re-executes itself (`exe`).
    pub fn is_runtime(&self) -> bool {
        let runtimes = ["runc", "crun", "youki", "libcrun", "runsc"];
        !self.executed
            || self.command == "exe"
            || runtimes.iter().any(|name| {
                self.command.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            })
    }
}

impl Proc {
    /// `/proc`, or where the node's is mounted.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Path of a file of a process.
    pub fn path(&self, process: ProcessId, file: &str) -> PathBuf {
        self.root.join(process.to_string()).join(file)
    }

    /// Path of a file of the machine.
    pub fn file(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// `/proc/PID/stat`.
    pub fn stat(&self, process: ProcessId) -> io::Result<Stat> {
        let text = read_once(&self.path(process, "stat"))?;
        parse_stat(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not the format of proc_pid_stat(5)"))
    }

    /// Name of the program.
    pub fn command(&self, process: ProcessId) -> io::Result<String> {
        read_once(&self.path(process, "comm"))
    }

    /// CPUs that the scheduler may put it on.
    pub fn allowed_cpus(&self, process: ProcessId) -> Option<CpuSet> {
        let status = read_once(&self.path(process, "status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()
    }

    /// Time that the main thread ran and waited to run since it was forked (ns).
    pub fn ran_and_waited(&self, process: ProcessId) -> Option<u64> {
        let text = read_once(&self.path(process, "schedstat")).ok()?;
        let mut words = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        Some(words.next()?? + words.next()??)
    }

    /// Name of the container that the kubelet gave this process, of the pod with this UID.
    ///
    /// The kubelet mounts a termination log into every container, from
    /// `…/pods/<UID>/containers/<NAME>/<HASH>`; the kernel shows this root in
    /// `/proc/PID/mountinfo` to everybody. The sandbox (pause) has no such mount.
    pub fn container_name(&self, process: ProcessId, pod_uid: &str) -> Option<String> {
        let mounts = read_once(&self.path(process, "mountinfo")).ok()?;
        container_name(&mounts, pod_uid)
    }

    /// `smaps_rollup`. Needs the process's own user or `CAP_SYS_PTRACE`, and holds the target's memory map
    /// for 21 ms per GB: never while something is measured.
    pub fn memory_map(&self, process: ProcessId) -> io::Result<String> {
        read_once(&self.path(process, "smaps_rollup"))
    }

    /// Private_Clean + Private_Dirty (bytes) of [`Self::memory_map`].
    pub fn private_memory(&self, process: ProcessId) -> io::Result<u64> {
        let rollup = self.memory_map(process)?;
        let bytes = |key| 1024 * keyed(&rollup, key).unwrap_or(0);
        Ok(bytes("Private_Clean") + bytes("Private_Dirty"))
    }

    /// Whether the process has a socket open; `None` where its files may not be looked at.
    pub fn owns_socket(&self, process: ProcessId, inode: u64) -> Option<bool> {
        let name = format!("socket:[{inode}]");
        let mut readable = false;
        for entry in std::fs::read_dir(self.path(process, "fd")).ok()?.flatten() {
            if let Ok(link) = std::fs::read_link(entry.path()) {
                readable = true;
                if link == Path::new(&name) {
                    return Some(true);
                }
            }
        }
        readable.then_some(false)
    }
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name stands in parentheses and may hold both spaces and parentheses.
    let (head, tail) = text.rsplit_once(')')?;
    let command = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    // Field numbers of proc_pid_stat(5) count from 1; the first behind the name is number 3.
    let field = |number: usize| fields.get(number - 3).copied();
    let count = |number| field(number).and_then(|text| text.parse::<u64>().ok());
    Some(Stat {
        command,
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        executed: count(9)? & FORKED_WITHOUT_EXEC == 0,
        waited_children: (count(16)? + count(17)?) * TICK,
        started: count(22)? * TICK,
    })
}

fn container_name(mounts: &str, pod_uid: &str) -> Option<String> {
    let marker = format!("/pods/{pod_uid}/containers/");
    mounts.lines().find_map(|line| {
        // The fourth field is the root of the mount within its file system (proc_pid_mountinfo(5)).
        let root = line.split(' ').nth(3)?;
        let name = root.split_once(&marker)?.1.split('/').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "1489 (a (b) c) S 869 1489 1489 0 -1 4194560 443 0 0 0 24 30 3 4 20 0 1 0 7217 1769472 275";

    #[test]
    fn stat_is_read_behind_any_name() {
        let stat = parse_stat(STAT).unwrap();
        assert_eq!(stat.command, "a (b) c");
        assert_eq!((stat.state, stat.parent, stat.executed), ('S', 869, true));
        assert_eq!((stat.waited_children, stat.started), (70 * 1_000_000, 72_170 * 1_000_000));
        assert_eq!(parse_stat("1489 (a"), None);
    }

    #[test]
    fn the_runtimes_child_is_not_the_target() {
        let stat = |command: &str, executed| Stat { command: command.into(), executed, ..parse_stat(STAT).unwrap() };
        assert!(stat("runc:[2:INIT]", false).is_runtime());
        assert!(stat("runc:[0:PARENT]", true).is_runtime());
        assert!(stat("3", false).is_runtime());
        assert!(!stat("runcible", true).is_runtime());
        assert!(!stat("tgt", true).is_runtime());
    }

    #[test]
    fn the_kubelets_mount_names_the_container() {
        let mounts = "612 598 254:0 /var/lib/kubelet/pods/u-1/containers/app/59a2c1f0 /dev/termination-log rw - ext4 /dev/vda rw";
        assert_eq!(container_name(mounts, "u-1").as_deref(), Some("app"));
        assert_eq!(container_name(mounts, "u-2"), None);
    }
}
