//! Builds container images as OCI archives: one layer, no registry, no daemon, same inputs → same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use crate::command;

const MEDIA: &str = "application/vnd.oci.image";

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct Recipe {
    name: String,
    entries: BTreeMap<PathBuf, Entry>,
    entrypoint: Vec<String>,
    command: Vec<String>,
    user: String,
    environment: Vec<String>,
    directory: String,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: EntryType,
    mode: u32,
    owner: u64,
    content: Vec<u8>,
    /// Of a symbolic link.
    target: PathBuf,
}

/// An archive that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Digest of the image's manifest, `sha256:…`: what containerd lists.
    pub digest: String,
    /// Whether it was there already, with the same content.
    pub reused: bool,
}

impl Recipe {
    /// An empty image; `name` includes the tag.
    pub fn new(name: &str) -> Self {
        let recipe = Self {
            name: name.to_owned(),
            entries: BTreeMap::new(),
            entrypoint: Vec::new(),
            command: Vec::new(),
            user: String::new(),
            environment: vec!["PATH=/usr/local/bin:/usr/bin:/bin".into()],
            directory: "/".into(),
        };
        recipe.folder("/tmp", 0o1777, 0)
    }

    /// What a container runs, before its arguments.
    #[must_use]
    pub fn entrypoint(mut self, words: &[&str]) -> Self {
        self.entrypoint = words.iter().map(ToString::to_string).collect();
        self
    }

    /// The arguments, when a pod gives none.
    #[must_use]
    pub fn command(mut self, words: &[&str]) -> Self {
        self.command = words.iter().map(ToString::to_string).collect();
        self
    }

    /// The user; a number, since `runAsNonRoot` cannot judge a name.
    #[must_use]
    pub fn user(mut self, id: u32) -> Self {
        self.user = id.to_string();
        self
    }

    /// An environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push(format!("{name}={value}"));
        self
    }

    /// An empty folder.
    #[must_use]
    pub fn folder(mut self, path: &str, mode: u32, owner: u64) -> Self {
        self.put(path, Entry::new(EntryType::Directory, mode, owner));
        self
    }

    /// A file with this content.
    #[must_use]
    pub fn text(mut self, path: &str, mode: u32, content: &str) -> Self {
        let entry = Entry { content: content.into(), ..Entry::new(EntryType::Regular, mode, 0) };
        self.put(path, entry);
        self
    }

    /// A symbolic link.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        let entry = Entry { target: target.into(), ..Entry::new(EntryType::Symlink, 0o777, 0) };
        self.put(path, entry);
        self
    }

    /// A file of this machine, or a folder with everything in it; links are followed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn copy(mut self, source: &Path, path: &str) -> Result<Self> {
        self.copy_tree(source, Path::new(path))?;
        Ok(self)
    }

    /// A program or library of this machine under its own path, with the shared libraries that it needs.
    ///
    /// # Errors
    /// When it, or one of them, cannot be read.
    pub fn program(mut self, source: &Path) -> Result<Self> {
        self.copy_tree(source, source)?;
        // A static program is no error: `ldd` then says so and lists nothing.
        let list = command::output(Command::new("ldd").arg(source))?;
        for line in String::from_utf8_lossy(&list.stdout).lines() {
            let mut words = line.split_whitespace();
            // "libc.so.6 => /lib/…/libc.so.6 (0x…)" or "/lib64/ld-linux-x86-64.so.2 (0x…)"
            let path = match (words.next(), words.next(), words.next()) {
                (_, Some("=>"), Some("not")) => {
                    bail!("{} needs a library that is not here: {}", source.display(), line.trim())
                }
                (_, Some("=>"), Some(path)) | (Some(path), _, None) => path,
                _ => continue,
            };
            if path.starts_with('/') && !self.entries.contains_key(&relative(Path::new(path))) {
                self.copy_tree(Path::new(path), Path::new(path))?;
            }
        }
        Ok(self)
    }

    /// Writes the archive, unless the file that is there has been made of the very same content.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<Archive> {
        let key_path = path.with_extension("key");
        let key = self.key()?;
        if path.exists()
            && let Ok(text) = fs::read_to_string(&key_path)
            && let Some((old, digest)) = text.split_once(' ')
            && old == key
        {
            return Ok(Archive { digest: digest.into(), reused: true });
        }
        let digest = self.write_archive(path)?;
        fs::write(&key_path, format!("{key} {digest}"))
            .with_context(|| format!("failed to write {}", key_path.display()))?;
        Ok(Archive { digest, reused: false })
    }

    fn write_archive(&self, path: &Path) -> Result<String> {
        let layer = self.layer()?;
        let layer_digest = digest(&layer);
        let config = self.config(&layer_digest)?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": format!("{MEDIA}.manifest.v1+json"),
            "config": descriptor("config.v1+json", &config),
            "layers": [descriptor("layer.v1.tar", &layer)],
        }))?;
        let mut described = descriptor("manifest.v1+json", &manifest);
        described["annotations"] = json!({
            "io.containerd.image.name": self.name,
            "org.opencontainers.image.ref.name": self.name,
        });
        let index = serde_json::to_vec(&json!({ "schemaVersion": 2, "manifests": [described] }))?;

        // A reader never sees half an archive.
        let unfinished = path.with_extension("unfinished");
        let file =
            fs::File::create(&unfinished).with_context(|| format!("failed to write {}", unfinished.display()))?;
        let mut archive = Builder::new(file);
        append(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        append(&mut archive, "index.json", &index)?;
        for blob in [&config, &manifest, &layer] {
            append(&mut archive, &format!("blobs/sha256/{}", &digest(blob)["sha256:".len()..]), blob)?;
        }
        archive.into_inner()?.flush()?;
        fs::rename(&unfinished, path).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(digest(&manifest))
    }

    fn config(&self, layer: &str) -> Result<Vec<u8>> {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Ok(serde_json::to_vec(&json!({
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Entrypoint": self.entrypoint,
                "Cmd": self.command,
                "User": self.user,
                "Env": self.environment,
                "WorkingDir": self.directory,
            },
            "rootfs": { "type": "layers", "diff_ids": [layer] },
        }))?)
    }

    fn layer(&self) -> Result<Vec<u8>> {
        let mut layer = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(entry.kind);
            header.set_mode(entry.mode);
            header.set_uid(entry.owner);
            header.set_gid(entry.owner);
            header.set_mtime(0);
            header.set_size(entry.content.len() as u64);
            if entry.kind == EntryType::Symlink {
                layer.append_link(&mut header, path, &entry.target)?;
            } else {
                layer.append_data(&mut header, path, entry.content.as_slice())?;
            }
        }
        Ok(layer.into_inner()?)
    }

    /// A name for this content. Hashing the inputs is much quicker than packing and hashing the outputs.
    fn key(&self) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(&self.name);
        hash.update(self.config("")?);
        for (path, Entry { kind, mode, owner, content, target }) in &self.entries {
            let (path, target) = (path.display(), target.display());
            hash.update(format!("{path} {kind:?} {mode:o} {owner} {target} {}\n", content.len()));
            hash.update(content);
        }
        Ok(hex(&hash.finalize()))
    }

    fn copy_tree(&mut self, source: &Path, path: &Path) -> Result<()> {
        let failed = || format!("failed to read {}", source.display());
        let metadata = fs::metadata(source).with_context(failed)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(source).with_context(failed)? {
                let name = entry.with_context(failed)?.file_name();
                self.copy_tree(&source.join(&name), &path.join(&name))?;
            }
            return Ok(());
        }
        let mode = metadata.permissions().mode() & 0o7777;
        let content = fs::read(source).with_context(failed)?;
        self.put(path, Entry { content, ..Entry::new(EntryType::Regular, mode, 0) });
        Ok(())
    }

    fn put(&mut self, path: impl AsRef<Path>, entry: Entry) {
        let path = relative(path.as_ref());
        for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
            self.entries.entry(parent.to_path_buf()).or_insert_with(|| Entry::new(EntryType::Directory, 0o755, 0));
        }
        self.entries.insert(path, entry);
    }
}

