//! What the sessions of the past say about tonight's noise.
//!
//! Smyth (2004), the moment estimator on log variances, with a robust centre and d0 capped
//! (`analysis.md`, "Default policy", 2).

use crate::chi_squared;
use crate::median::median;
use crate::moments::variance;
use crate::one_sample_t::VariancePrior;
use crate::polygamma::{inverse_trigamma, trigamma};

/// No history is worth more degrees of freedom than this.
pub const MOST_DEGREES_OF_FREEDOM: f64 = 8.0;

/// Below this the sessions' variances differ by no more than chance.
const NO_EXCESS: f64 = 1e-9;

/// A prior, with the steps that led to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPrior {
    /// s0² = median of the session variances ÷ (median of χ² ÷ df).
    pub variance: f64,
    /// How much more the log variances vary than chance makes them.
    pub excess: f64,
    /// limma's d0; infinite where they vary no more than chance.
    pub limma_degrees_of_freedom: f64,
}

impl HistoryPrior {
    /// From session variances, each with `df` degrees of freedom. None for fewer than two
    /// sessions or a session without spread.
    pub fn of(session_variances: &[f64], df: f64) -> Option<Self> {
        if session_variances.len() < 2 || session_variances.iter().any(|v| *v <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = session_variances.iter().map(|v| v.ln()).collect();
        let excess = variance(&logs) - trigamma(df / 2.0);
        let limma_degrees_of_freedom = if excess > NO_EXCESS { 2.0 * inverse_trigamma(excess) } else { f64::INFINITY };
        let variance = median(session_variances)? / (chi_squared::quantile(0.5, df) / df);
        Some(Self { variance, excess, limma_degrees_of_freedom })
    }

    /// The prior to use.
    pub fn prior(&self) -> VariancePrior {
        VariancePrior {
            variance: self.variance,
            degrees_of_freedom: self.limma_degrees_of_freedom.min(MOST_DEGREES_OF_FREEDOM),
        }
    }
}
