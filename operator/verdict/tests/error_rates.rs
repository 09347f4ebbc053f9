//! How often the default policy is wrong, by simulation with fixed seeds (`analysis.md`, "Figures
//! to reach"; the full-size runs belong to `cargo xtask bench statistics`).

mod support;

use gaugeblock_verdict::{MetricName, Policy, RunJudgement, Schedule, Validity, Verdict, judge_by};
use support::noise::{FAMILIES, Noise};
use support::{Dice, gate, with_pairs};

/// What is simulated: noise of a family and size, a true effect, δ, so many gates.
#[derive(Clone, Copy)]
struct Setting {
    noise: Noise,
    variation: f64,
    effect: f64,
    minimum: f64,
    gates: usize,
}

impl Setting {
    fn quiet(noise: Noise) -> Self {
        Self { noise, variation: 0.01, effect: 0.0, minimum: 0.02, gates: 1 }
    }

    /// Simulate so many runs of twenty pairs.
    fn simulate(self, policy: &Policy, runs: usize) -> Vec<RunJudgement> {
        let planned = Schedule::planned(policy, self.gates as u32);
        let validity = Validity::clean("baseline", 20);
        let mut dice = Dice::seeded(20_261_130);
        (0..runs)
            .map(|_| {
                let gates: Vec<_> = (0..self.gates)
                    .map(|i| {
                        let mut gate = with_pairs(gate(self.minimum), &self.values(&mut dice));
                        gate.metric = MetricName(format!("metric {i}"));
                        gate
                    })
                    .collect();
                judge_by(&planned, &gates, policy, &validity)
            })
            .collect()
    }

    fn values(self, dice: &mut Dice) -> Vec<(f64, f64)> {
        let Self { noise, variation, effect, .. } = self;
        let pairs = noise.pairs(dice, 20).into_iter();
        pairs.map(|(b, c)| (1.0 + variation * b, (1.0 + variation * c) * (1.0 + effect))).collect()
    }
}

fn share(runs: &[RunJudgement], verdicts: &[Verdict]) -> f64 {
    runs.iter().filter(|run| verdicts.contains(&run.verdict)).count() as f64 / runs.len() as f64
}

fn mean_pairs(runs: &[RunJudgement]) -> f64 {
    let pairs = |run: &RunJudgement| f64::from(run.judgements[0].crossed_at.unwrap_or(20));
    runs.iter().map(pairs).sum::<f64>() / runs.len() as f64
}

const FLAGS: [Verdict; 2] = [Verdict::Regressed, Verdict::Improved];

/// Two standard errors of a share of about this size, in so many runs.
fn tolerance(share: f64, runs: usize) -> f64 {
    2.0 * (share * (1.0 - share) / runs as f64).sqrt()
}

#[test]
fn false_flags_stay_at_the_nominal_rate_in_every_family_even_when_any_change_matters() {
    let runs = 2000;
    for alpha in [0.01, 0.05] {
        let policy = Policy { alpha_per_run: alpha, ..Policy::for_budget(20) };
        for noise in FAMILIES {
            let setting = Setting { minimum: 0.0, ..Setting::quiet(noise) };
            let flagged = share(&setting.simulate(&policy, runs), &FLAGS);
            let most = if alpha < 0.02 { 0.013 } else { 0.06 } + tolerance(alpha, runs);
            assert!(flagged <= most, "{noise:?}: {flagged} > {most} at {alpha}");
        }
    }
}

#[test]
fn no_change_is_found_at_one_per_cent_noise() {
    let runs = Setting::quiet(Noise::Normal).simulate(&Policy::for_budget(20), 2000);
    let (found, pairs) = (share(&runs, &[Verdict::NoChange]), mean_pairs(&runs));
    assert!(found >= 0.98 && pairs <= 9.0, "{found} in {pairs} pairs");
}

#[test]
fn twice_the_minimum_effect_is_found() {
    for (variation, minimum, most_pairs) in [(0.01, 0.02, 7.5), (0.03, 0.05, 8.0)] {
        let quiet = Setting::quiet(Noise::Normal);
        let setting = Setting { variation, minimum, effect: 2.0 * minimum, ..quiet };
        let runs = setting.simulate(&Policy::for_budget(20), 1000);
        let (found, pairs) = (share(&runs, &[Verdict::Regressed]), mean_pairs(&runs));
        assert!(found >= 0.98 && pairs <= most_pairs, "{found} in {pairs} pairs");
    }
}

#[test]
fn outliers_hide_neither_no_change_nor_a_difference() {
    let policy = Policy::for_budget(20);
    let quiet = Setting::quiet(Noise::Outliers).simulate(&policy, 1000);
    assert!(share(&quiet, &[Verdict::NoChange]) >= 0.9);
    let changed = Setting { effect: 0.04, ..Setting::quiet(Noise::Outliers) };
    assert!(share(&changed.simulate(&policy, 1000), &[Verdict::Regressed]) >= 0.95);
}

#[test]
fn a_true_change_of_delta_is_rarely_called_no_change() {
    let runs = 1000;
    for noise in FAMILIES {
        let setting = Setting { effect: 0.02, ..Setting::quiet(noise) };
        let missed = share(&setting.simulate(&Policy::for_budget(20), runs), &[Verdict::NoChange]);
        assert!(missed <= 0.06 + tolerance(0.05, runs), "{noise:?}: {missed}");
    }
}

#[test]
fn twelve_gates_share_one_error_rate() {
    let setting = Setting { gates: 12, minimum: 0.0, ..Setting::quiet(Noise::Normal) };
    let runs = 300;
    let flagged = share(&setting.simulate(&Policy::for_budget(20), runs), &FLAGS);
    assert!(flagged <= 0.025 + tolerance(0.02, runs), "{flagged}");
}

#[test]
fn the_final_interval_covers_the_truth() {
    let runs = 1000;
    for noise in FAMILIES {
        let setting = Setting { effect: 0.02, ..Setting::quiet(noise) };
        let covers = |run: &RunJudgement| run.judgements[0].interval.is_some_and(|i| i.low <= 0.02 && 0.02 <= i.high);
        let judged = setting.simulate(&Policy::for_budget(20), runs);
        let covered = judged.iter().filter(|run| covers(run)).count() as f64 / runs as f64;
        assert!(covered >= 0.98 - tolerance(0.02, runs), "{noise:?}: {covered}");
    }
}
