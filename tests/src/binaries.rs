//! Builds Kubernetes and etcd from Go modules, once per version, into the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::cluster::layout::cache;
use crate::command;
use crate::image::hex;

/// A Go module in `tests/cluster/go` whose `go.mod` pins versions, and the programs built in it.
struct Module {
    name: &'static str,
    /// The module that gives the programs their version.
    versioned: &'static str,
    /// Program and package.
    programs: &'static [(&'static str, &'static str)],
}

const MODULES: [Module; 2] = [
    Module { name: "etcd", versioned: "go.etcd.io/etcd/server/v3", programs: &[("etcd", "go.etcd.io/etcd/server/v3")] },
    Module {
        name: "kube",
        versioned: "k8s.io/kubernetes",
        programs: &[
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
            ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
        ],
    },
];

/// The programs of the cluster.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// One folder per module, named by its content.
    folders: Vec<(&'static str, PathBuf)>,
}

impl Binaries {
    /// Where they are or will be.
    ///
    /// # Errors
    /// When the modules cannot be read.
    pub fn locate() -> Result<Self> {
        let cache = cache()?;
        let mut folders = Vec::new();
        for module in &MODULES {
            let folder = cache.join("bin").join(format!("{}-{}", module.name, module.key()?));
            folders.extend(module.programs.iter().map(|(program, _)| (*program, folder.clone())));
        }
        Ok(Self { folders })
    }

    /// Builds what is missing: about six minutes of CPU when nothing is there yet, a download of 160 MB,
    /// and a Go build cache of some gigabytes. Two callers do not build twice: the second waits.
    ///
    /// # Errors
    /// When there is no Go, or a build fails.
    pub fn ensure() -> Result<Self> {
        let binaries = Self::locate()?;
        for module in &MODULES {
            module.ensure()?;
        }
        Ok(binaries)
    }

    /// Whether nothing is left to build.
    pub fn complete(&self) -> bool {
        self.folders.iter().all(|(program, folder)| folder.join(program).exists())
    }

    /// The path of a program, `kubelet` for instance.
    ///
    /// # Panics
    /// When no module has it.
    pub fn path(&self, program: &str) -> PathBuf {
        let found = self.folders.iter().find(|(name, _)| *name == program);
        let (_, folder) = found.unwrap_or_else(|| panic!("{program} is not in MODULES"));
        folder.join(program)
    }
}

impl Module {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/go").join(self.name)
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.folder().join(file);
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    /// A name for exactly these versions of exactly these dependencies.
    fn key(&self) -> Result<String> {
        let mut hash = Sha256::new();
        for file in ["go.mod", "go.sum"] {
            hash.update(self.read(file)?);
        }
        Ok(hex(&hash.finalize()[..6]))
    }

    fn version(&self) -> Result<String> {
        let text = self.read("go.mod")?;
        let line = text
            .lines()
            .map(str::trim)
            .find_map(|line| line.strip_prefix(self.versioned)?.strip_prefix(' ')?.split(' ').next());
        let version = line.with_context(|| format!("{}/go.mod does not require {}", self.name, self.versioned))?;
        Ok(version.to_owned())
    }

    fn ensure(&self) -> Result<()> {
        let folder = cache()?.join("bin").join(format!("{}-{}", self.name, self.key()?));
        let missing = |(program, _): &&(&str, &str)| !folder.join(program).exists();
        if !self.programs.iter().any(|program| missing(&program)) {
            return Ok(());
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        let lock = File::create(folder.join(".lock")).context("failed to make a lock file")?;
        lock.lock().context("failed to wait for another build")?;
        for (program, package) in self.programs.iter().filter(missing) {
            self.build(package, program, &folder)?;
        }
        Ok(())
    }

    fn build(&self, package: &str, program: &str, folder: &Path) -> Result<()> {
        let version = self.version()?;
        eprintln!("building {program} {version} (once)");
        let unfinished = folder.join(format!(".{program}"));
        let mut build = Command::new("nice");
        build.args(["go", "build", "-mod=readonly", "-trimpath", "-ldflags", &stamp(&version)?]);
        build.arg("-o").arg(&unfinished).arg(package);
        build.current_dir(self.folder()).env("CGO_ENABLED", "0").env_remove("GOFLAGS");
        command::run(&mut build).with_context(|| {
            format!("failed to build {program}; it needs Go 1.24 or newer (`go version`) and a Go module proxy")
        })?;
        fs::rename(&unfinished, folder.join(program)).context("failed to put a program in its place")
    }
}

/// Linker flags: no debugging tables, and the version that `kubectl version` and the nodes show.
fn stamp(version: &str) -> Result<String> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (parts.next(), parts.next()) else {
        bail!("{version} is not a version");
    };
    let base = "k8s.io/component-base/version";
    Ok(format!(
        "-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor} \
         -X k8s.io/client-go/pkg/version.gitVersion={version}"
    ))
}
