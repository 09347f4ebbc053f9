//! node-c: an emulated machine with cgroup v2 and the systemd driver, as clouds have them. For function,
//! never for figures: every instruction is translated.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use super::Cluster;
use super::configuration::{self, CgroupDriver, Places};
use super::layout::{Layout, NOWHERE, Node, cache};
use super::network::ip_in;
use super::process::{Process, arguments};
use crate::binaries::Binaries;
use crate::image::hex;
use crate::images::Image;
use crate::{command, packages, wait};

/// Debian 13: kernel 6.12, containerd 1.7.
const RELEASE: &str = "trixie";
const BUILD: &str = include_str!("../../cluster/vm/build-guest.sh");
const JOIN: &str = include_str!("../../cluster/vm/join.sh");
/// The guest's end of the network, a port of node-a's bridge.
const TAP: &str = "tapc";
/// Where `join.sh` unpacks the settings.
const SETTINGS: &str = "/run/node";
/// Emulated and under load, a boot has been seen to take half a minute.
const BOOT: Duration = Duration::from_mins(4);

/// The guest's disk, kernel and initial file system, in a folder of the cache.
#[derive(Debug, Clone)]
pub struct Guest {
    folder: PathBuf,
}

impl Guest {
    /// Builds it, once per version of its parts: half a minute, 100 MB of packages, 700 MB of disk.
    ///
    /// # Errors
    /// When a package is missing and cannot be installed, or the build fails.
    pub fn ensure() -> Result<Self> {
        packages::ensure(packages::GUEST)?;
        let kubelet = Binaries::ensure()?.path("kubelet");
        let mut hash = Sha256::new();
        for part in [BUILD, JOIN, RELEASE, &kubelet.to_string_lossy()] {
            hash.update(part);
        }
        let name = format!("{RELEASE}-{}", hex(&hash.finalize()[..6]));
        let guests = cache()?.join("guest");
        let guest = Self { folder: guests.join(&name) };
        fs::create_dir_all(&guests).with_context(|| format!("failed to make {}", guests.display()))?;
        let lock = File::create(guests.join(".lock")).context("failed to make a lock file")?;
        lock.lock().context("failed to wait for another build of the guest")?;
        if guest.folder.exists() {
            return Ok(guest);
        }
        eprintln!("building the guest of node-c (once)");
        let unfinished = guests.join(format!(".{name}"));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).context("failed to remove an unfinished guest")?;
        }
        fs::create_dir_all(&unfinished).context("failed to make a folder")?;
        for (file, text) in [("build-guest.sh", BUILD), ("join.sh", JOIN)] {
            fs::write(unfinished.join(file), text).with_context(|| format!("failed to write {file}"))?;
        }
        let mut build = Command::new("bash");
        build.arg(unfinished.join("build-guest.sh")).arg(&unfinished).arg(&kubelet).arg(RELEASE);
        command::run(&mut build).context("failed to build the guest of node-c")?;
        fs::rename(&unfinished, &guest.folder).context("failed to put the guest in its place")?;
        Ok(guest)
    }
}

impl Cluster {
    /// Boots `guest` and joins it as node-c, tainted like node-b, in the pool `guest`.
    ///
    /// # Errors
    /// When it does not become Ready; the error names its console.
    pub fn join_guest(&self, guest: &Guest, driver: CgroupDriver, images: &[Image]) -> Result<()> {
        let (layout, _) = self.ours()?;
        let disk = settings(layout, driver, images)?;
        if ip_in(Node::A, &format!("link show {TAP}")).is_err() {
            ip_in(Node::A, &format!("tuntap add dev {TAP} mode tap"))?;
            ip_in(Node::A, &format!("link set {TAP} master node0 up"))?;
        }
        let (pods, address) = (Node::C.pod_network(), Node::C.address());
        for node in Node::LOCAL {
            ip_in(node, &format!("route replace {pods} via {address}"))?;
        }
        let console = layout.log("console-node-c");
        let machine = Process::start(layout, Node::C.name(), &emulator(guest, &disk, &console))?;
        let ready =
            wait::until(Node::C.name(), BOOT, || Ok((!machine.runs() || self.is_ready(Node::C)?).then_some(())));
        let log = layout.log(Node::C.name());
        if !machine.runs() {
            bail!("the emulator of node-c has ended: see {}", log.display());
        }
        ready.with_context(|| format!("node-c is not Ready: see {}", console.display()))
    }

