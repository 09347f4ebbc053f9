//! One server on a folder of data.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use gaugeblock_crds::dependency::Postgres;
use rustix::process::Signal;

use super::Binaries;
use crate::{
    account::Account,
    cpu_list::CpuList,
    environment::Environment,
    process::{Order, Process, ProcessError, Spawner},
    wakeup::Wakeup,
};

/// Time for one command of `psql` that only asks.
const QUESTION: Duration = Duration::from_secs(30);

/// A server.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub process: Process,
    /// Its data.
    pub data: PathBuf,
    /// Its port on 127.0.0.1.
    pub port: u16,
}

/// How to reach a server.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// User.
    pub user: &'a str,
    /// Database.
    pub database: &'a str,
    /// Password.
    pub password: &'a str,
}

/// What a server is started with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The machine's programs.
    pub binaries: &'a Binaries,
    /// Name of its log.
    pub name: &'a str,
    /// UID of the unit.
    pub unit: &'a str,
    /// Its data.
    pub data: &'a Path,
    /// Its port.
    pub port: u16,
    /// Settings of the manifest.
    pub postgres: &'a Postgres,
    /// Its CPUs.
    pub cpus: &'a CpuList,
    /// Its user.
    pub account: Option<&'a Account>,
    /// File that gets its process ID.
    pub pid_file: Option<&'a Path>,
}

impl Server {
    /// Starts a server.
    pub fn start(spawner: &Spawner, start: Start<'_>) -> Result<Self, ProcessError> {
        let Start { binaries, name, unit, data, port, postgres, cpus, account, pid_file } = start;
        let mut command: Vec<OsString> = vec![binaries.program("postgres").into(), "-D".into(), data.into()];
        let own = [
            ("listen_addresses", "127.0.0.1"),
            // TCP alone, as between pods; and a socket's path would soon be too long.
            ("unix_socket_directories", ""),
            ("logging_collector", "off"),
        ];
        let given = postgres.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (setting, value) in given.chain(own) {
            command.extend(["-c".into(), format!("{setting}={value}").into()]);
        }
        command.extend(["-p".into(), port.to_string().into()]);
        let process = spawner.spawn(Order {
            name,
            unit,
            command,
            environment: Environment::default(),
            folder: data,
            cpus,
            account,
            pid_file,
            quit: true,
            apart: false,
        })?;
        Ok(Self { process, data: data.to_owned(), port })
    }

    /// Whether the server says of itself that it accepts connections: the eighth line of
    /// `postmaster.pid` (PostgreSQL since version 10).
    pub fn says_ready(&self) -> bool {
        fs::read_to_string(self.data.join("postmaster.pid"))
            .is_ok_and(|file| file.lines().nth(7).is_some_and(|line| line.trim() == "ready"))
    }

    /// Ends the server at once; its data are thrown away. An orderly "immediate shutdown", unlike
    /// a kill, gives its shared memory back.
    pub fn ask_to_end(&mut self) {
        self.process.ask_to_end(Signal::QUIT);
    }
}

/// Runs `psql` and waits for its end.
pub fn psql(
    spawner: &Spawner,
    wakeup: &mut Wakeup,
    binaries: &Binaries,
    (name, cpus): (&str, &CpuList),
    login: Login<'_>,
    arguments: &[&str],
    limit: Option<Duration>,
) -> Result<(), ProcessError> {
    let Login { port, user, database, password } = login;
    let mut command: Vec<OsString> = vec![binaries.psql.clone().into()];
    let fixed = ["--no-psqlrc", "--no-password", "--quiet", "--set=ON_ERROR_STOP=1"];
    command.extend(fixed.iter().chain(arguments).map(OsString::from));
    let mut environment = Environment::default();
    for (variable, value) in [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port.to_string()),
        ("PGUSER", user),
        ("PGDATABASE", database),
        ("PGPASSWORD", &password.replace('$', "$$")),
        ("PGCONNECT_TIMEOUT", "10"),
    ] {
        environment.set(variable, value);
    }
    let order = Order {
        name,
        unit: name,
        command,
        environment,
        folder: Path::new("/"),
        cpus,
        account: None,
        pid_file: None,
        quit: false,
        apart: false,
    };
    spawner.complete(order, limit.unwrap_or(QUESTION), wakeup)
}
