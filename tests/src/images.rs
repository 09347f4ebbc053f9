//! The images of the test cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cluster::layout::{Node, cache};
use crate::command;
use crate::image::Recipe;
use crate::packages;

/// Holds a pod's namespaces.
pub const PAUSE: &str = "gaugeblock.local/pause:1";
/// A shell and everyday tools.
pub const BUSYBOX: &str = "gaugeblock.local/busybox:1";
/// PostgreSQL under the contract of the official image; see `tests/cluster/postgres-entrypoint.sh`.
pub const POSTGRES: &str = "gaugeblock.local/postgres:15";
/// Operator, load generator and sampler, below `/usr/local/bin`.
pub const GAUGEBLOCK: &str = "gaugeblock.local/gaugeblock:test";
/// The target with known truth.
pub const REFERENCE_TARGET: &str = "gaugeblock.local/reference-target:1";

/// Lets a process have a user name whatever its user id; the official image of PostgreSQL uses it as well.
pub const NSS_WRAPPER: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/aarch64-linux-gnu/libnss_wrapper.so"
} else {
    "/usr/lib/x86_64-linux-gnu/libnss_wrapper.so"
};

const PAUSE_SOURCE: &str = include_str!("../cluster/pause.c");
const POSTGRES_ENTRYPOINT: &str = include_str!("../cluster/postgres-entrypoint.sh");
const POSTGRES_PROGRAMS: [&str; 6] = ["postgres", "initdb", "pg_ctl", "pg_isready", "psql", "pgbench"];
const POSTGRES_LIBRARIES: [&str; 3] = ["plpgsql", "dict_snowball", "pg_stat_statements"];

/// The programs of the operator's image.
const GAUGEBLOCK_PROGRAMS: [&str; 3] = ["gaugeblock-operator", "gaugeblock-load-generator", "gaugeblock-sampler"];

/// An image in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its name with tag, as pods name it.
    pub name: String,
    /// The OCI archive.
    pub archive: PathBuf,
    /// Digest of its manifest.
    pub digest: String,
}

impl Image {
    /// Whether a node is given it: PostgreSQL, the largest, runs on bench nodes only.
    pub fn wanted_on(&self, node: Node) -> bool {
        self.name != POSTGRES || node != Node::A
    }
}

/// The folder of the programs that were built together with the one that runs: `target/TRIPLE/debug`.
///
/// # Errors
/// When this program's path is unknown.
pub fn program_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("failed to find this program's path")?;
    let folder = program.parent().context("this program lies in no folder")?;
    // Tests and examples lie one level deeper.
    Ok(match folder.parent() {
        Some(parent) if folder.ends_with("deps") || folder.ends_with("examples") => parent.to_path_buf(),
        _ => folder.to_path_buf(),
    })
}

/// Builds all images into the cache, from the programs that lie beside this one.
///
/// # Errors
/// As [`build_all`].
pub fn build_here() -> Result<Vec<Image>> {
    build_all(&program_folder()?, &cache()?.join("images"))
}

/// Builds all images whose programs exist in `programs` into the folder `into`; those of programs that
/// have not been built yet are left out, which is said on standard error.
///
/// # Errors
/// When a package is missing and cannot be installed, or an image cannot be written.
pub fn build_all(programs: &Path, into: &Path) -> Result<Vec<Image>> {
    packages::ensure(packages::IMAGES)?;
    fs::create_dir_all(into).with_context(|| format!("failed to make {}", into.display()))?;
    let lock = fs::File::create(into.join(".lock")).context("failed to make a lock file")?;
    lock.lock().context("failed to wait for another build of images")?;
    let mut images = vec![
        write("pause", PAUSE, &pause(into)?, into)?,
        write("busybox", BUSYBOX, &busybox()?, into)?,
        write("postgres", POSTGRES, &postgres()?, into)?,
    ];
    if built(programs, &["gaugeblock-reference-target"]) {
        let recipe = reference_target(programs, into)?;
        images.push(write("reference-target", REFERENCE_TARGET, &recipe, into)?);
    }
    if built(programs, &GAUGEBLOCK_PROGRAMS) {
        images.push(write("gaugeblock", GAUGEBLOCK, &gaugeblock(programs, into)?, into)?);
    }
    Ok(images)
}

fn built(folder: &Path, programs: &[&str]) -> bool {
    let missing: Vec<_> = programs.iter().filter(|program| !folder.join(program).exists()).collect();
    if !missing.is_empty() {
        eprintln!("no image of {missing:?}: not built yet in {} (cargo build)", folder.display());
    }
    missing.is_empty()
}

