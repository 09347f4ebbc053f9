//! Sets of CPUs as the kernel writes them: `0-3,8`.

use std::{collections::BTreeSet, fmt, str::FromStr};

use rustix::thread::CpuSet;

/// A set of CPU numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// The CPU numbers, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both have a CPU in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Those that the calling thread may run on.
    pub fn allowed() -> rustix::io::Result<Self> {
        let set = rustix::thread::sched_getaffinity(None)?;
        Ok((0..CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)).collect())
    }

    /// Lets the calling thread, and what it starts from now on, run on these only.
    pub fn pin(&self) -> rustix::io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in self.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        rustix::thread::sched_setaffinity(None, &set)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| *next == last + 1) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

/// The text is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a list of CPUs such as 0-3,8")]
pub struct InvalidCpuList(String);

impl FromStr for CpuList {
    type Err = InvalidCpuList;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidCpuList(text.to_owned());
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| invalid())?;
            let last: u32 = last.trim().parse().map_err(|_| invalid())?;
            if first > last || last > 1 << 16 {
                return Err(invalid());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_were_read() {
        for text in ["0", "0-3", "0-1,4,6-7", ""] {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), text);
        }
        assert_eq!("0,1,2\n".parse::<CpuList>().unwrap().to_string(), "0-2");
        assert!("3-1".parse::<CpuList>().is_err());
        assert!("a".parse::<CpuList>().is_err());
    }
}
