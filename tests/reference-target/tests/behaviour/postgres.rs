//! A throw-away Postgres from the machine's own server binaries.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65_534;
/// The role's password.
pub const PASSWORD: &str = "p@ss:word/1";

/// A server; it and its files are gone when dropped.
pub struct Postgres {
    binaries: PathBuf,
    directory: TempDir,
    child: Option<Child>,
    pub port: u16,
}

impl Postgres {
    /// A server with 100 rows in `items`; `None`, loudly, where there is no server to run.
    pub fn start() -> Option<Self> {
        let Some(binaries) = binaries() else {
            eprintln!("SKIPPED: no /usr/lib/postgresql/*/bin/initdb; install the package postgresql");
            return None;
        };
        let directory = TempDir::with_prefix("gaugeblock-postgres-").unwrap();
        let password = directory.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        if rustix::process::geteuid().is_root() {
            for path in [directory.path(), &password] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut postgres = Self { binaries, directory, child: None, port };
        let mut initdb = postgres.command("initdb");
        initdb.args(["--username=bench", "--auth=scram-sha-256", "--no-sync", "--no-instructions"]);
        initdb.arg(format!("--pwfile={}", password.display()));
        assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
        postgres.run_alone(
            "CREATE TABLE items (id int PRIMARY KEY, title text, body text);\n\
             INSERT INTO items SELECT n, 'Title ' || n, repeat('b', 100) FROM generate_series(1, 100) n;\n",
        );
        postgres.resume();
        Some(postgres)
    }

    /// Runs statements, one a line, in a server of a single process.
    fn run_alone(&self, statements: &str) {
        let mut server = self.command("postgres");
        server.args(["--single", "-F", "postgres"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut server = server.spawn().unwrap();
        server.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
        assert!(server.wait().unwrap().success());
    }

    /// Starts the server, again if it was stopped, and waits until it listens.
    pub fn resume(&mut self) {
        let mut server = self.command("postgres");
        server.args(["-F", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-k"]).arg(self.directory.path());
        self.child = Some(server.stderr(Stdio::null()).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "Postgres does not listen after 30 s");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server at once, its sessions with it.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            kill_process(Pid::from_child(&child), Signal::QUIT).unwrap();
            child.wait().unwrap();
        }
    }

    /// The directory of its Unix socket.
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.env("PGDATA", self.directory.path().join("data")).env("LC_ALL", "C");
        command.current_dir(self.directory.path());
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The newest server's binaries.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let binaries = versions.flatten().map(|version| version.path().join("bin"));
    binaries.filter(|path| path.join("initdb").exists()).max()
}
