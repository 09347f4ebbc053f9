//! Everything that can fail early, before the first trial: builds, programs, databases.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use gaugeblock_crds::{
    dependency::Storage,
    target::{LocalTarget, Target},
};

use crate::{
    account::Account,
    cpu_list::CpuList,
    environment::Environment,
    listener::{Listener, News},
    manifest::Manifest,
    port::Ports,
    postgres::{Binaries, NoServer, Recipe, Template, TemplateError, private_folder, version_of_image},
    process::{Order, ProcessError, Spawner},
    program,
    wakeup::Wakeup,
};

/// Time for a build.
const BUILD: Duration = Duration::from_hours(1);
/// Memory as a file system, on every Linux machine.
const MEMORY: &str = "/dev/shm";
/// Temporary files on a disk: `/tmp` may be memory (Filesystem Hierarchy Standard, 5.15).
const DISK: &str = "/var/tmp";

/// Why a run could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A build failed.
    #[error("failed to build arm `{0}`")]
    Build(String, #[source] Box<ProcessError>),
    /// The folder of an arm does not exist.
    #[error("arm `{arm}`: there is no folder {}, its local.workingDirectory", folder.display())]
    NoFolder {
        /// Arm.
        arm: String,
        /// Folder.
        folder: PathBuf,
    },
    /// The program of an arm does not exist.
    #[error("arm `{arm}`: there is no program `{program}`, the first word of its local.command (looked for from {}); build it, or name how in local.build", folder.display())]
    NoProgram {
        /// Arm.
        arm: String,
        /// Program.
        program: String,
        /// Folder from which it was looked for.
        folder: PathBuf,
    },
    /// The machine has no Postgres.
    #[error(transparent)]
    NoServer(#[from] NoServer),
    /// The data could not be made.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Files.
    #[error("failed to create {}", .0.display())]
    Files(PathBuf, #[source] io::Error),
    /// No port.
    #[error("failed to find a free port")]
    Port(#[source] io::Error),
}

/// The Postgres servers of a run, at rest.
#[derive(Debug)]
pub struct Database {
    /// The machine's programs.
    pub binaries: Binaries,
    /// User of the server.
    pub account: Option<Account>,
    /// Data to copy.
    pub template: Template,
    /// Folder for copies.
    pub folder: PathBuf,
}

/// Folder and program of an arm.
#[derive(Clone, Debug)]
pub struct ArmProgram {
    /// Folder to start in.
    pub folder: PathBuf,
    /// Where its program is.
    pub program: PathBuf,
}

/// Builds every arm, each different command once.
pub fn build(
    manifest: &Manifest,
    allowed: &CpuList,
    spawner: &Spawner,
    wakeup: &mut Wakeup,
    listener: &mut dyn Listener,
) -> Result<(), PrepareError> {
    let mut built = BTreeSet::new();
    for (target, local) in local_targets(manifest) {
        let folder = folder_of(manifest, target, local)?;
        if local.build.is_empty() || !built.insert((folder.clone(), local.build.clone())) {
            continue;
        }
        listener.hear(News::Preparing(&format!("building {}: {}", target.name, local.build.join(" "))));
        let name = format!("build-{}", target.name);
        let order = Order {
            name: &name,
            unit: &name,
            command: local.build.iter().map(Into::into).collect(),
            environment: Environment::default(),
            folder: &folder,
            cpus: allowed,
            account: None,
            pid_file: None,
            quit: false,
            apart: false,
        };
        spawner
            .complete(order, BUILD, wakeup)
            .map_err(|error| PrepareError::Build(target.name.clone(), error.into()))?;
    }
    Ok(())
}

/// The program of every arm, in the order of the manifest.
pub fn programs(manifest: &Manifest) -> Result<Vec<ArmProgram>, PrepareError> {
    local_targets(manifest)
        .map(|(target, local)| {
            let folder = folder_of(manifest, target, local)?;
            let name = local.command.first().cloned().unwrap_or_default();
            match program::find(&name, &folder) {
                Some(program) => Ok(ArmProgram { folder, program }),
                None => Err(PrepareError::NoProgram { arm: target.name.clone(), program: name, folder }),
            }
        })
        .collect()
}

fn local_targets(manifest: &Manifest) -> impl Iterator<Item = (&Target, &LocalTarget)> {
    manifest.spec.targets.iter().filter_map(|target| Some((target, target.local.as_ref()?)))
}

fn folder_of(manifest: &Manifest, target: &Target, local: &LocalTarget) -> Result<PathBuf, PrepareError> {
    let folder = match &local.working_directory {
        Some(relative) => manifest.folder.join(relative),
        None => manifest.folder.clone(),
    };
    fs::canonicalize(&folder)
        .ok()
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| PrepareError::NoFolder { arm: target.name.clone(), folder })
}

/// What databases are made with.
pub struct Workshop<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// UID of the run.
    pub uid: &'a str,
    /// Folder for data on disk, if the server's user can reach it.
    pub data: &'a Path,
    /// Password of the run's dependencies.
    pub password: &'a str,
    /// CPUs to use.
    pub cpus: &'a CpuList,
}

/// Makes the data of every Postgres. Also gives sentences that should be known.
pub fn databases(
    workshop: &Workshop<'_>,
    ports: &mut Ports,
    spawner: &Spawner,
    wakeup: &mut Wakeup,
    listener: &mut dyn Listener,
) -> Result<(BTreeMap<String, Database>, Vec<String>), PrepareError> {
    let Workshop { manifest, uid, data, password, cpus } = workshop;
    let mut databases = BTreeMap::new();
    let mut notes = Vec::new();
    for dependency in &manifest.spec.dependencies {
        let Some(postgres) = &dependency.postgres else { continue };
        let wanted = version_of_image(&postgres.image);
        let binaries = Binaries::find(wanted)?;
        if wanted.is_some_and(|wanted| wanted != binaries.major()) {
            notes.push(format!(
                "dependency `{}` is Postgres {} of this machine, not {}",
                dependency.name, binaries.version, postgres.image
            ));
        }
        listener.hear(News::Preparing(&format!(
            "making the database of {} with Postgres {}",
            dependency.name, binaries.version
        )));
        let account = Account::for_server();
        let folder = match postgres.storage {
            Storage::Memory => Path::new(MEMORY).join(format!("gaugeblock-{uid}")),
            Storage::Disk => on_disk(data, uid, account.as_ref()),
        };
        let files = |error| PrepareError::Files(folder.clone(), error);
        spawner.warden.enter_folder(&folder);
        private_folder(&folder, account.as_ref()).map_err(files)?;
        let recipe = Recipe {
            dependency: &dependency.name,
            postgres,
            objects: &manifest.objects,
            binaries: &binaries,
            account: account.clone(),
            password,
            port: ports.free().map_err(PrepareError::Port)?,
            cpus,
        };
        let template = Template::make(&folder, &recipe, spawner, wakeup)?;
        databases.insert(dependency.name.clone(), Database { binaries, account, template, folder });
    }
    Ok((databases, notes))
}

/// The run's own folder, unless the server's user cannot reach it (a checkout in `/root`).
fn on_disk(data: &Path, uid: &str, account: Option<&Account>) -> PathBuf {
    let parent = data.parent().unwrap_or(data);
    match account {
        Some(account) if !account.reaches(parent) => Path::new(DISK).join(format!("gaugeblock-{uid}")),
        _ => data.to_owned(),
    }
}
