//! A confidence interval.

use serde::{Deserialize, Serialize};

/// A closed interval, in the unit of what it estimates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The same distance to both sides.
    pub fn around(centre: f64, half_width: f64) -> Self {
        Self { low: centre - half_width, high: centre + half_width }
    }

    /// Whether it lies wholly above or below a value.
    pub fn excludes(&self, value: f64) -> bool {
        self.low > value || self.high < value
    }

    /// Whether it lies within −`margin` … +`margin`, ends included.
    pub fn within(&self, margin: f64) -> bool {
        self.low >= -margin && self.high <= margin
    }
}
