//! What a rule sees.

use crate::evidence::MetricEvidence;
use crate::judgement::{Finding, Rule, Scale, Verdict};
use crate::look::{Decision, Look};
use crate::policy::Policy;
use crate::quantity::{quantity, signed_percent};
use crate::reading::Reading;
use crate::validity::Validity;

/// One metric, with everything that may bear on its verdict.
pub(crate) struct Case<'a> {
    pub evidence: &'a MetricEvidence,
    pub policy: &'a Policy,
    pub validity: &'a Validity,
    pub reading: &'a Reading,
    /// No more pairs will come.
    pub ended: bool,
    /// The errors of the same arm and scenario regressed; their sentence.
    pub errors: Option<&'a str>,
}

/// A rule's answer: a verdict and why.
pub(crate) struct Ruling {
    pub verdict: Verdict,
    pub finding: Finding,
}

impl Ruling {
    pub fn new(verdict: Verdict, rule: Rule, sentence: String) -> Self {
        Self { verdict, finding: Finding { rule, sentence } }
    }
}

impl Case<'_> {
    /// The decision that stands, the look after which it did, and the last look.
    pub fn decided(&self) -> Option<(Decision, u32, &Look)> {
        let (decision, at) = self.reading.crossed?;
        Some((decision, at, self.reading.look.as_ref()?))
    }

    /// A number on the effect's scale, signed: `+2.3 %`, `+1.5 MiB`, `+0.4 percentage points`.
    pub fn change(&self, scale: Scale, effect: f64) -> String {
        match scale {
            Scale::Relative => signed_percent(effect),
            Scale::Absolute => {
                let sign = if effect > 0.0 { "+" } else { "" };
                let amount = quantity(effect, &self.evidence.unit);
                let amount = match amount.strip_suffix(" %") {
                    Some(points) => format!("{points} percentage points"),
                    None => amount,
                };
                format!("{sign}{amount}")
            }
        }
    }

    /// The same without a sign.
    pub fn amount(&self, scale: Scale, effect: f64) -> String {
        let text = self.change(scale, effect.abs());
        text.strip_prefix('+').map(str::to_owned).unwrap_or(text)
    }

    /// `+2.3 %, between +1.1 % and +3.5 %` at a look.
    pub fn estimate(&self, look: &Look) -> String {
        let scale = look.contrast.scale;
        let text = |value: f64| self.change(scale, look.contrast.effect(value));
        let estimate = text(look.estimate);
        let (low, high) = (text(look.interval.low), text(look.interval.high));
        if low == estimate && high == estimate {
            return estimate;
        }
        format!("{estimate}, between {low} and {high}")
    }

    /// `from 212 µs to 254 µs`: the middles of both arms at a look.
    pub fn middles(&self, look: &Look) -> String {
        let pairs = &self.evidence.pairs[..look.planned.pairs as usize];
        let summary = |value: fn(&crate::Pair) -> f64| {
            let values: Vec<f64> = pairs.iter().map(value).collect();
            crate::arms::summary(&values).map_or(0.0, |summary| match look.contrast.scale {
                Scale::Relative => summary.centre(),
                Scale::Absolute => summary.mean,
            })
        };
        let unit = &self.evidence.unit;
        let (from, to) = (summary(|pair| pair.baseline), summary(|pair| pair.candidate));
        format!("from {} to {}", quantity(from, unit), quantity(to, unit))
    }

    /// `6 pairs`, or `the first pair` of an exact metric.
    pub fn pairs(n: u32) -> String {
        if n == 1 { "1 pair".to_owned() } else { format!("{n} pairs") }
    }
}
