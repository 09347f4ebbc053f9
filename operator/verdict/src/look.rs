//! What the pairs say at one look.

use crate::contrast::Contrast;
use crate::evidence::{Direction, Prior};
use crate::judgement::{Method, Scale};
use crate::outliers::{self, Ranks};
use crate::policy::{Equivalence, OutlierMode, Policy};
use crate::schedule::PlannedLook;
use gaugeblock_statistics::Interval;
use gaugeblock_statistics::one_sample_t::{Moderation, OneSampleT, VariancePrior};
use gaugeblock_statistics::visible_effect::smallest_visible;
use gaugeblock_statistics::{median, rank_sum, signed_rank};

/// Efficiency of the Hodges–Lehmann estimate against the mean under normal noise, 3/π
/// (Hodges & Lehmann, "The efficiency of some nonparametric competitors of the t-test", 1956).
const RANK_EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// What a look decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// A difference for the worse.
    Worse,
    /// A difference for the better.
    Better,
    /// No difference of δ or more.
    Same,
}

/// The numbers of one look, on the scale of its contrast.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Look {
    /// What the look asked for.
    pub planned: PlannedLook,
    /// What it looked at.
    pub contrast: Contrast,
    /// Best estimate.
    pub estimate: f64,
    /// Its interval at this look's nominal level.
    pub interval: Interval,
    /// The interval for "no change", at twice the one-sided level.
    pub equivalence: Interval,
    /// Two-sided p-value, not adjusted.
    pub p: f64,
    /// How it was computed.
    pub method: Method,
    /// Standard deviation of one value, as far as it matters for the method.
    pub standard_deviation: f64,
    /// Degrees of freedom beyond n − 1 that a prior brought.
    pub prior_degrees_of_freedom: f64,
    /// Whether a prior was there and was dropped.
    pub prior_dropped: bool,
}

impl Look {
    /// Test a contrast; none for fewer than two values.
    pub fn take(contrast: Contrast, planned: PlannedLook, prior: Option<Prior>, outliers: OutlierMode) -> Option<Self> {
        let ranks = match outliers {
            OutlierMode::Detect => outliers::detect(&contrast),
            OutlierMode::Never => None,
        };
        match ranks.and_then(|ranks| Self::by_ranks(&contrast, planned, ranks)) {
            Some(look) => Some(look),
            None => Self::by_t(contrast, planned, prior),
        }
    }

    fn by_t(contrast: Contrast, planned: PlannedLook, prior: Option<Prior>) -> Option<Self> {
        let plain = OneSampleT::of(&contrast.values)?;
        let prior = prior
            .filter(|_| contrast.scale == Scale::Relative)
            .map(|prior| VariancePrior { variance: prior.variance, degrees_of_freedom: prior.degrees_of_freedom });
        let moderated = prior.and_then(|prior| OneSampleT::moderated(&contrast.values, prior));
        let (t, moderation) = match moderated {
            Some((t, moderation)) => (t, Some(moderation)),
            None => (plain, None),
        };
        let method = match (contrast.scale, moderation) {
            (Scale::Absolute, _) => Method::DifferenceT,
            (Scale::Relative, Some(Moderation::Used)) => Method::ModeratedT,
            (Scale::Relative, Some(Moderation::Dropped) | None) => Method::PairedT,
        };
        Some(Self {
            planned,
            estimate: t.estimate,
            interval: t.interval(planned.nominal_p),
            equivalence: t.interval(2.0 * planned.equivalence_p),
            p: t.p(),
            method,
            standard_deviation: t.standard_deviation,
            prior_degrees_of_freedom: t.degrees_of_freedom - plain.degrees_of_freedom,
            prior_dropped: moderation == Some(Moderation::Dropped),
            contrast,
        })
    }

    /// None where so few pairs cannot reach the nominal level by ranks.
    fn by_ranks(contrast: &Contrast, planned: PlannedLook, ranks: Ranks) -> Option<Self> {
        let Contrast { values, baseline, candidate, .. } = contrast;
        let interval = |p: f64| match ranks {
            Ranks::BetweenArms => rank_sum::shift_interval(baseline, candidate, p),
            Ranks::WithinPairs => signed_rank::interval(values, p),
        };
        let (estimate, p, method) = match ranks {
            Ranks::BetweenArms => {
                (rank_sum::shift(baseline, candidate)?, rank_sum::exact(baseline, candidate).p, Method::HodgesLehmann)
            }
            Ranks::WithinPairs => (
                signed_rank::estimate(values)?,
                signed_rank::test(values).map_or(1.0, |test| test.p),
                Method::SignedRank,
            ),
        };
        let spread = median::median_absolute_deviation(values)? * median::MAD_TO_SD;
        Some(Self {
            planned,
            contrast: contrast.clone(),
            estimate,
            interval: interval(planned.nominal_p)?,
            equivalence: interval(2.0 * planned.equivalence_p)?,
            p,
            method,
            standard_deviation: spread / RANK_EFFICIENCY.sqrt(),
            prior_degrees_of_freedom: 0.0,
            prior_dropped: false,
        })
    }

    /// Regressed or improved: the interval excludes zero and the estimate reaches δ. No change:
    /// both one-sided tests. `None`: go on.
    pub fn decide(&self, direction: Direction, policy: &Policy) -> Option<Decision> {
        let shown = self.interval.excludes(0.0).then(|| self.difference(direction)).flatten();
        if shown.is_some() {
            return shown;
        }
        self.same(policy).then_some(Decision::Same)
    }

    /// Which side the estimate is on, if it reaches δ.
    pub fn difference(&self, direction: Direction) -> Option<Decision> {
        let worse = self.estimate * direction.worse();
        if self.estimate == 0.0 || worse.abs() < self.contrast.threshold {
            None
        } else if worse > 0.0 {
            Some(Decision::Worse)
        } else {
            Some(Decision::Better)
        }
    }

    /// Whether "less than δ" is shown.
    pub fn same(&self, policy: &Policy) -> bool {
        match policy.equivalence {
            Equivalence::OneSidedTests { .. } => self.equivalence.within(self.contrast.threshold),
            Equivalence::RepeatedInterval { tolerance } => self.interval.within(self.contrast.margin(tolerance)),
        }
    }

    /// The smallest change visible to a test of so many pairs at so small a p, as an effect.
    pub fn smallest_visible(&self, pairs: u32, nominal_p: f64) -> Option<f64> {
        let df = f64::from(pairs) - 1.0 + self.prior_degrees_of_freedom;
        let visible = smallest_visible(self.standard_deviation, f64::from(pairs), nominal_p, df);
        visible.is_finite().then(|| self.contrast.effect(visible))
    }
}
