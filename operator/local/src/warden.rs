//! The warden: a process that outlives Gaugeblock by a moment and leaves nothing behind.
//!
//! However Gaugeblock ends, by a kill that cannot be caught or for want of memory, the pipe between
//! the two is closed by the kernel. The warden then ends every process group that was entered and
//! not struck out, whoever still carries the run's mark in its environment, and removes the folders
//! that were entered.

use std::{
    fs,
    io::{self, BufRead as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid};

/// Name of the subcommand.
pub const SUBCOMMAND: &str = "warden";
/// Environment variable that marks every process of a run.
pub const RUN_MARK: &str = "GAUGEBLOCK_RUN";
/// Environment variable that marks every process of a unit.
pub const UNIT_MARK: &str = "GAUGEBLOCK_UNIT";

/// Time for processes to end by themselves: a Postgres that is killed leaves shared memory behind.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// Gaugeblock's end of the pipe.
#[derive(Debug)]
pub struct Warden {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Warden {
    /// Starts the warden of a run. `program` is Gaugeblock itself.
    pub fn start(program: &Path, run_uid: &str) -> io::Result<Self> {
        let mut process = Command::new(program)
            .args([SUBCOMMAND, run_uid])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Enters a process group.
    pub fn enter_group(&self, group: Pid) {
        self.say("+group", group.as_raw_nonzero());
    }

    /// Strikes a process group out: it has ended.
    pub fn strike_group(&self, group: Pid) {
        self.say("-group", group.as_raw_nonzero());
    }

    /// Enters a folder that must not stay.
    pub fn enter_folder(&self, folder: &Path) {
        self.say("+folder", folder.display());
    }

    // Without a warden what is said is lost, and the ordinary end still cleans up.
    fn say(&self, word: &str, what: impl std::fmt::Display) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            let _ = writeln!(pipe, "{word} {what}");
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.process.wait();
    }
}

/// The warden itself: reads until the pipe closes, then cleans up.
pub fn main(run_uid: &str) -> ExitCode {
    // A session of its own: what ends the terminal or Gaugeblock's group must not end the warden.
    let _ = setsid();
    let mut groups: Vec<Pid> = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Some((word, what)) = line.split_once(' ') else { continue };
        let group = || what.parse().ok().and_then(Pid::from_raw);
        match word {
            "+group" => groups.extend(group()),
            "-group" => groups.retain(|known| Some(*known) != group()),
            "+folder" => folders.push(what.into()),
            _ => {}
        }
    }
    clean_up(run_uid, &groups, &folders);
    ExitCode::SUCCESS
}

fn clean_up(run_uid: &str, groups: &[Pid], folders: &[PathBuf]) {
    // A Postgres server has had its own signal already, from the kernel, when its parent died.
    for group in groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE && groups.iter().any(|group| exists(*group)) {
        thread::sleep(LOOK);
    }
    for group in groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    end_marked(RUN_MARK, run_uid);
    for folder in folders {
        remove(folder);
    }
}

fn exists(group: Pid) -> bool {
    rustix::process::test_kill_process_group(group).is_ok()
}

/// Removes a folder and all in it; what just ended may still be writing.
pub fn remove(folder: &Path) {
    for _ in 0..10 {
        match fs::remove_dir_all(folder) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => thread::sleep(LOOK),
        }
    }
}

/// Kills every process that carries a mark: those that left their process group as well.
pub fn end_marked(variable: &str, value: &str) {
    // A killed process may just have started another one.
    for _ in 0..5 {
        let marked = marked(variable, value);
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(LOOK);
    }
}

/// Processes that carry a mark, but for this one.
fn marked(variable: &str, value: &str) -> Vec<Pid> {
    let mark = format!("{variable}={value}").into_bytes();
    let own = std::process::id() as i32;
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == mark))
        })
        .filter_map(Pid::from_raw)
        .collect()
}
