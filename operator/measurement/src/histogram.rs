//! A latency histogram that is kept, merged and stored whole.

use base64::Engine as _;
use hdrhistogram::serialization::{Deserializer as HdrReader, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};

/// Highest value told apart: one hour in nanoseconds. Longer values are recorded as this one.
pub const HIGHEST: u64 = 3_600_000_000_000;
/// Significant decimal digits: a quantile is right to 0.1 %.
pub const DIGITS: u8 = 3;

/// An HDR histogram of nanoseconds with three significant digits.
///
/// Serialised as the base64 text of HdrHistogram's own V2 compressed form, so that any of its
/// tools can read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. It grows as values come, up to [`HIGHEST`].
    ///
    /// # Panics
    /// Never: three digits are always a valid precision.
    pub fn new() -> Self {
        // A resizable histogram keeps an unused one small.
        match hdrhistogram::Histogram::new(DIGITS) {
            Ok(inner) => Self(inner),
            Err(_) => unreachable!("three significant digits are valid"),
        }
    }

    /// Adds one value in nanoseconds; values above [`HIGHEST`] count as [`HIGHEST`].
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Adds `count` equal values in nanoseconds.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        // A resizable histogram refuses nothing below HIGHEST.
        let _ = self.0.record_n(nanos.min(HIGHEST), count);
    }

    /// Adds all values of `other`: percentiles cannot be averaged, histograms can be merged.
    pub fn merge(&mut self, other: &Self) {
        let _ = self.0.add(&other.0);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Value in seconds at quantile `q` in `0..=1`; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(q) as f64 / 1e9)
    }

    /// Largest value in seconds; `None` when empty.
    pub fn max(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.max() as f64 / 1e9)
    }

    /// Mean in seconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean() / 1e9)
    }

    /// Number of values above the quantile `q`: what a statement about it rests on.
    pub fn count_beyond(&self, q: f64) -> f64 {
        self.0.len() as f64 * (1.0 - q)
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut bytes).map_err(S::Error::custom)?;
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(D::Error::custom)?;
        let mut inner = HdrReader::new().deserialize(&mut bytes.as_slice()).map_err(D::Error::custom)?;
        // What was stored goes on growing, or merging would lose the larger values of the other.
        inner.auto(true);
        Ok(Self(inner))
    }
}
