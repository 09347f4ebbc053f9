//! The values behind a table: one per clean trial, gathered by metric and arm.

use std::collections::{BTreeMap, BTreeSet};

use gaugeblock_measurement::{MetricName, Outcome};
use gaugeblock_planner::{Slot, TrialSummary};
use serde::{Deserialize, Serialize};

/// What a value is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Scenario; `None` for the trial as a whole.
    pub scenario: Option<String>,
    /// Metric.
    pub metric: MetricName,
    /// Named request; `None` for all together.
    pub request: Option<String>,
}

/// One arm's values of one metric, each in the metric's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// Trials.
    pub n: u32,
    /// Median.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation over trials (n − 1); zero for a single one.
    pub standard_deviation: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of these values; `None` when there is none. Values that are not finite are left out.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let middle = n / 2;
        let median = if n % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self {
            n: n as u32,
            median,
            mean,
            standard_deviation: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            min: first,
            max: last,
        })
    }
}

/// Slots of the trials that count: whole, not of the block that is thrown away, and in a block
/// (attempt included) of which no trial was void.
pub fn clean(trials: &[TrialSummary]) -> BTreeSet<Slot> {
    let void: BTreeSet<(u32, u32)> = trials
        .iter()
        .filter(|trial| matches!(trial.outcome, Outcome::Void(..)))
        .map(|trial| (trial.slot.block, trial.slot.attempt))
        .collect();
    trials
        .iter()
        .filter(|trial| trial.outcome == Outcome::Complete && trial.slot.block > 0)
        .map(|trial| trial.slot)
        .filter(|slot| !void.contains(&(slot.block, slot.attempt)))
        .collect()
}

/// Values by subject and arm, one per block. What every stage of a trial has, such as the start,
/// counts once: its first stage's, as where it is judged.
pub fn gather(trials: &[TrialSummary]) -> BTreeMap<Subject, BTreeMap<u32, Vec<f64>>> {
    let clean = clean(trials);
    let mut counted: Vec<&TrialSummary> = trials.iter().filter(|trial| clean.contains(&trial.slot)).collect();
    counted.sort_by_key(|trial| trial.slot);
    let mut seen: BTreeSet<(Subject, u32, u32)> = BTreeSet::new();
    let mut gathered: BTreeMap<Subject, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for trial in counted {
        for value in trial.metrics.iter().filter(|value| value.value.is_finite()) {
            let subject =
                Subject { scenario: value.scenario.clone(), metric: value.metric, request: value.request.clone() };
            let (block, arm) = (trial.slot.block, trial.slot.arm);
            if seen.insert((subject.clone(), block, arm)) {
                gathered.entry(subject).or_default().entry(arm).or_default().push(value.value);
            }
        }
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_of_equal_values_has_no_deviation() {
        let spread = Spread::of(&[2.0, 2.0, 2.0]).unwrap();
        assert_eq!((spread.n, spread.median, spread.standard_deviation), (3, 2.0, 0.0));
    }

    #[test]
    fn values_that_are_not_finite_never_reach_a_table() {
        assert_eq!(Spread::of(&[f64::NAN, f64::INFINITY]), None);
        let spread = Spread::of(&[f64::NAN, 4.0, 2.0]).unwrap();
        assert_eq!((spread.n, spread.median), (2, 3.0));
    }
}
