//! How fast a CPU is at the moment: a fixed integer loop, timed.
//!
//! In a virtual machine the frequency cannot be read. The loop is a chain of six dependent
//! operations of one cycle each (Marsaglia, "Xorshift RNGs", 2003), so that neither memory nor what
//! the compiler does around it changes its time: about 2 ms at 3 GHz.

use gaugeblock_measurement::sampler::SpeedProbe;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};

use crate::{clock, cpu_set::CpuSet, notes::Notes};

/// Version of the loop: times of two versions are not compared.
const LOOP_VERSION: u32 = 1;
/// Rounds of the chain.
const ROUNDS: u32 = 1 << 20;
/// Repetitions; the best counts, as whatever interrupts a loop only makes it longer.
const REPETITIONS: usize = 3;
/// Most CPUs that are timed: 8 CPUs take 50 ms.
const MOST: usize = 8;

/// CPUs that this program may run on.
pub fn allowed() -> CpuSet {
    sched_getaffinity(None).map_or_else(
        |_| CpuSet::default(),
        |mask| (0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect(),
    )
}

/// Times the loop on each of some CPUs, as far as this program may run there, and returns to where it was.
pub fn probe(cpus: &CpuSet, notes: &mut Notes) -> Vec<SpeedProbe> {
    let Ok(before) = sched_getaffinity(None) else {
        notes.add("the CPU affinity cannot be read: no machine speed");
        return Vec::new();
    };
    let mut probes = Vec::new();
    for cpu in cpus.iter().take(MOST) {
        let mut mask = Mask::new();
        mask.set(cpu as usize);
        match sched_setaffinity(None, &mask) {
            Ok(()) => probes.push(SpeedProbe {
                at: clock::now(),
                cpu,
                nanos: (0..REPETITIONS).map(|_| time_loop()).min().unwrap_or(0),
                loop_version: LOOP_VERSION,
            }),
            Err(error) => {
                notes.add(format!("CPU {cpu} may not be used by the sampler: no machine speed there ({error})"));
            }
        }
    }
    if let Err(error) = sched_setaffinity(None, &before) {
        notes.add(format!("the sampler could not return to its CPUs: {error}"));
    }
    probes
}

fn time_loop() -> u64 {
    let began = clock::monotonic();
    let mut state = std::hint::black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..ROUNDS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    std::hint::black_box(state);
    clock::monotonic().saturating_sub(began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_cpu_is_timed_and_the_affinity_restored() {
        let mut notes = Notes::default();
        let before = allowed();
        let probes = probe(&before, &mut notes);
        assert_eq!(probes.len(), before.len().min(MOST));
        // Six cycles a round: between 0.5 and 10 GHz.
        for probe in probes {
            assert!((600_000..15_000_000).contains(&probe.nanos), "{}", probe.nanos);
        }
        assert_eq!(allowed(), before);
        assert!(notes.into_vec().is_empty());
    }
}
