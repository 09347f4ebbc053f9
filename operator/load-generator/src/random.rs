//! Seeded random numbers: the same seed gives the same load, on every machine and release.

/// `xoshiro256**` (Blackman & Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS
/// 2021), seeded by `SplitMix64` as its authors advise.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// What a stream of random numbers is for: streams of one worker are independent of each other, so
/// that the mix does not depend on how arrivals are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Choice of the request and its parameters.
    Mix = 1,
    /// Gaps between arrivals.
    Arrivals = 2,
}

impl Random {
    /// The stream of one worker of one scenario.
    pub fn new(seed: u64, scenario: u64, worker: u64, stream: Stream) -> Self {
        let mut mixer = SplitMix(seed);
        for salt in [scenario, worker, stream as u64] {
            mixer = SplitMix(mixer.next() ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        Self { state: std::array::from_fn(|_| mixer.next()) }
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A whole number in `0..bound`, each equally likely to within `bound`/2⁶⁴ (Lemire, "Fast
    /// Random Integer Generation in an Interval", ACM TOMACS 2019); 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `(0, 1]`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of the reference implementation for the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: [u64; 4] = std::array::from_fn(|_| random.next());
        assert_eq!(first, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, scenario, worker, stream| Random::new(seed, scenario, worker, stream).next();
        let one = draw(7, 0, 0, Stream::Mix);
        assert_eq!(one, draw(7, 0, 0, Stream::Mix));
        for other in [
            draw(8, 0, 0, Stream::Mix),
            draw(7, 1, 0, Stream::Mix),
            draw(7, 0, 1, Stream::Mix),
            draw(7, 0, 0, Stream::Arrivals),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut random = Random::new(1, 0, 0, Stream::Mix);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
            let unit = random.unit();
            assert!(unit > 0.0 && unit <= 1.0);
        }
        // Five standard deviations of a binomial count with p = .1.
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }
}
