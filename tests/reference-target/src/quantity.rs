//! The quantities that knobs are written in: durations, sizes, rates and shares.
//!
//! Durations are Go style (`200us`, `1m30s`), sizes take binary or decimal units (`8MiB`, `1KB`), shares end
//! in a percent sign (`0.5%`): the conventions of the manifests.

use std::str::FromStr;

use serde::Serialize;

/// Why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not begin with a number.
    #[error("failed to read the number in {0:?}")]
    Number(String),
    /// The unit is none of those known.
    #[error("failed to read {text:?}: expected one of the units {known}")]
    Unit {
        /// What was given.
        text: String,
        /// The units that would do.
        known: &'static str,
    },
    /// The value does not fit.
    #[error("failed to use {0:?}: out of range")]
    Range(String),
}

/// A duration in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Nanoseconds(pub u64);

/// A size in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate in bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub u64);

/// A share in parts per million, from 0 to 1,000,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PartsPerMillion(pub u32);

impl FromStr for Nanoseconds {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const KNOWN: &str = "ns, us, ms, s, m, h";
        if text == "0" {
            return Ok(Self(0));
        }
        let mut total = 0_u64;
        let mut rest = text;
        while !rest.is_empty() || text.is_empty() {
            let (number, after) = split_number(rest, text)?;
            let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
            let factor = match &after[..end] {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => {
                    return Err(QuantityError::Unit { text: text.to_owned(), known: KNOWN });
                }
            };
            let part = scaled(number, factor, text)?;
            total = total.checked_add(part).ok_or_else(|| QuantityError::Range(text.to_owned()))?;
            rest = &after[end..];
        }
        Ok(Self(total))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const KNOWN: &str = "B, KB, MB, GB, KiB, MiB, GiB (or Ki, Mi, Gi)";
        let (number, unit) = split_number(text, text)?;
        let factor = match unit {
            "" | "B" => 1.0,
            "KB" | "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" | "Ki" => 1024.0,
            "MiB" | "Mi" => 1_048_576.0,
            "GiB" | "Gi" => 1_073_741_824.0,
            _ => {
                return Err(QuantityError::Unit { text: text.to_owned(), known: KNOWN });
            }
        };
        scaled(number, factor, text).map(Self)
    }
}

impl FromStr for BytesPerSecond {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let size =
            text.strip_suffix("/s").ok_or(QuantityError::Unit { text: text.to_owned(), known: "B/s, KiB/s, MiB/s" })?;
        Bytes::from_str(size).map(|bytes| Self(bytes.0))
    }
}

impl FromStr for PartsPerMillion {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split_number(text, text)?;
        if unit != "%" {
            return Err(QuantityError::Unit { text: text.to_owned(), known: "%" });
        }
        let parts = scaled(number, 10_000.0, text)?;
        if parts > 1_000_000 {
            return Err(QuantityError::Range(text.to_owned()));
        }
        Ok(Self(parts as u32))
    }
}

/// Splits the leading decimal number from what follows it.
fn split_number<'a>(rest: &'a str, whole: &str) -> Result<(f64, &'a str), QuantityError> {
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number = rest[..end].parse().map_err(|_| QuantityError::Number(whole.to_owned()))?;
    Ok((number, &rest[end..]))
}

/// `number × factor`, rounded, when it fits.
fn scaled(number: f64, factor: f64, whole: &str) -> Result<u64, QuantityError> {
    let value = (number * factor).round();
    if value < 9e18 { Ok(value as u64) } else { Err(QuantityError::Range(whole.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        for (text, expected) in
            [("0", 0), ("200us", 200_000), ("1.5ms", 1_500_000), ("1s", 1_000_000_000), ("1m30s", 90_000_000_000)]
        {
            assert_eq!(text.parse(), Ok(Nanoseconds(expected)), "{text}");
        }
        for text in ["", "5", "ms", "1 s", "-1s", "1d"] {
            assert!(text.parse::<Nanoseconds>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn sizes_and_rates_take_binary_and_decimal_units() {
        assert_eq!("8MiB".parse(), Ok(Bytes(8 << 20)));
        assert_eq!("1Ki".parse(), Ok(Bytes(1024)));
        assert_eq!("1KB".parse(), Ok(Bytes(1000)));
        assert_eq!("200KiB/s".parse(), Ok(BytesPerSecond(200 << 10)));
        assert!("200KiB".parse::<BytesPerSecond>().is_err());
        assert!("8mib".parse::<Bytes>().is_err());
    }

    #[test]
    fn shares_end_in_a_percent_sign() {
        assert_eq!("1%".parse(), Ok(PartsPerMillion(10_000)));
        assert_eq!("0.05%".parse(), Ok(PartsPerMillion(500)));
        assert!("1".parse::<PartsPerMillion>().is_err());
        assert!("101%".parse::<PartsPerMillion>().is_err());
    }
}
