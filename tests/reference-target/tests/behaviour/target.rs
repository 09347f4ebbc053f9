//! Starts and ends targets.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Client;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_gaugeblock-reference-target");

/// A target that is to be started.
pub struct Starting {
    command: Command,
}

/// A target that listens; it is killed when dropped.
pub struct Target {
    child: Child,
    address: SocketAddr,
}

/// A target at an ephemeral port of the loopback.
pub fn target() -> Starting {
    bare(PROGRAM).flags(&["--listen", "127.0.0.1:0"])
}

/// A program without any flags and none of the variables it reads.
pub fn bare(program: impl AsRef<Path>) -> Starting {
    let mut command = Command::new(program.as_ref());
    for (name, _) in std::env::vars() {
        if name.starts_with("GBREF_") || name.starts_with("PG") || ["PORT", "DATABASE_URL"].contains(&&*name) {
            command.env_remove(name);
        }
    }
    Starting { command }
}

impl Starting {
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.command.args(flags);
        self
    }

    pub fn variables(mut self, variables: &[(&str, &str)]) -> Self {
        self.command.envs(variables.iter().copied());
        self
    }

    /// Starts it and waits until it listens.
    pub fn start(mut self) -> Target {
        let mut child = self.command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("said {line:?}"));
        Target { child, address: address.parse().unwrap() }
    }
}

impl Target {
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.address.port()))
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub fn truth(&self) -> Value {
        self.client().get("/truth").json()
    }

    /// A number of the truth.
    pub fn truth_of(&self, pointer: &str) -> u64 {
        let truth = self.truth();
        truth.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {truth}"))
    }

    /// Waits until the target says that it is ready.
    pub fn wait_until_ready(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.client().get("/health").status != 200 {
            assert!(Instant::now() < deadline, "not ready in 20 s: {}", self.truth());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it ends.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after 20 s");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
