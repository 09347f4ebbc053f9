//! Values that are written as text: durations, shares and quantities.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Why a text is not the value it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct InvalidText {
    /// The text.
    pub text: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $pattern:literal, $length:literal, $describe:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "maxLength": $length,
                    "pattern": $pattern,
                    "description": $describe,
                })
            }
        }
    };
}

text!(
    /// A Go style duration, such as `1m30s` or `250ms`.
    GoDuration,
    r"^([0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$",
    32,
    "A duration such as `30s`, `250ms` or `1m30s`."
);

text!(
    /// A share as a percentage, such as `2.5%`.
    Percent,
    r"^[0-9]{1,4}(\.[0-9]{1,4})?%$",
    12,
    "A share such as `2.5%`."
);

text!(
    /// A Kubernetes quantity of CPUs or bytes, such as `1`, `500m` or `256Mi`.
    Quantity,
    r"^[0-9]{1,12}(\.[0-9]{1,3})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$",
    20,
    "A quantity such as `1`, `500m` or `256Mi`."
);

impl GoDuration {
    /// The duration.
    pub fn parse(&self) -> Result<Duration, InvalidText> {
        let invalid = || InvalidText { text: self.0.clone(), expected: "a duration such as 30s or 1m30s" };
        let mut rest = self.0.as_str();
        let mut total = Duration::ZERO;
        if rest.is_empty() {
            return Err(invalid());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(invalid)?;
            let number: f64 = rest[..digits].parse().map_err(|_| invalid())?;
            rest = &rest[digits..];
            let (unit, length) = if rest.starts_with("ms") {
                (0.001, 2)
            } else if rest.starts_with('s') {
                (1.0, 1)
            } else if rest.starts_with('m') {
                (60.0, 1)
            } else if rest.starts_with('h') {
                (3600.0, 1)
            } else {
                return Err(invalid());
            };
            rest = &rest[length..];
            // Rounded to whole microseconds, so that 0.1s is exactly 100ms.
            total += Duration::from_micros((number * unit * 1e6).round() as u64);
        }
        Ok(total)
    }

    /// The duration in nanoseconds; zero where the text is invalid, which the schema refuses.
    pub fn nanos(&self) -> u64 {
        self.parse().map_or(0, |duration| duration.as_nanos() as u64)
    }
}

impl Percent {
    /// The share, `0.025` for `2.5%`.
    pub fn share(&self) -> Result<f64, InvalidText> {
        self.0
            .strip_suffix('%')
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|number| number.is_finite() && *number >= 0.0)
            .map(|number| number / 100.0)
            .ok_or_else(|| InvalidText { text: self.0.clone(), expected: "a share such as 2.5%" })
    }
}

impl Quantity {
    /// The plain number: CPUs, or bytes.
    pub fn value(&self) -> Result<f64, InvalidText> {
        let split = self.0.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.0.len());
        let (number, unit) = self.0.split_at(split);
        let factor = match unit {
            "" => 1.0,
            "m" => 1e-3,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            "Ki" => 1024.0,
            "Mi" => 1_048_576.0,
            "Gi" => 1_073_741_824.0,
            "Ti" => 1_099_511_627_776.0,
            _ => f64::NAN,
        };
        number
            .parse::<f64>()
            .ok()
            .map(|number| number * factor)
            .filter(|value| value.is_finite())
            .ok_or_else(|| InvalidText { text: self.0.clone(), expected: "a quantity such as 1, 500m or 256Mi" })
    }

    /// Whether this many CPUs can be had exclusively: a whole number of at least one.
    pub fn is_whole(&self) -> bool {
        self.value().is_ok_and(|value| value >= 1.0 && value.fract() == 0.0)
    }
}

/// Schema of a map from text to text with at most `ITEMS` entries of at most `LENGTH` bytes.
pub fn map_of<const ITEMS: usize, const LENGTH: usize>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": ITEMS,
        "additionalProperties": { "type": "string", "maxLength": LENGTH },
    })
}
