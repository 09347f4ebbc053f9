//! Installs the Debian packages that the test bed is made of, where they are missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;

/// A package, and a path by which one sees that it is there.
type Package = (&'static str, &'static str);

/// What the cluster runs on.
pub const CLUSTER: &[Package] = &[
    ("containerd", "/usr/bin/containerd"),
    ("runc", "/usr/sbin/runc"),
    ("containernetworking-plugins", "/usr/lib/cni/bridge"),
    ("iptables", "/usr/sbin/iptables"),
    ("conntrack", "/usr/sbin/conntrack"),
    ("iproute2", "/bin/ip"),
    ("openssl", "/usr/bin/openssl"),
];

/// What the images are made of.
pub const IMAGES: &[Package] = &[
    ("gcc", "/usr/bin/gcc"),
    ("libc6-dev", "/usr/include/stdio.h"),
    ("binutils", "/usr/bin/strip"),
    ("busybox-static", "/bin/busybox"),
    ("postgresql-15", "/usr/lib/postgresql/15/bin/postgres"),
    ("libnss-wrapper", crate::images::NSS_WRAPPER),
];

/// What the guest with cgroup v2 is made of.
pub const GUEST: &[Package] = &[
    ("mmdebstrap", "/usr/bin/mmdebstrap"),
    ("qemu-system-x86", "/usr/bin/qemu-system-x86_64"),
    ("e2fsprogs", "/sbin/mkfs.ext4"),
];

const NO_SERVICES: &str = "/usr/sbin/policy-rc.d";
const POSTGRES_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs what is missing of `packages`.
///
/// No service is started by that: neither containerd's nor a PostgreSQL server of the machine.
///
/// # Errors
/// Names the missing packages, when this is not Debian or we are not root or `apt-get` fails.
pub fn ensure(packages: &[Package]) -> Result<()> {
    let missing: Vec<&str> =
        packages.iter().filter(|(_, path)| !Path::new(path).exists()).map(|(package, _)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("missing: {list}. These are names of Debian packages; install what provides them here");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("missing: {list}. Install them: sudo apt-get install {list}");
    }
    eprintln!("installing {list}");
    install(&missing).with_context(|| format!("failed to install {list}; try: apt-get install {list}"))
}

fn install(packages: &[&str]) -> Result<()> {
    let settings = Path::new(POSTGRES_SETTINGS);
    if !settings.exists() && packages.iter().any(|package| package.starts_with("postgresql")) {
        fs::create_dir_all("/etc/postgresql-common").context("failed to make a folder")?;
        fs::write(settings, "create_main_cluster = false\n")
            .with_context(|| format!("failed to write {POSTGRES_SETTINGS}"))?;
    }
    let _policy = NoServices::set()?;
    if apt(packages).is_ok() {
        return Ok(());
    }
    // The lists of packages are missing or old.
    apt_get(&["update", "--quiet"])?;
    apt(packages)
}

fn apt(packages: &[&str]) -> Result<()> {
    let mut arguments = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments)
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    // Somebody else may be installing just now.
    command.args(["-o", "DPkg::Lock::Timeout=600"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command::run(&mut command).map(drop)
}

/// Debian's way to say that packages must not start services while they are installed.
struct NoServices {
    ours: bool,
}

impl NoServices {
    fn set() -> Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = Path::new(NO_SERVICES);
        if path.exists() {
            return Ok(Self { ours: false });
        }
        fs::write(path, "#!/bin/sh\nexit 101\n").with_context(|| format!("failed to write {NO_SERVICES}"))?;
        let policy = Self { ours: true };
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("failed to make {NO_SERVICES} executable"))?;
        Ok(policy)
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours {
            let _ = fs::remove_file(NO_SERVICES);
        }
    }
}
