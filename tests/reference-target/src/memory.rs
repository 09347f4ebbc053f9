//! Memory that is held on purpose: the ballast, the leak, and all there is.

use std::hint::black_box;

/// Bytes of one piece of the leak: with the allocator's header a whole number of pages, so that what is lost
/// and what the kernel counts agree.
const PIECE: usize = (1 << 20) - 64;

/// The kernel's page.
const PAGE: usize = 4096;

/// Anonymous memory, touched, never given back.
#[derive(Debug)]
pub struct Ballast(#[allow(dead_code, reason = "held, not read")] Vec<u8>);

impl Ballast {
    /// Allocates `bytes` and writes to each page.
    pub fn new(bytes: usize) -> Self {
        let mut memory = vec![0_u8; bytes];
        for byte in memory.iter_mut().step_by(PAGE) {
            *byte = 1;
        }
        Self(black_box(memory))
    }
}

/// Memory lost bit by bit. Pages are touched as they are lost, so resident memory follows to the page.
#[derive(Debug, Default)]
pub struct Leak {
    lost: u64,
    full: Vec<Vec<u8>>,
    current: Vec<u8>,
}

impl Leak {
    /// Loses `bytes` more.
    pub fn lose(&mut self, bytes: u64) {
        self.lost += bytes;
        let mut left = bytes as usize;
        while left > 0 {
            if self.current.len() == self.current.capacity() {
                let full = std::mem::replace(&mut self.current, Vec::with_capacity(PIECE));
                self.full.push(full);
            }
            let part = left.min(self.current.capacity() - self.current.len());
            self.current.resize(self.current.len() + part, 0xA5);
            left -= part;
        }
        black_box(&self.current);
    }

    /// Bytes lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Allocates and touches memory until the kernel kills this process.
///
/// It first offers itself as the first to be killed (proc(5), `oom_score_adj`), so that without a memory
/// limit nobody else dies for it.
pub fn exhaust() -> ! {
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", "1000") {
        eprintln!("failed to raise oom_score_adj: {error}");
    }
    let mut all = Vec::new();
    loop {
        all.push(Ballast::new(1 << 20));
        black_box(&all);
    }
}

/// Anonymous resident memory of this process in bytes: `RssAnon` of `/proc/self/status`.
pub fn resident_anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_of_small_pieces_counts_every_byte() {
        let mut leak = Leak::default();
        for _ in 0..3_000 {
            leak.lose(1_000);
        }
        leak.lose(2 << 20);
        assert_eq!(leak.lost(), 3_000_000 + (2 << 20));
        let held = leak.full.iter().map(Vec::len).sum::<usize>() + leak.current.len();
        assert_eq!(held as u64, leak.lost());
    }
}
