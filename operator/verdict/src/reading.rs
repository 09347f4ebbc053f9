//! Every look that a metric's pairs have reached, read in order; the first decision stands.

use crate::contrast::Contrast;
use crate::evidence::{Comparison, Direction, MetricEvidence};
use crate::judgement::Method;
use crate::look::{Decision, Look};
use crate::policy::{Equivalence, FEWEST_PAIRS, Policy};
use crate::schedule::{PlannedLook, Schedule};
use gaugeblock_statistics::Interval;

/// A look's p-value, scaled so that it reaches the run's error rate exactly where the look's
/// bound is reached: adjusted for gates and looks to first order.
fn scaled(look: &Look, policy: &Policy) -> Option<f64> {
    let nominal = look.planned.nominal_p;
    (nominal > 0.0).then(|| (look.p / nominal * policy.alpha_per_run).clamp(0.0, 1.0))
}

/// Level of the interval of a metric that does not gate.
const INFORMATION_P: f64 = 0.05;

/// What the pairs of one metric say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The last look; none before the first one.
    pub look: Option<Look>,
    /// The first decision, and after how many pairs.
    pub crossed: Option<(Decision, u32)>,
    /// The smallest p over the looks, scaled so that it crosses at the run's error rate.
    pub p: Option<f64>,
    /// The look at the end of the budget.
    pub at_budget: Option<PlannedLook>,
    /// A plain estimate, when no look has been reached: information only.
    pub estimate: Option<f64>,
    /// Called exact, and varies inside an arm.
    pub not_exact: bool,
}

impl Reading {
    fn nothing() -> Self {
        Self { look: None, crossed: None, p: None, at_budget: None, estimate: None, not_exact: false }
    }

    /// Of a metric that gates.
    pub fn of_gate(evidence: &MetricEvidence, policy: &Policy, planned: &Schedule, ended: bool) -> Self {
        if let Some(exact) = Self::if_exact(evidence) {
            return exact;
        }
        let pairs = (evidence.pairs.len() as u32).min(policy.budget());
        let off_plan = ended && pairs >= FEWEST_PAIRS && !policy.looks.contains(&pairs);
        let own = off_plan.then(|| Schedule::ended_at(pairs, policy, planned.sharing));
        let schedule = own.as_ref().unwrap_or(planned);
        let mut reading = Self { at_budget: planned.last(), ..Self::nothing() };
        for planned in schedule.reached(pairs) {
            let first = &evidence.pairs[..planned.pairs as usize];
            let contrast = Contrast::of(evidence, first);
            let Some(look) = Look::take(contrast, *planned, evidence.prior, policy.outliers) else {
                continue;
            };
            reading.p = reading.p.into_iter().chain(scaled(&look, policy)).reduce(f64::min);
            if reading.crossed.is_none() {
                let decision = look.decide(evidence.direction, policy);
                reading.crossed = decision.map(|decision| (decision, planned.pairs));
            }
            reading.look = Some(look);
        }
        reading.with_plain_estimate(evidence)
    }

    /// Of a metric that does not: one test, of the pairs up to the last look (all, at the end).
    /// It decides nothing until [`Self::inform`].
    pub fn of_information(evidence: &MetricEvidence, policy: &Policy, planned: &Schedule, ended: bool) -> Self {
        if let Some(exact) = Self::if_exact(evidence) {
            return exact;
        }
        let equivalence_p = match policy.equivalence {
            Equivalence::OneSidedTests { alpha } => alpha,
            Equivalence::RepeatedInterval { .. } => INFORMATION_P / 2.0,
        };
        let all = evidence.pairs.len() as u32;
        let last = planned.reached(all).last().map_or(0, |look| look.pairs);
        let pairs = if ended { all } else { last };
        let at = |pairs| PlannedLook { pairs, nominal_p: INFORMATION_P, equivalence_p };
        let mut reading = Self { at_budget: Some(at(policy.budget())), ..Self::nothing() };
        if pairs >= FEWEST_PAIRS {
            let contrast = Contrast::of(evidence, &evidence.pairs[..pairs as usize]);
            reading.look = Look::take(contrast, at(pairs), evidence.prior, policy.outliers);
            reading.p = reading.look.as_ref().map(|look| look.p);
        }
        reading.with_plain_estimate(evidence)
    }

    /// Compared, not tested.
    pub fn is_exact(&self) -> bool {
        self.look.as_ref().is_some_and(|look| look.method == Method::Exact)
    }

    /// Decide a metric that does not gate by its p-value adjusted over all such metrics.
    pub fn inform(&mut self, adjusted: f64, direction: Direction, policy: &Policy) {
        let Some(look) = &self.look else { return };
        self.p = Some(adjusted);
        let different = adjusted <= policy.alpha_per_run && look.interval.excludes(0.0);
        let decision = if different { look.difference(direction) } else { None };
        let decision = decision.or_else(|| look.same(policy).then_some(Decision::Same));
        self.crossed = decision.map(|decision| (decision, look.planned.pairs));
    }

    /// Of a metric without noise, whose values indeed do not vary inside an arm.
    fn if_exact(evidence: &MetricEvidence) -> Option<Self> {
        let first = evidence.pairs.first().filter(|_| evidence.comparison == Comparison::Exact)?;
        let constant =
            evidence.pairs.iter().all(|pair| pair.baseline == first.baseline && pair.candidate == first.candidate);
        if !constant {
            return None;
        }
        let contrast = Contrast::of(evidence, &evidence.pairs[..1]);
        let estimate = contrast.values[0];
        let planned = PlannedLook { pairs: 1, nominal_p: 0.0, equivalence_p: 0.0 };
        let look = Look {
            planned,
            contrast,
            estimate,
            interval: Interval::around(estimate, 0.0),
            equivalence: Interval::around(estimate, 0.0),
            p: if estimate == 0.0 { 1.0 } else { 0.0 },
            method: Method::Exact,
            standard_deviation: 0.0,
            prior_degrees_of_freedom: 0.0,
            prior_dropped: false,
        };
        let decision = look.difference(evidence.direction).unwrap_or(Decision::Same);
        Some(Self { crossed: Some((decision, 1)), look: Some(look), ..Self::nothing() })
    }

    fn with_plain_estimate(mut self, evidence: &MetricEvidence) -> Self {
        self.not_exact = evidence.comparison == Comparison::Exact && !evidence.pairs.is_empty();
        if self.look.is_none() && !evidence.pairs.is_empty() {
            let contrast = Contrast::of(evidence, &evidence.pairs);
            let middle = gaugeblock_statistics::moments::mean(&contrast.values);
            self.estimate = Some(contrast.effect(middle));
        }
        self
    }
}