    /// Ends node-c and removes it from the cluster, if it is there.
    ///
    /// # Errors
    /// When it does not end.
    pub fn remove_guest(&self) -> Result<()> {
        let (layout, _) = self.ours()?;
        let Ok(machine) = Process::remembered(layout, Node::C.name()) else { return Ok(()) };
        machine.kill()?;
        fs::remove_file(layout.pid(Node::C.name())).context("failed to forget node-c")?;
        self.kubectl_text(&["delete", "node", Node::C.name(), "--ignore-not-found"])?;
        ip_in(Node::A, &format!("link delete {TAP}"))?;
        for node in Node::LOCAL {
            ip_in(node, &format!("route delete {}", Node::C.pod_network()))?;
        }
        Ok(())
    }
}

/// Writes the guest's second disk: a tar archive of all that the cluster has to tell it.
fn settings(layout: &Layout, driver: CgroupDriver, images: &[Image]) -> Result<PathBuf> {
    let node = Node::C;
    let places =
        Places { pki: SETTINGS.into(), socket: "/run/containerd/containerd.sock".into(), state: "/var/node".into() };
    let routes = Node::LOCAL.map(|other| format!("{}@{}", other.pod_network(), other.address()));
    let environment = format!(
        "ADDRESS={}\nGATEWAY={NOWHERE}\nROUTES=\"{}\"\nFLAGS=\"{}\"\n",
        node.address(),
        routes.join(" "),
        configuration::kubelet_flags(node).join(" "),
    );
    let texts = [
        ("environment", environment),
        ("kubelet.yaml", configuration::kubelet(node, &places, driver)?),
        ("containerd.toml", configuration::containerd_of_guest(driver)),
        ("10-bridge.conflist", configuration::network(node, Path::new("/var/node/addresses"))),
    ];
    let folder = layout.node(node, "");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let path = folder.join("settings.tar");
    let failed = || format!("failed to write {}", path.display());
    let mut archive = tar::Builder::new(File::create(&path).with_context(failed)?);
    for (name, text) in &texts {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).with_context(failed)?;
    }
    let mut files = vec![("kubeconfig".to_owned(), layout.kubeconfig(node.name()))];
    for name in ["ca.crt", "node-c.crt", "node-c.key"] {
        files.push((name.into(), layout.pki(name)));
    }
    for image in images.iter().filter(|image| image.wanted_on(node)) {
        let name = image.archive.file_name().context("an image without a file name")?;
        files.push((format!("images/{}", name.display()), image.archive.clone()));
    }
    for (name, source) in &files {
        archive
            .append_path_with_name(source, name)
            .with_context(|| format!("failed to append {}", source.display()))?;
    }
    // A disk consists of whole blocks; `tar` ends with at least two of zeros, and QEMU rounds down.
    let file = archive.into_inner().with_context(failed)?;
    let length = file.metadata().with_context(failed)?.len();
    file.set_len(length.next_multiple_of(1 << 20)).with_context(failed)?;
    Ok(path)
}

fn emulator(guest: &Guest, settings: &Path, console: &Path) -> Vec<OsString> {
    let file = |name: &str| guest.folder.join(name).display().to_string();
    // `snapshot=on`: what the guest writes is thrown away.
    let root = format!("file={},format=raw,if=none,id=root,snapshot=on,cache=unsafe", file("root.img"));
    let second = format!("file={},format=raw,if=none,id=settings,readonly=on", settings.display());
    let mut line = arguments(["nsenter", &format!("--net=/run/netns/{}", Node::C.namespace())]);
    line.extend(arguments(["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"]));
    // Not KVM even where it seems to be there: nested, it does not run stock kernels.
    line.extend(arguments(["-accel", "tcg,thread=multi,tb-size=512", "-smp", "2", "-m", "2G"]));
    line.extend(arguments(["-nographic", "-nodefaults", "-no-reboot", "-monitor", "none"]));
    line.extend(arguments(["-serial", &format!("file:{}", console.display())]));
    line.extend(arguments(["-kernel", &file("vmlinuz"), "-initrd", &file("initrd"), "-append"]));
    line.extend(arguments(["root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off psi=1 net.ifnames=0 \
         systemd.unified_cgroup_hierarchy=1 systemd.show_status=0"]));
    line.extend(arguments(["-drive", &root, "-device", "virtio-blk-pci,drive=root,serial=root"]));
    line.extend(arguments(["-drive", &second]));
    line.extend(arguments(["-device", "virtio-blk-pci,drive=settings,serial=settings"]));
    let tap = format!("tap,id=net,ifname={TAP},script=no,downscript=no");
    line.extend(arguments(["-netdev", &tap]));
    line.extend(arguments(["-device", "virtio-net-pci,netdev=net,mac=52:54:00:12:00:03"]));
    line.extend(arguments(["-device", "virtio-rng-pci"]));
    line
}
