//! The processes or tasks of a cgroup and of those inside it: CRI-O, and containers that run systemd, put theirs
//! one level down.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::folders;
use crate::{
    kernel_file::{Buffer, KernelFile},
    process::ProcessId,
};

/// Each how many readings it is looked whether folders have come or gone.
const FOLDERS: u64 = 8;

/// A list of processes or tasks, kept open.
#[derive(Debug)]
pub struct Members {
    folder: PathBuf,
    list: &'static str,
    /// Number of links when the lists were opened: a folder of kernfs has two, and one for each in it.
    links: u64,
    files: Vec<KernelFile>,
    reads: u64,
}

impl Members {
    /// The processes of a folder.
    pub fn processes(folder: PathBuf) -> Self {
        Self { folder, list: "cgroup.procs", links: 0, files: Vec::new(), reads: 0 }
    }

    /// The tasks of a folder; version 1 calls the list otherwise than version 2.
    pub fn tasks(folder: PathBuf, version1: bool) -> Self {
        Self { folder, list: if version1 { "tasks" } else { "cgroup.threads" }, links: 0, files: Vec::new(), reads: 0 }
    }

    /// Reads them in ascending order. Those of other PID namespaces, which the kernel shows as 0, are
    /// left out.
    pub fn read(&mut self, buffer: &mut Buffer) -> io::Result<Vec<ProcessId>> {
        if self.reads.is_multiple_of(FOLDERS) {
            let links = fs::metadata(&self.folder)?.nlink();
            if links != self.links {
                self.files.clear();
                open(&self.folder, self.list, &mut self.files)?;
                self.links = links;
            }
        }
        self.reads += 1;
        let mut members: Vec<ProcessId> = Vec::new();
        for (place, file) in self.files.iter().enumerate() {
            match file.read_list(buffer) {
                Ok(text) => members
                    .extend(text.lines().filter_map(|line| line.parse::<ProcessId>().ok()).filter(|one| *one > 0)),
                Err(error) if place == 0 => return Err(error),
                // A folder inside may go away at any time.
                Err(_) => {}
            }
        }
        members.sort_unstable();
        Ok(members)
    }
}

fn open(folder: &Path, list: &str, files: &mut Vec<KernelFile>) -> io::Result<()> {
    files.push(KernelFile::open(&folder.join(list))?);
    if fs::metadata(folder)?.nlink() > 2 {
        for inner in folders(folder)? {
            let _ = open(&folder.join(inner), list, files);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_one_level_down_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("cgroup.procs"), "30\n0\n7\n").unwrap();
        let mut members = Members::processes(path.to_owned());
        let mut buffer = Buffer::default();
        assert_eq!(members.read(&mut buffer).unwrap(), [7, 30]);
        fs::create_dir(path.join("container")).unwrap();
        fs::write(path.join("container/cgroup.procs"), "12\n").unwrap();
        let later: Vec<_> = (0..FOLDERS).map(|_| members.read(&mut buffer).unwrap()).collect();
        assert_eq!(later.last().unwrap(), &[7, 12, 30]);
    }
}
