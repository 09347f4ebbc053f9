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

/// A list of processes or tasks.
#[derive(Debug)]
pub struct Members {
    folder: PathBuf,
    version1: bool,
    list: &'static str,
    /// Number of links at the last look: a folder of kernfs has two, and one for each in it.
    links: u64,
    files: Vec<List>,
    reads: u64,
}

/// The list of one folder.
#[derive(Debug)]
enum List {
    /// Version 2 makes the list anew for every reading from its beginning (`cgroup_procs_start`).
    Open(KernelFile),
    /// Version 1 keeps the list of an open file for as long as it is read once a second
    /// (`cgroup_pidlist_start`, `CGROUP_PIDLIST_DESTROY_DELAY`): it has to be opened anew.
    Path(PathBuf),
}

impl Members {
    /// The processes of a folder.
    pub fn processes(folder: PathBuf, version1: bool) -> Self {
        Self { folder, version1, list: "cgroup.procs", links: 0, files: Vec::new(), reads: 0 }
    }

    /// The tasks of a folder; version 1 calls the list otherwise than version 2.
    pub fn tasks(folder: PathBuf, version1: bool) -> Self {
        let list = if version1 { "tasks" } else { "cgroup.threads" };
        Self { folder, version1, list, links: 0, files: Vec::new(), reads: 0 }
    }

    /// Reads them in ascending order. Those of other PID namespaces, which the kernel shows as 0, are
    /// left out.
    pub fn read(&mut self, buffer: &mut Buffer) -> io::Result<Vec<ProcessId>> {
        if self.reads.is_multiple_of(FOLDERS) {
            let links = fs::metadata(&self.folder)?.nlink();
            if links != self.links {
                self.files.clear();
                find(&self.folder, self.list, self.version1, &mut self.files)?;
                self.links = links;
            }
        }
        self.reads += 1;
        let mut members: Vec<ProcessId> = Vec::new();
        for (place, file) in self.files.iter().enumerate() {
            match file.read(&mut members, buffer) {
                Err(error) if place == 0 => return Err(error),
                // A folder inside may go away at any time.
                Ok(()) | Err(_) => {}
            }
        }
        members.sort_unstable();
        Ok(members)
    }
}

impl List {
    fn read(&self, members: &mut Vec<ProcessId>, buffer: &mut Buffer) -> io::Result<()> {
        let opened;
        let file = match self {
            Self::Open(file) => file,
            Self::Path(path) => {
                opened = KernelFile::open(path)?;
                &opened
            }
        };
        let lines = file.read_list(buffer)?.lines();
        members.extend(lines.filter_map(|line| line.parse::<ProcessId>().ok()).filter(|one| *one > 0));
        Ok(())
    }
}

fn find(folder: &Path, list: &str, version1: bool, files: &mut Vec<List>) -> io::Result<()> {
    let path = folder.join(list);
    files.push(if version1 { List::Path(path) } else { List::Open(KernelFile::open(&path)?) });
    if fs::metadata(folder)?.nlink() > 2 {
        for inner in folders(folder)? {
            let _ = find(&folder.join(inner), list, version1, files);
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
        let mut members = Members::processes(path.to_owned(), false);
        let mut buffer = Buffer::default();
        assert_eq!(members.read(&mut buffer).unwrap(), [7, 30]);
        fs::create_dir(path.join("container")).unwrap();
        fs::write(path.join("container/cgroup.procs"), "12\n").unwrap();
        let later: Vec<_> = (0..FOLDERS).map(|_| members.read(&mut buffer).unwrap()).collect();
        assert_eq!(later.last().unwrap(), &[7, 12, 30]);
    }
}
