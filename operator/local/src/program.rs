//! The program of an arm: where it is, and which bytes it has.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// Hashes of programs, so that a run shows what it measured, and whether a build replaced a
/// program in the middle.
#[derive(Debug, Default)]
pub struct Programs(BTreeMap<PathBuf, (Version, String)>);

/// What tells two versions of a file apart without reading them.
type Version = (u64, u64, i64, i64);

/// Finds a program as `exec` does from this folder.
pub fn find(name: &str, folder: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(folder.join(name)).filter(|path| path.is_file());
    }
    env::split_paths(&env::var_os("PATH")?).map(|path| path.join(name)).find(|path| path.is_file())
}

impl Programs {
    /// Path and hash of a program, as an image name and digest: `/usr/bin/x@sha256:…`.
    pub fn identify(&mut self, path: &Path) -> io::Result<String> {
        let metadata = fs::metadata(path)?;
        let version = (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
        if let Some((known, identity)) = self.0.get(path)
            && *known == version
        {
            return Ok(identity.clone());
        }
        let mut hash = Sha256::new();
        io::copy(&mut fs::File::open(path)?, &mut hash)?;
        let mut identity = format!("{}@sha256:", path.display());
        for byte in hash.finalize() {
            let _ = write!(identity, "{byte:02x}");
        }
        self.0.insert(path.to_owned(), (version, identity.clone()));
        Ok(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_is_another_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut programs = Programs::default();
        fs::write(&path, "one").unwrap();
        let first = programs.identify(&path).unwrap();
        assert_eq!(programs.identify(&path).unwrap(), first);
        fs::write(&path, "three").unwrap();
        assert_ne!(programs.identify(&path).unwrap(), first);
    }

    #[test]
    fn programs_are_found_as_exec_does() {
        assert!(find("sh", Path::new("/")).is_some());
        assert!(find("./sh", Path::new("/bin")).is_some());
        assert_eq!(find("no-such-program", Path::new("/")), None);
    }
}
