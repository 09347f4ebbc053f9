//! Where the machine keeps its Postgres programs.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Folders in which packages put the programs, beside those of `PATH`; `*` is any version.
const FOLDERS: [&str; 9] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/libexec/postgresql*",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    "/opt/local/lib/postgresql*/bin",
    "/usr/lib/postgresql*/bin",
];

/// A folder with `initdb`, `postgres` and `psql`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// The folder of `initdb` and `postgres`.
    folder: PathBuf,
    /// `psql`, which some systems keep elsewhere.
    pub psql: PathBuf,
    /// Version, such as `15.13`.
    pub version: String,
}

/// The machine has no Postgres server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoServer {
    /// What is missing.
    missing: &'static str,
    /// Contents of `/etc/os-release`.
    system: String,
}

impl Binaries {
    /// Those of this machine: of the major version that is wanted, else of the newest.
    pub fn find(wanted: Option<u32>) -> Result<Self, NoServer> {
        let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let path: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        let mut folders = path.clone();
        folders.extend(FOLDERS.iter().flat_map(|pattern| matching(pattern)));
        folders.extend(configured());
        let servers = folders.iter().filter_map(|folder| server_folder(folder));
        let mut found: Vec<(u32, PathBuf, String)> = Vec::new();
        for folder in servers {
            if found.iter().all(|(_, known, _)| *known != folder)
                && let Some(version) = version(&folder)
            {
                found.push((major(&version), folder, version));
            }
        }
        // The first of equals is the one that the user's PATH prefers.
        found.sort_by_key(|(major, _, _)| (Some(*major) != wanted, std::cmp::Reverse(*major)));
        let Some((_, folder, version)) = found.into_iter().next() else {
            return Err(NoServer { missing: "initdb and postgres", system });
        };
        let beside = folder.join("psql");
        let psql =
            [beside].into_iter().chain(path.iter().map(|folder| folder.join("psql"))).find(|psql| psql.is_file());
        match psql {
            Some(psql) => Ok(Self { folder, psql, version }),
            None => Err(NoServer { missing: "psql", system }),
        }
    }

    /// Path of a program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Major version.
    pub fn major(&self) -> u32 {
        major(&self.version)
    }
}

/// Major version that an image such as `docker.io/library/postgres:17.2-alpine` names.
pub fn version_of_image(image: &str) -> Option<u32> {
    let name = image.split('@').next()?;
    let (_, tag) = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))?;
    let digits: String = tag.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The real folder of a server's programs, if this is one. Links are followed: the programs look
/// for each other where they really are.
fn server_folder(folder: &Path) -> Option<PathBuf> {
    let initdb = fs::canonicalize(folder.join("initdb")).ok()?;
    let folder = initdb.parent()?.to_owned();
    folder.join("postgres").is_file().then_some(folder)
}

fn configured() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)` → `15.13`.
fn version(folder: &Path) -> Option<String> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(2).map(str::to_owned)
}

fn major(version: &str) -> u32 {
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Folders that match a pattern with at most one `*`.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let (folder, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = fs::read_dir(format!("{folder}/")).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| PathBuf::from(format!("{}{after}", entry.path().display())))
        .filter(|folder| folder.is_dir())
        .collect()
}

impl std::error::Error for NoServer {}

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { missing, system } = self;
        write!(f, "the run needs Postgres, and this machine has no {missing}: install {}", packages(system))
    }
}

/// What to install, by the system's family.
fn packages(system: &str) -> &'static str {
    let families: Vec<&str> = system
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .collect();
    let is = |names: &[&str]| families.iter().any(|family| names.contains(family));
    if is(&["debian", "ubuntu"]) {
        "the package postgresql (sudo apt-get install postgresql)"
    } else if is(&["fedora", "rhel", "centos"]) {
        "the package postgresql-server (sudo dnf install postgresql-server)"
    } else if is(&["arch"]) {
        "the package postgresql (sudo pacman -S postgresql)"
    } else if is(&["alpine"]) {
        "the package postgresql (sudo apk add postgresql)"
    } else if is(&["suse", "opensuse"]) {
        "the package postgresql-server (sudo zypper install postgresql-server)"
    } else {
        "the server package of PostgreSQL (Debian, Ubuntu: postgresql; Fedora: postgresql-server; Homebrew: brew install postgresql@17)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_name_their_major_version() {
        for (image, version) in [
            ("postgres:17", Some(17)),
            ("docker.io/library/postgres:16.2-alpine@sha256:00", Some(16)),
            ("registry:5000/postgres", None),
            ("postgres:latest", None),
            ("postgres", None),
        ] {
            assert_eq!(version_of_image(image), version, "{image}");
        }
    }

    #[test]
    fn the_error_names_the_package_of_the_system() {
        let error = |system: &str| NoServer { missing: "psql", system: system.to_owned() }.to_string();
        assert!(error("ID=ubuntu\nID_LIKE=debian\n").contains("apt-get install postgresql"));
        assert!(error("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n").contains("dnf install postgresql-server"));
        assert!(error("").contains("brew install postgresql@17"));
    }
}
