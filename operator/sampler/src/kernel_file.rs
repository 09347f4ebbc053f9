//! One file of the kernel, kept open and read again and again from its beginning.
//!
//! An open file saves the path walk (half to two thirds of the cost of a small file), and a file of a
//! cgroup that has been removed answers `ENODEV` instead of being taken for another's.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::Path,
};

/// Memory that readings go to, used again by every file.
#[derive(Debug)]
pub struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; 16 << 10])
    }
}

/// A piece of a list shorter than this leaves room for another line in its page of 4 KiB or more.
const LAST_PIECE: usize = 3 << 10;

/// A file of procfs, sysfs or a cgroup.
#[derive(Debug)]
pub struct KernelFile(File);

impl KernelFile {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// The whole content of a file that the kernel writes at once, as nearly all of them (`single_open`,
    /// `seq_show` of kernfs): what is shorter than asked for is all. Bytes outside ASCII are replaced by `?`
    /// (a process may name itself anything).
    pub fn read<'a>(&self, buffer: &'a mut Buffer) -> io::Result<&'a str> {
        self.read_until(buffer, |_, whole| whole)
    }

    /// The whole content of a list that the kernel hands out piece by piece. A piece holds as many
    /// lines as go into a page (`seq_read_iter`): one that leaves room for more is the last.
    pub fn read_list<'a>(&self, buffer: &'a mut Buffer) -> io::Result<&'a str> {
        self.read_until(buffer, |text, _| text.len() < LAST_PIECE)
    }

    /// Content from the beginning until `enough` says so of what there is (and of whether the last
    /// piece was shorter than asked for), or the end. What is not asked for is not made.
    pub fn read_until<'a>(&self, buffer: &'a mut Buffer, enough: impl Fn(&str, bool) -> bool) -> io::Result<&'a str> {
        let mut length = 0;
        loop {
            if length == buffer.0.len() {
                buffer.0.resize(length * 2, 0);
            }
            let space = buffer.0.len() - length;
            match self.0.read_at(&mut buffer.0[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => {
                    let new = &mut buffer.0[length..length + count];
                    if !new.is_ascii() {
                        new.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
                    }
                    length += count;
                    if enough(ascii(&buffer.0[..length])?, count < space) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        ascii(&buffer.0[..length])
    }
}

fn ascii(bytes: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a file once, without its last newline.
pub fn read_once(path: &Path) -> io::Result<String> {
    // `fs::read` takes the size of such a file, which is 0, for a hint and begins with 32 bytes.
    let mut file = File::open(path)?;
    let (mut bytes, mut length) = (vec![0; 4 << 10], 0);
    loop {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length == bytes.len() {
            bytes.resize(length * 2, 0);
        }
    }
    Ok(String::from_utf8_lossy(&bytes[..length]).trim_end().to_owned())
}

/// The number that a file consists of, or begins with.
pub fn number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// The number behind a key in a table of `key value` or `key: value` lines.
pub fn keyed(table: &str, key: &str) -> Option<u64> {
    table.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.starts_with([' ', '\t', ':']).then(|| number(rest.trim_start_matches(':')))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_matched_whole() {
        let table = "total_rss_huge 7\nrss 1\ntotal_rss 3\nRssAnon:\t  88 kB\n";
        assert_eq!(keyed(table, "total_rss"), Some(3));
        assert_eq!(keyed(table, "rss"), Some(1));
        assert_eq!(keyed(table, "RssAnon"), Some(88));
        assert_eq!(keyed(table, "anon"), None);
    }

    #[test]
    fn a_file_longer_than_the_buffer_comes_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, "0123456789abcde\n".repeat(4096)).unwrap();
        let file = KernelFile::open(&path).unwrap();
        let mut buffer = Buffer::default();
        assert_eq!(file.read(&mut buffer).unwrap().len(), 64 << 10);
        assert_eq!(file.read(&mut buffer).unwrap().len(), 64 << 10);
    }
}
