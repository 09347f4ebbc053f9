//! The data that every trial starts from: made once, copied for each.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use gaugeblock_crds::dependency::Postgres;
use rustix::process::Signal;

use super::{
    Binaries, Server,
    server::{Login, Start, psql},
};
use crate::{
    account::Account,
    cpu_list::CpuList,
    environment::Environment,
    manifest::Objects,
    process::{Order, ProcessError, Spawner},
    wakeup::Wakeup,
};

/// Time for `initdb`, which takes seconds on a slow disk.
const INITDB: Duration = Duration::from_mins(2);
/// Time for schema and rows.
const FILL: Duration = Duration::from_hours(1);
/// Time for the server to end in order.
const SHUTDOWN: Duration = Duration::from_mins(5);

/// Data of one dependency, at rest.
#[derive(Clone, Debug)]
pub struct Template {
    /// Folder of the data.
    data: PathBuf,
    account: Option<Account>,
}

/// Why the data could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Files.
    #[error("failed to prepare {}", .0.display())]
    Files(PathBuf, #[source] io::Error),
    /// Programs.
    #[error("failed to make the database of dependency `{0}`")]
    Program(String, #[source] Box<ProcessError>),
    /// The server ended or never served.
    #[error("the server of dependency `{0}` did not come up; its log ends with:\n{1}")]
    NeverReady(String, String),
}

/// What data are made from.
pub struct Recipe<'a> {
    /// Name of the dependency.
    pub dependency: &'a str,
    /// Its settings.
    pub postgres: &'a Postgres,
    /// ConfigMaps with SQL.
    pub objects: &'a Objects,
    /// The machine's programs.
    pub binaries: &'a Binaries,
    /// User of the server.
    pub account: Option<Account>,
    /// Password of its user.
    pub password: &'a str,
    /// A free port.
    pub port: u16,
    /// CPUs to use.
    pub cpus: &'a CpuList,
}

impl Template {
    /// Makes the data inside `folder`, which the server's user can reach, as the official image
    /// does: `initdb`, the database, then the SQL files in order.
    pub fn make(
        folder: &Path,
        recipe: &Recipe<'_>,
        spawner: &Spawner,
        wakeup: &mut Wakeup,
    ) -> Result<Self, TemplateError> {
        let Recipe { dependency, postgres, objects, binaries, account, password, port, cpus } = recipe;
        let data = folder.join(format!("template-{dependency}"));
        let failed = |error| TemplateError::Program((*dependency).to_owned(), Box::new(error));
        let files = |error| TemplateError::Files(folder.to_owned(), error);
        let password_file = folder.join(format!("template-{dependency}.password"));
        write_private(&password_file, password, account.as_ref()).map_err(files)?;
        let name = format!("{dependency}-initdb");
        let made = spawner.complete(
            Order {
                name: &name,
                unit: &name,
                command: vec![
                    binaries.program("initdb").into(),
                    "--pgdata".into(),
                    data.clone().into(),
                    format!("--username={}", postgres.user).into(),
                    format!("--pwfile={}", password_file.display()).into(),
                    "--auth=scram-sha-256".into(),
                    "--encoding=UTF8".into(),
                    // The same order of texts on every machine.
                    "--no-locale".into(),
                    "--no-sync".into(),
                ],
                environment: Environment::default(),
                folder,
                cpus,
                account: account.as_ref(),
                pid_file: None,
                quit: false,
                apart: false,
            },
            INITDB,
            wakeup,
        );
        fs::remove_file(&password_file).map_err(files)?;
        made.map_err(failed)?;

        let name = format!("{dependency}-template");
        let mut server = Server::start(
            spawner,
            Start {
                binaries,
                name: &name,
                unit: &name,
                data: &data,
                port: *port,
                postgres,
                cpus,
                account: account.as_ref(),
                pid_file: None,
            },
        )
        .map_err(failed)?;
        let filled = wait_until_ready(&mut server, spawner, wakeup, recipe).and_then(|()| {
            fill(folder, spawner, wakeup, recipe, objects).map_err(|error| match error {
                Filling::Files(error) => files(error),
                Filling::Program(error) => failed(error),
            })
        });
        let stopped = match filled {
            Ok(()) => stop(&mut server, spawner, wakeup).map_err(failed),
            Err(error) => {
                server.process.end_now(spawner);
                Err(error)
            }
        };
        stopped?;
        Ok(Self { data, account: account.clone() })
    }

