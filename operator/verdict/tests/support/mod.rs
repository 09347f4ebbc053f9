//! Fixtures that are verbs, and dice that fall the same way every time.

#![allow(dead_code, clippy::unwrap_used)]

pub mod noise;

use gaugeblock_verdict::{MetricEvidence, MinimumEffect, Pair, Policy, RunJudgement, Validity, judge};

/// A gate named `latency` with δ, and no pairs yet.
pub fn gate(minimum: f64) -> MetricEvidence {
    MetricEvidence::new("candidate", "latency", "s", MinimumEffect::relative(minimum))
}

/// The same metric with these values, pair by pair.
pub fn with_pairs(mut evidence: MetricEvidence, values: &[(f64, f64)]) -> MetricEvidence {
    evidence.pairs = (1..)
        .zip(values)
        .map(|(block, (baseline, candidate))| Pair { block, baseline: *baseline, candidate: *candidate })
        .collect();
    evidence
}

/// Judge undisturbed blocks by the default policy, the budget being all the pairs there are.
pub fn judged(evidence: &[MetricEvidence]) -> RunJudgement {
    let blocks = evidence.iter().map(|e| e.pairs.len()).max().unwrap_or(0) as u32;
    judge(evidence, &Policy::for_budget(blocks), &Validity::clean("baseline", blocks))
}

/// SplitMix64: Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (2014).
pub struct Dice(u64);

impl Dice {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, never either.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn coin(&mut self) -> bool {
        self.uniform() < 0.5
    }

    /// Box & Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}