impl Entry {
    fn new(kind: EntryType, mode: u32, owner: u64) -> Self {
        Self { kind, mode, owner, content: Vec::new(), target: PathBuf::new() }
    }
}

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_path_buf()
}

fn append(archive: &mut Builder<fs::File>, path: &str, content: &[u8]) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content).with_context(|| format!("failed to append {path}"))
}

fn descriptor(kind: &str, blob: &[u8]) -> serde_json::Value {
    json!({ "mediaType": format!("{MEDIA}.{kind}"), "digest": digest(blob), "size": blob.len() })
}

fn digest(blob: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(blob)))
}

/// The bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gaugeblock-image-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn recipe(text: &str) -> Recipe {
        Recipe::new("test.local/a:1").text("/etc/b/c", 0o644, text).link("/d", "etc").user(7)
    }

    #[test]
    fn the_same_content_makes_the_same_bytes() {
        let folder = folder("same");
        for name in ["one.tar", "two.tar"] {
            recipe("x").write(&folder.join(name)).unwrap();
        }
        let read = |name: &str| fs::read(folder.join(name)).unwrap();
        assert_eq!(read("one.tar"), read("two.tar"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_archive_is_written_again_only_when_its_content_changed() {
        let folder = folder("again");
        let path = folder.join("a.tar");
        let first = recipe("x").write(&path).unwrap();
        let second = recipe("x").write(&path).unwrap();
        let third = recipe("y").write(&path).unwrap();
        assert!(!first.reused && second.reused && !third.reused);
        assert_eq!(first.digest, second.digest);
        assert_ne!(first.digest, third.digest);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn parents_come_before_their_children_and_are_folders() {
        let recipe = recipe("x");
        let paths: Vec<_> = recipe.entries.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["d", "etc", "etc/b", "etc/b/c", "tmp"]);
        assert_eq!(recipe.entries[Path::new("etc/b")].kind, EntryType::Directory);
    }
}