    /// A copy for one trial, whole on its disk before anything is measured.
    pub fn copy(&self, to: &Path) -> Result<(), TemplateError> {
        let files = |error| TemplateError::Files(to.to_owned(), error);
        copy(&self.data, to, self.account.as_ref()).map_err(files)?;
        // Else the kernel writes the copy to disk in the middle of the trial.
        let folder = fs::File::open(to).map_err(files)?;
        rustix::fs::syncfs(folder).map_err(|error| files(error.into()))
    }
}

enum Filling {
    Files(io::Error),
    Program(ProcessError),
}

fn wait_until_ready(
    server: &mut Server,
    spawner: &Spawner,
    wakeup: &mut Wakeup,
    recipe: &Recipe<'_>,
) -> Result<(), TemplateError> {
    let began = Instant::now();
    let limit = recipe.postgres.timeout.parse().unwrap_or(Duration::from_mins(2));
    while !server.says_ready() {
        if wakeup.interrupted() {
            return Err(TemplateError::Program(recipe.dependency.to_owned(), ProcessError::Interrupted.into()));
        }
        if server.process.poll(spawner).is_some() || began.elapsed() > limit {
            let log = spawner.log(&format!("{}-template", recipe.dependency));
            let tail = crate::process::tail(&log, 20);
            return Err(TemplateError::NeverReady(recipe.dependency.to_owned(), tail));
        }
        wakeup.wait(Duration::from_millis(20));
    }
    Ok(())
}

/// The database, then the SQL files in order.
fn fill(
    folder: &Path,
    spawner: &Spawner,
    wakeup: &mut Wakeup,
    recipe: &Recipe<'_>,
    objects: &Objects,
) -> Result<(), Filling> {
    let Recipe { dependency, postgres, binaries, password, port, cpus, .. } = recipe;
    let login = Login { port: *port, user: &postgres.user, database: &postgres.database, password };
    if postgres.database != "postgres" {
        let create = format!("CREATE DATABASE \"{}\"", postgres.database);
        let name = format!("{dependency}-create");
        let first = Login { database: "postgres", ..login };
        psql(spawner, wakeup, binaries, (&name, cpus), first, &["--command", &create], None)
            .map_err(Filling::Program)?;
    }
    for (index, reference) in postgres.init_sql.iter().enumerate() {
        // That it is there was checked when the manifest was read.
        let Ok(sql) = objects.config_map(&reference.name, &reference.key) else { continue };
        let file = folder.join(format!("{dependency}-{index}.sql"));
        write_private(&file, sql, None).map_err(Filling::Files)?;
        let name = format!("{dependency}-init-{index}");
        let arguments = ["--file", &file.to_string_lossy()];
        let ran = psql(spawner, wakeup, binaries, (&name, cpus), login, &arguments, Some(FILL));
        fs::remove_file(&file).map_err(Filling::Files)?;
        ran.map_err(Filling::Program)?;
    }
    Ok(())
}

/// Ends the server in order, so that its data are at rest.
fn stop(server: &mut Server, spawner: &Spawner, wakeup: &mut Wakeup) -> Result<(), ProcessError> {
    // Not as a unit is ended, which would be killed after its grace: a large checkpoint takes time.
    server.process.tell(Signal::INT);
    let began = Instant::now();
    while server.process.poll(spawner).is_none() {
        if wakeup.interrupted() || began.elapsed() > SHUTDOWN {
            server.process.end_now(spawner);
            return Err(ProcessError::Interrupted);
        }
        wakeup.wait(Duration::from_millis(20));
    }
    Ok(())
}

/// A folder for data: private to the server's user, which Postgres demands.
pub fn private_folder(folder: &Path, account: Option<&Account>) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    own(folder, account)
}

fn write_private(file: &Path, text: &str, account: Option<&Account>) -> io::Result<()> {
    let mut opened = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    io::Write::write_all(&mut opened, text.as_bytes())?;
    own(file, account)
}

fn copy(from: &Path, to: &Path, account: Option<&Account>) -> io::Result<()> {
    private_folder(to, account)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&from, &to, account)?;
        } else if kind.is_file() {
            fs::copy(&from, &to)?;
            own(&to, account)?;
        }
    }
    Ok(())
}

fn own(path: &Path, account: Option<&Account>) -> io::Result<()> {
    match account {
        Some(account) => chown(path, Some(account.uid), Some(account.gid)),
        None => Ok(()),
    }
}