fn write(file: &str, name: &str, recipe: &Recipe, into: &Path) -> Result<Image> {
    let archive = into.join(file).with_extension("tar");
    let digest = recipe.write(&archive).with_context(|| format!("failed to build {name}"))?.digest;
    Ok(Image { name: name.into(), archive, digest })
}

fn pause(work: &Path) -> Result<Recipe> {
    let (source, program) = (work.join("pause.c"), work.join("pause"));
    fs::write(&source, PAUSE_SOURCE).context("failed to write pause.c")?;
    command::run(Command::new("gcc").args(["-static", "-Os", "-s", "-o"]).arg(&program).arg(&source))?;
    Ok(Recipe::new(PAUSE).copy(&program, "/pause")?.entrypoint(&["/pause"]).user(65535))
}

fn busybox() -> Result<Recipe> {
    let recipe = Recipe::new(BUSYBOX).copy(Path::new("/bin/busybox"), "/bin/busybox")?;
    Ok(with_tools(recipe)?.entrypoint(&["/bin/busybox"]))
}

/// Every tool of busybox as a link, where no file of that name is there already.
fn with_tools(mut recipe: Recipe) -> Result<Recipe> {
    for tool in command::call("/bin/busybox", &["--list"])?.lines().filter(|tool| *tool != "busybox") {
        recipe = recipe.link(&format!("/bin/{tool}"), "busybox");
    }
    Ok(recipe)
}

/// The machine's own PostgreSQL: programs and their libraries, 80 MB. A root file system made by a
/// bootstrap is six times as large and takes ten times as long to import.
fn postgres() -> Result<Recipe> {
    let home = Path::new("/usr/lib/postgresql/15");
    let mut recipe = with_tools(Recipe::new(POSTGRES))?
        .copy(Path::new("/bin/busybox"), "/bin/busybox")?
        .copy(Path::new("/usr/share/postgresql/15"), "/usr/share/postgresql/15")?
        .copy(Path::new("/usr/share/zoneinfo/UTC"), "/usr/share/zoneinfo/UTC")?
        .program(Path::new(NSS_WRAPPER))?
        .text("/usr/local/bin/docker-entrypoint.sh", 0o755, POSTGRES_ENTRYPOINT)
        .text("/etc/passwd", 0o644, "root:x:0:0:root:/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n")
        .text("/etc/group", 0o644, "root:x:0:\npostgres:x:999:\n")
        .folder("/docker-entrypoint-initdb.d", 0o755, 0)
        .folder("/var/lib/postgresql", 0o1777, 999)
        .folder("/var/lib/postgresql/data", 0o1777, 999)
        .folder("/var/run/postgresql", 0o3777, 999);
    for program in POSTGRES_PROGRAMS {
        recipe = recipe.program(&home.join("bin").join(program))?;
    }
    for library in POSTGRES_LIBRARIES {
        recipe = recipe.program(&home.join("lib").join(library).with_extension("so"))?;
    }
    Ok(recipe
        .environment("PATH", "/usr/local/bin:/usr/lib/postgresql/15/bin:/usr/bin:/bin")
        .environment("PG_MAJOR", "15")
        .environment("PGDATA", "/var/lib/postgresql/data")
        .environment("LANG", "C")
        .environment("NSS_WRAPPER_LIBRARY", NSS_WRAPPER)
        .entrypoint(&["docker-entrypoint.sh"])
        .command(&["postgres"])
        .user(999))
}

fn reference_target(programs: &Path, work: &Path) -> Result<Recipe> {
    let program = stripped(&programs.join("gaugeblock-reference-target"), work)?;
    let path = "/usr/local/bin/gaugeblock-reference-target";
    Ok(Recipe::new(REFERENCE_TARGET).copy(&program, path)?.entrypoint(&[path]).user(65532))
}

fn gaugeblock(programs: &Path, work: &Path) -> Result<Recipe> {
    let mut recipe = Recipe::new(GAUGEBLOCK);
    for program in GAUGEBLOCK_PROGRAMS {
        let small = stripped(&programs.join(program), work)?;
        recipe = recipe.copy(&small, &format!("/usr/local/bin/{program}"))?;
    }
    Ok(recipe.entrypoint(&["/usr/local/bin/gaugeblock-operator"]).user(65532))
}

/// A copy without debugging tables, which are most of a program of the development profile.
fn stripped(program: &Path, work: &Path) -> Result<PathBuf> {
    let name = program.file_name().context("a program without a name")?;
    let copy = work.join(name);
    command::run(Command::new("strip").arg("-o").arg(&copy).arg(program))?;
    Ok(copy)
}
