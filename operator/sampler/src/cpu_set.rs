//! A set of CPUs, as the kernel writes it: `0-2,5`.

use std::{collections::BTreeSet, fmt, str::FromStr};

/// CPUs by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet(BTreeSet<u32>);

/// Not a list of CPUs.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no list of CPUs such as 0-2,5")]
pub struct NoCpuSet(String);

impl CpuSet {
    /// More CPUs than any kernel is built for (`CONFIG_NR_CPUS` ≤ 8192 in distributions): a range
    /// beyond it is damage, not a machine.
    const MOST: u32 = 1 << 16;

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CPUs in both.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Whether every CPU of `self` is in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = NoCpuSet;

    /// Reads the format of `Documentation/admin-guide/cputopology.rst`; an empty line is an empty set.
    fn from_str(text: &str) -> Result<Self, NoCpuSet> {
        let wrong = || NoCpuSet(text.to_owned());
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if last < first || last >= Self::MOST {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lists_are_read_and_written_alike() {
        for text in ["", "0", "0-1", "0,3", "0-2,5,7-9"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
        assert_eq!("0,1,2\n".parse::<CpuSet>().unwrap().to_string(), "0-2");
    }

    #[test]
    fn damage_is_refused() {
        for text in ["a", "3-1", "0-99999999", "-1"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }
}
