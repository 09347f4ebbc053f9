//! How busy the target's CPUs were with anything at all, from `/proc/stat`.
//!
//! The kernel makes the whole table anew for every reading, all interrupts' counts included (20 µs
//! on two CPUs, several hundred on a hundred), and counts in steps of 10 ms: it is read twice a second.

use gaugeblock_measurement::{UnixNanos, sampler::CpuSeries};

use crate::{
    clock::{MILLISECOND, TICK},
    cpu_set::CpuSet,
    kernel_file::{Buffer, KernelFile},
    process::Proc,
};

/// Shortest time between two readings (ns).
pub const INTERVAL: u64 = 500 * MILLISECOND;

/// The series of some CPUs.
#[derive(Debug)]
pub struct HostCpus {
    file: KernelFile,
    series: Vec<CpuSeries>,
}

impl HostCpus {
    /// Opens the table for some CPUs.
    pub fn open(proc: &Proc, cpus: &CpuSet) -> std::io::Result<Self> {
        let series = cpus.iter().map(|cpu| CpuSeries { cpu, ..CpuSeries::default() }).collect();
        Ok(Self { file: KernelFile::open(&proc.file("stat"))?, series })
    }

    /// Adds a sample.
    pub fn sample(&mut self, at: UnixNanos, buffer: &mut Buffer) -> std::io::Result<()> {
        // The CPUs' lines come first; nothing behind them is asked for.
        let table = self.file.read_until(buffer, |text, whole| whole || text.contains("\nintr"))?;
        for series in &mut self.series {
            if let Some(times) = times(table, series.cpu) {
                series.at.push(at);
                series.busy.push(times.busy);
                series.steal.push(times.steal);
                series.interrupts.push(times.interrupts);
            }
        }
        Ok(())
    }

    /// The finished series.
    pub fn finish(self) -> Vec<CpuSeries> {
        self.series
    }
}

/// Cumulative times of one CPU (ns).
#[derive(Debug, PartialEq, Eq)]
struct Times {
    busy: u64,
    steal: u64,
    interrupts: u64,
}

/// Columns of proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; the
/// guests' are contained in user and nice.
fn times(table: &str, cpu: u32) -> Option<Times> {
    let label = format!("cpu{cpu} ");
    let line = table.lines().find_map(|line| line.strip_prefix(&label))?;
    let mut columns = [0; 8];
    for (column, word) in columns.iter_mut().zip(line.split_ascii_whitespace()) {
        *column = word.parse::<u64>().ok()?.saturating_mul(TICK);
    }
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = columns;
    Some(Times { busy: user + nice + system + irq + softirq + steal, steal, interrupts: irq + softirq })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_all_but_idle_and_waiting() {
        let table = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 3 100 50 4 5 6 7 8\nintr 1\n";
        let expected = Times { busy: 21 * TICK, steal: 6 * TICK, interrupts: 9 * TICK };
        assert_eq!(times(table, 1), Some(expected));
        assert_eq!(times(table, 0), None);
    }
}
