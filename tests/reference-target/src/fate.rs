//! What becomes of the nth measured request: a pure function of n and the knobs.

use crate::knobs::Knobs;

/// Parts per million that make a whole.
const WHOLE: u64 = 1_000_000;

/// What the knobs want done with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Answer with 500.
    pub error: bool,
    /// End the process with code 3 once the answer has left.
    pub last: bool,
    /// Touch memory until killed, before answering.
    pub exhaust: bool,
    /// Have a child process do so, and answer.
    pub exhaust_child: bool,
}

/// The fate of request `index`, counted from 0 over all workers and measured endpoints.
pub fn of(index: u64, knobs: &Knobs) -> Fate {
    let number = index + 1;
    Fate {
        error: is_error(index, knobs.error_share.0.into(), knobs.seed),
        last: knobs.exit_after.is_some_and(|after| number >= after),
        exhaust: knobs.oom_after.is_some_and(|after| number >= after),
        exhaust_child: knobs.oom_child_after == Some(number),
    }
}

/// Whether request `index` fails when `share_ppm` parts per million do.
///
/// The requests are cut into blocks of 1/share, rounded so that they never drift; one seeded place in each
/// block fails. So the count is exact after every whole block, and no period can fall in step with a mix.
fn is_error(index: u64, share_ppm: u64, seed: u64) -> bool {
    if share_ppm == 0 {
        return false;
    }
    let (index, share, whole) = (u128::from(index), u128::from(share_ppm), u128::from(WHOLE));
    let block = ((index + 1) * share).div_ceil(whole) - 1;
    let start = block * whole / share;
    let length = ((block + 1) * whole / share - start) as u64;
    let place = mixed(seed ^ mixed(block as u64)) % length;
    (index - start) as u64 == place
}

/// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(requests: u64, share_ppm: u64, seed: u64) -> Vec<u64> {
        (0..requests).filter(|&index| is_error(index, share_ppm, seed)).collect()
    }

    #[test]
    fn the_share_is_exact_after_every_whole_block() {
        for (share, block) in [(10_000, 100), (500_000, 2), (1_000_000, 1), (250_000, 4), (500, 2_000)] {
            for blocks in [1, 2, 7, 50] {
                assert_eq!(errors(block * blocks, share, 9).len() as u64, blocks, "{share} ppm");
            }
        }
        assert_eq!(errors(1_000_000, 333_333, 9).len(), 333_333);
        assert_eq!(errors(1_000_000, 900_000, 9).len(), 900_000);
        assert!(errors(1_000, 0, 9).is_empty());
    }

    #[test]
    fn the_seed_chooses_which_requests_fail() {
        assert_eq!(errors(1_000, 10_000, 1), errors(1_000, 10_000, 1));
        assert_ne!(errors(1_000, 10_000, 1), errors(1_000, 10_000, 2));
    }

    #[test]
    fn failures_keep_no_fixed_distance() {
        let chosen = errors(10_000, 10_000, 1);
        let places: std::collections::BTreeSet<_> = chosen.iter().map(|index| index % 100).collect();
        assert!(places.len() > 50, "{} places of 100", places.len());
    }
}
