//! One test cluster per machine: the names of its namespaces are global.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::layout::Layout;

/// Where the machine's one cluster is noted, and locked.
const FOLDER: &str = "/run/gaugeblock";

/// How long another user of the cluster is waited for: a whole test run takes less.
const PATIENCE: Duration = Duration::from_mins(40);

const DOWN: &str = include_str!("../../cluster/down.sh");

/// The right to start, use or end the cluster. It ends with this value, and with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, waiting for whoever has it.
    ///
    /// # Errors
    /// When we are not root, or after 40 minutes, naming the holder.
    pub fn take() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            bail!(
                "the test cluster needs root, for its network namespaces; \
                 or start a kind cluster and set GAUGEBLOCK_KUBECONFIG to its kubeconfig"
            );
        }
        fs::create_dir_all(FOLDER).with_context(|| format!("failed to make {FOLDER}"))?;
        let path = Path::new(FOLDER).join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("failed to open {}", path.display()))?;
        let start = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {}
                Err(TryLockError::WouldBlock) => {
                    bail!("the test cluster is still in use by {}", holder(&mut file));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).context("failed to lock the test cluster");
                }
            }
            if !told {
                eprintln!("waiting for the test cluster, in use by {}", holder(&mut file));
                told = true;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        file.set_len(0).context("failed to empty the lock file")?;
        write!(&file, "process {}", std::process::id()).context("failed to write the lock file")?;
        Ok(Self { file })
    }
}

fn holder(file: &mut File) -> String {
    use std::io::Seek as _;
    let mut text = String::new();
    let _ = file.rewind();
    let _ = file.read_to_string(&mut text);
    let _ = file.rewind();
    if text.is_empty() { "another process".into() } else { text }
}

/// The state folder of the cluster that is up or was left behind, if any.
pub fn noted() -> Option<PathBuf> {
    let text = fs::read_to_string(Path::new(FOLDER).join("cluster")).ok()?;
    Some(PathBuf::from(text.trim()))
}

/// Notes that a cluster lives in `layout`, and gives it what is needed to end it.
///
/// # Errors
/// When a file cannot be written.
pub fn note(layout: &Layout) -> Result<()> {
    let put = |path: PathBuf, text: &str| {
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))
    };
    put(layout.root().join("gaugeblock-test-cluster"), "")?;
    put(layout.root().join("down.sh"), DOWN)?;
    put(Path::new(FOLDER).join("cluster"), &layout.root().display().to_string())
}

/// Ends the cluster in `root`. Needs the lock.
///
/// # Errors
/// When something of it stays behind.
pub fn end(_lock: &Lock, root: &Path) -> Result<()> {
    let mut down = Command::new("bash");
    let output = crate::command::output(down.args(["-c", DOWN, "down.sh"]).arg(root))?;
    if !output.status.success() || !output.stderr.is_empty() {
        bail!("failed to end the test cluster: {}", crate::command::failure(&down, &output));
    }
    Ok(())
}

/// Ends the cluster when its owner ends, in whatever way: a script that waits for the end of a pipe.
#[derive(Debug)]
pub struct Watchdog {
    script: Child,
}

impl Watchdog {
    /// Sets it on the cluster in `layout`. The lock passes to it, until everything is gone.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn set(layout: &Layout, lock: Lock) -> Result<Self> {
        let log = File::create(layout.log("down")).context("failed to make a log")?;
        let script = Command::new("setsid")
            .arg("bash")
            .arg(layout.root().join("down.sh"))
            .arg("--after-owner")
            .arg(layout.root())
            .stdin(Stdio::piped())
            .stdout(lock.file)
            .stderr(log)
            .spawn()
            .context("failed to start the watchdog of the test cluster")?;
        Ok(Self { script })
    }

    fn end(&mut self) -> Result<()> {
        drop(self.script.stdin.take());
        let status = self.script.wait().context("failed to wait for the watchdog")?;
        if !status.success() {
            bail!("the test cluster's down.sh ended with {status}");
        }
        Ok(())
    }

    /// Ends the cluster now.
    ///
    /// # Errors
    /// When the script fails.
    pub fn release(mut self) -> Result<()> {
        self.end()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
