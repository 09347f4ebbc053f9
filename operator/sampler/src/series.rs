//! The series of one container, grown sample by sample.

use gaugeblock_measurement::{UnixNanos, sampler::ContainerSeries};

use crate::cgroup::accounts::Figures;

/// A growing [`ContainerSeries`].
#[derive(Debug, Default)]
pub struct Series {
    record: ContainerSeries,
    /// What the kernel's peak was at the first sample, when the runtime's start was already in it.
    first_peak: Option<u64>,
    last_peak: Option<u64>,
    highest_usage: Option<u64>,
}

impl Series {
    /// Adds a sample.
    pub fn push(&mut self, at: UnixNanos, figures: &Figures) {
        let Figures {
            cpu,
            cpu_user,
            cpu_system,
            throttled,
            throttled_periods,
            anonymous,
            working_set,
            file,
            usage,
            peak,
            processes,
            run_wait,
            involuntary_switches,
        } = *figures;
        let record = &mut self.record;
        record.at.push(at);
        let samples = record.at.len();
        for (column, value) in [
            (&mut record.cpu, cpu),
            (&mut record.cpu_user, cpu_user),
            (&mut record.cpu_system, cpu_system),
            (&mut record.throttled, throttled),
            (&mut record.throttled_periods, throttled_periods),
            (&mut record.run_wait, run_wait),
            (&mut record.anonymous, anonymous),
            (&mut record.working_set, working_set),
            (&mut record.file, file),
            (&mut record.processes, processes),
            (&mut record.involuntary_switches, involuntary_switches),
        ] {
            append(column, samples, value);
        }
        self.first_peak = self.first_peak.or(peak);
        self.last_peak = peak.or(self.last_peak);
        self.highest_usage = self.highest_usage.max(usage);
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.record.at.len()
    }

    /// The record so far, to fill in what is read once.
    pub fn record_mut(&mut self) -> &mut ContainerSeries {
        &mut self.record
    }

    /// The finished record.
    pub fn finish(mut self) -> ContainerSeries {
        self.record.peak = self.record.peak.or_else(|| peak(self.first_peak, self.last_peak, self.highest_usage));
        self.record
    }
}

/// Highest usage of the container itself.
///
/// The kernel's peak includes the runtime's start (runc: 3 to 17 MB), which is over when the first
/// sample is read. Where it rose after that, it is the container's own; where it did not, the
/// container stayed below the runtime, and the highest sample is the best there is.
fn peak(first: Option<u64>, last: Option<u64>, highest_usage: Option<u64>) -> Option<u64> {
    match (first, last) {
        (Some(first), Some(last)) if last > first => Some(last),
        _ => highest_usage,
    }
}

/// Keeps a column as long as `at`: a value that is missing once repeats the last one, a value that
/// appears late fills what went before it.
fn append(column: &mut Vec<u64>, samples: usize, value: Option<u64>) {
    match (value, column.last().copied()) {
        (Some(value), _) => column.resize(samples, value),
        (None, Some(last)) => column.resize(samples, last),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_long_as_the_times_or_empty() {
        let mut series = Series::default();
        for (at, cpu, throttled) in [(1, Some(5), None), (2, None, None), (3, Some(9), Some(2))] {
            series.push(UnixNanos(at), &Figures { cpu, throttled, ..Figures::default() });
        }
        let record = series.finish();
        assert_eq!(record.cpu, [5, 5, 9]);
        assert_eq!(record.throttled, [2, 2, 2]);
        assert!(record.anonymous.is_empty());
    }

    #[test]
    fn the_runtimes_start_is_no_peak_of_the_target() {
        assert_eq!(peak(Some(10), Some(10), Some(3)), Some(3));
        assert_eq!(peak(Some(10), Some(40), Some(3)), Some(40));
        assert_eq!(peak(None, None, Some(3)), Some(3));
        assert_eq!(peak(None, None, None), None);
    }
}
