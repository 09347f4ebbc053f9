//! A PostgreSQL server under the contract of the official image: `POSTGRES_USER`,
//! `POSTGRES_PASSWORD`, `POSTGRES_DB`, `PGDATA` and `/docker-entrypoint-initdb.d`.

use gaugeblock_crds::{
    dependency::{Postgres, Storage},
    names,
    target::KeyReference,
};
use k8s_openapi::{
    api::core::v1::{
        ConfigMapProjection, Container, ContainerPort, EmptyDirVolumeSource, ExecAction, KeyToPath, Pod,
        PodSecurityContext, PodSpec, Probe, ProjectedVolumeSource, Volume, VolumeMount, VolumeProjection,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{environment, security, skeleton};
use crate::{action::UnitSpec, snapshot::Snapshot};

/// Port on which it serves.
const PORT: i32 = 5432;
/// A path of our own: the official image moved its data folder with version 18 and refuses to
/// start when something is mounted at the old one.
const DATA: &str = "/var/lib/gaugeblock";
/// Below the mount, as `initdb` wants to own its folder.
const PGDATA: &str = "/var/lib/gaugeblock/pgdata";
/// Scripts in here are run once, in the order of their names.
const INIT: &str = "/docker-entrypoint-initdb.d";
/// User of the official image. That image starts as root to change to it, which `restricted`
/// forbids; started as this user it does the same work. Any other image of that contract looks its
/// user up by name or takes any number.
const USER: i64 = 999;

pub(super) fn pod(snapshot: &Snapshot, unit: &UnitSpec, dependency: &str, postgres: &Postgres) -> Pod {
    let mut volumes = vec![
        empty("data", postgres.storage),
        // Workers of a parallel query meet in shared memory; runtimes give only 64 MiB of it.
        empty("shared-memory", Storage::Memory),
    ];
    let mut mounts = vec![mount("data", DATA, false), mount("shared-memory", "/dev/shm", false)];
    if !postgres.init_sql.is_empty() {
        volumes.push(scripts(&postgres.init_sql));
        mounts.push(mount("init", INIT, true));
    }
    let mut container = Container {
        name: names::CONTAINER_DEPENDENCY.to_owned(),
        image: Some(postgres.image.clone()),
        args: Some(arguments(postgres)),
        env: Some(vec![
            environment::plain("POSTGRES_USER", &postgres.user),
            environment::password("POSTGRES_PASSWORD", snapshot),
            environment::plain("POSTGRES_DB", &postgres.database),
            environment::plain("PGDATA", PGDATA),
        ]),
        ports: Some(vec![ContainerPort { container_port: PORT, ..ContainerPort::default() }]),
        resources: Some(skeleton::guaranteed(&postgres.resources)),
        startup_probe: Some(serves(postgres)),
        volume_mounts: Some(mounts),
        ..Container::default()
    };
    security::restrict_container(&mut container);
    let spec = PodSpec {
        containers: vec![container],
        volumes: Some(volumes),
        // Names the unit where it is seen: in its own log, and in the sampler's record.
        hostname: Some(dependency.to_owned()),
        security_context: Some(PodSecurityContext {
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    };
    skeleton::complete(ObjectMeta::default(), spec, snapshot, unit)
}

/// `postgres -c name=value …`; both kinds of entry point, those that add the program's name and
/// those that do not, take them so.
fn arguments(postgres: &Postgres) -> Vec<String> {
    let settings = postgres
        .settings
        .iter()
        // `$(…)` in arguments is replaced by the kubelet, and `$$` stands for `$`.
        .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}").replace('$', "$$")]);
    std::iter::once("postgres".to_owned()).chain(settings).collect()
}

/// Ready when it answers over TCP: while it makes its database it listens on its socket only. As a
/// start-up probe it is not asked again, so that nothing disturbs the measurement.
fn serves(postgres: &Postgres) -> Probe {
    let seconds = postgres.timeout.nanos().div_ceil(1_000_000_000).clamp(1, 86_400);
    let command = [
        "pg_isready",
        "--quiet",
        "--host=127.0.0.1",
        &format!("--port={PORT}"),
        &format!("--username={}", postgres.user),
        &format!("--dbname={}", postgres.database),
    ];
    Probe {
        exec: Some(ExecAction { command: Some(command.iter().map(|&word| word.to_owned()).collect()) }),
        period_seconds: Some(1),
        timeout_seconds: Some(5),
        failure_threshold: i32::try_from(seconds).ok(),
        ..Probe::default()
    }
}

/// SQL of several ConfigMaps in one folder, in the order of the manifest.
fn scripts(keys: &[KeyReference]) -> Volume {
    let sources = keys.iter().enumerate().map(|(index, KeyReference { name, key })| {
        let items = vec![KeyToPath { key: key.clone(), path: script_name(index, key), mode: None }];
        VolumeProjection {
            config_map: Some(ConfigMapProjection { name: name.clone(), items: Some(items), optional: None }),
            ..VolumeProjection::default()
        }
    });
    Volume {
        name: "init".to_owned(),
        projected: Some(ProjectedVolumeSource { sources: Some(sources.collect()), default_mode: None }),
        ..Volume::default()
    }
}

/// The entry point goes by the end of the name, and leaves out what it does not know.
fn script_name(index: usize, key: &str) -> String {
    let known = [".sql", ".sql.gz", ".sql.xz", ".sql.zst", ".sh"];
    let end = if known.iter().any(|end| key.ends_with(end)) { "" } else { ".sql" };
    format!("{index:02}-{key}{end}")
}

fn empty(name: &str, storage: Storage) -> Volume {
    let medium = match storage {
        Storage::Disk => None,
        Storage::Memory => Some("Memory".to_owned()),
    };
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource { medium, size_limit: None }),
        ..Volume::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}
