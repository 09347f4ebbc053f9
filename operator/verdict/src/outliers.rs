//! Whether wild trials make ranks the better judge.
//!
//! `analysis.md`, "Default policy", 5: 2–12 % of residuals beyond four MAD-sd; between the arms
//! where the trials of a pair are hardly related, within pairs where they are.

use crate::contrast::Contrast;
use crate::judgement::Scale;
use gaugeblock_statistics::correlation::spearman;
use gaugeblock_statistics::median::{MAD_TO_SD, median};

/// How far out an outlier lies, in standard deviations as the MAD sees them.
const FAR_OUT: f64 = 4.0;
/// Fewer are chance.
const FEWEST: f64 = 0.02;
/// More are a second mode, not outliers.
const MOST: f64 = 0.12;
/// From this rank correlation on, the pair is kept.
const RELATED: f64 = 0.5;
/// Fewer pairs cannot reach a small p by ranks: between arms …
const FEWEST_BETWEEN_ARMS: usize = 8;
/// … and within pairs.
const FEWEST_WITHIN_PAIRS: usize = 12;

/// Which ranks to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// Hodges–Lehmann shift between the arms.
    BetweenArms,
    /// Walsh averages of the pairs.
    WithinPairs,
}

/// None: no outliers, or too few pairs.
pub(crate) fn detect(contrast: &Contrast) -> Option<Ranks> {
    if contrast.scale != Scale::Relative || contrast.values.len() < FEWEST_BETWEEN_ARMS {
        return None;
    }
    let (baseline, candidate) = (residuals(&contrast.baseline)?, residuals(&contrast.candidate)?);
    let magnitudes: Vec<f64> = baseline.iter().chain(&candidate).map(|r| r.abs()).collect();
    let limit = FAR_OUT * MAD_TO_SD * median(&magnitudes)?;
    let far = magnitudes.iter().filter(|r| **r > limit).count();
    let share = far as f64 / magnitudes.len() as f64;
    if share <= FEWEST || share > MOST {
        return None;
    }
    if spearman(&baseline, &candidate).unwrap_or(0.0) < RELATED {
        return Some(Ranks::BetweenArms);
    }
    (contrast.values.len() >= FEWEST_WITHIN_PAIRS).then_some(Ranks::WithinPairs)
}

fn residuals(sample: &[f64]) -> Option<Vec<f64>> {
    let middle = median(sample)?;
    Some(sample.iter().map(|x| x - middle).collect())
}
