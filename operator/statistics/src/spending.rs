//! How an error rate is spent over the looks at growing data.
//!
//! Lan & DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983).

use crate::normal;
use serde::{Deserialize, Serialize};

/// A spending function α(t), t the share of the information seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spending {
    /// α ln(1 + (e − 1) t): evenly, so that large effects are seen early.
    Pocock,
    /// 2 − 2 Φ(z(α/2) / √t): almost nothing early.
    OBrienFleming,
}

impl Spending {
    /// How much of `alpha` may be spent by the share `t` (0 to 1) of the information.
    pub fn spent(self, alpha: f64, t: f64) -> f64 {
        match self {
            Self::Pocock => alpha * ((std::f64::consts::E - 1.0) * t).ln_1p(),
            Self::OBrienFleming if t <= 0.0 => 0.0,
            Self::OBrienFleming => 2.0 * normal::upper_tail(normal::upper_quantile(alpha / 2.0) / t.sqrt()),
        }
    }
}
