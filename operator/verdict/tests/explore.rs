#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used)]
mod support;
use gaugeblock_verdict::*;
use support::{Dice, gate, noise::*, with_pairs};
#[test]
fn explore() {
    let runs: usize = std::env::var("RUNS").map(|r| r.parse().unwrap()).unwrap_or(2000);
    for (cv, delta) in [(0.01, 0.0), (0.01, 0.02), (0.03, 0.05)] {
        for alpha in [0.01, 0.02, 0.05] {
            if alpha != 0.02 && delta > 0.0 { continue; }
            for family in FAMILIES {
                for mode in [OutlierMode::Detect, OutlierMode::Never] {
                    let mut row = String::new();
                    for effect in [0.0, delta, 2.0 * delta] {
                        if delta == 0.0 && row.len() > 0 { continue; }
                        let mut policy = Policy::for_budget(20);
                        policy.alpha_per_run = alpha;
                        policy.outliers = mode;
                        let mut dice = Dice::seeded(7);
                        let mut count = [0usize; 4]; let mut n = 0; let mut cover = 0;
                        for _ in 0..runs {
                            let values: Vec<(f64, f64)> = family.pairs(&mut dice, 20).iter()
                                .map(|(b, c)| (1.0 + cv * b, (1.0 + cv * c) * (1.0 + effect))).collect();
                            let e = [with_pairs(gate(delta), &values)];
                            let run = judge(&e, &policy, &Validity::clean("baseline", 20));
                            let j = &run.judgements[0];
                            match j.verdict { Verdict::Regressed => count[0] += 1, Verdict::Improved => count[1] += 1, Verdict::NoChange => count[2] += 1, _ => count[3] += 1 }
                            n += j.crossed_at.unwrap_or(20);
                            let _ = &mut cover;
                        }
                        let pc = |k: usize| 100.0 * k as f64 / runs as f64;
                        row += &format!(" | +{:.0}%: R {:.2} I {:.2} N {:.1} ? {:.1} ({:.1})", effect * 100.0, pc(count[0]), pc(count[1]), pc(count[2]), pc(count[3]), n as f64 / runs as f64);
                    }
                    println!("cv {cv} delta {delta} alpha {alpha} {family:?} {mode:?}{row}");
                }
            }
        }
    }
}
