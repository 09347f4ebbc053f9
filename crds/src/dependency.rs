//! Dependencies: what a target needs beside it, made fresh for each trial.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    target::{KeyReference, Resources},
    text::GoDuration,
};

/// A dependency of every arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("has(self.postgres)", "name the kind of the dependency: postgres"))]
pub struct Dependency {
    /// Name, under which the target finds it as a host.
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// How long its data live.
    #[serde(default)]
    pub freshness: Freshness,
    /// A PostgreSQL server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Postgres>,
}

/// How long a dependency's data live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Freshness {
    /// Made anew for each trial, so that no trial inherits another's rows, caches or bloat.
    #[default]
    Trial,
}

/// A PostgreSQL server under the contract of the official image: `POSTGRES_USER`,
/// `POSTGRES_PASSWORD`, `POSTGRES_DB`, `PGDATA` and `/docker-entrypoint-initdb.d`.
///
/// The target is handed `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE` and
/// `DATABASE_URL`. The password is made for the run and lives in a Secret of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Postgres {
    /// Image, such as `postgres:17`. Local mode uses the server of the machine.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// User that owns the database.
    #[serde(default = "default_name")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z_][a-z0-9_]*$"))]
    pub user: String,
    /// Database.
    #[serde(default = "default_name")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z_][a-z0-9_]*$"))]
    pub database: String,
    /// Server settings, as for `postgres -c name=value`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::text::map_of::<64, 256>")]
    pub settings: BTreeMap<String, String>,
    /// SQL that makes schema and rows, run in this order: keys of ConfigMaps of the run's namespace
    /// (local mode: of the same file).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub init_sql: Vec<KeyReference>,
    /// CPU and memory.
    #[serde(default)]
    pub resources: Resources,
    /// Where its data lie.
    #[serde(default)]
    pub storage: Storage,
    /// Time allowed until it serves.
    #[serde(default = "default_time_out")]
    pub timeout: GoDuration,
}

/// Where a dependency's data lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Storage {
    /// The node's disk.
    #[default]
    Disk,
    /// Memory: no disk in the measurement. Counts against the dependency's memory.
    Memory,
}

fn default_name() -> String {
    "app".into()
}

fn default_time_out() -> GoDuration {
    "120s".into()
}
