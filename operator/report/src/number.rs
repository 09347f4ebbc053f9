//! Numbers with units, as the status and the sentences of the verdict have them.

use gaugeblock_measurement::Unit;
use gaugeblock_verdict::{Scale, quantity};

/// Stands for a value that there is not, or that is no number.
pub const NOTHING: &str = "–";

/// A value with its unit, such as `213 µs`, `38.2 MiB`, `1,020/s` or `0.12 %`.
pub fn quantity(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    match unit {
        Unit::Seconds => quantity::quantity(value, "s"),
        Unit::PerSecond => quantity::quantity(value, "1/s"),
        Unit::Bytes => quantity::quantity(value, "B"),
        Unit::BytesPerSecond => format!("{}/s", quantity::quantity(value, "B")),
        Unit::Cores => quantity::quantity(value, "cores"),
        Unit::Share => quantity::quantity(value, "1"),
        Unit::Count => quantity::quantity(value, ""),
    }
}

/// A change with its sign, such as `+20.1 %`, or `−1.2 MiB` on the absolute scale.
pub fn change(value: f64, scale: Scale, unit: Unit) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    match scale {
        Scale::Relative => quantity::signed_percent(value),
        Scale::Absolute => format!("{}{}", if value > 0.0 { "+" } else { "" }, quantity(value, unit)),
    }
}

/// A size of change without its sign, such as `1.4 %`: smallest effects and the like.
pub fn size(value: f64, scale: Scale, unit: Unit) -> String {
    change(value.abs(), scale, unit).trim_start_matches('+').to_owned()
}

/// A duration for people, such as `34 s` or `4 min 10 s`. Whole seconds: it is an estimate.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes, rest) {
        (0, 0, _) => format!("{rest} s"),
        (0, _, 0) => format!("{minutes} min"),
        (0, _, _) => format!("{minutes} min {rest} s"),
        (_, 0, _) => format!("{hours} h"),
        (_, _, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_reads_well() {
        for (value, unit, text) in [
            (0.000_213, Unit::Seconds, "213 µs"),
            (1_020.0, Unit::PerSecond, "1,020/s"),
            (38.2 * 1_048_576.0, Unit::Bytes, "38.2 MiB"),
            (340_000.0, Unit::BytesPerSecond, "332 KiB/s"),
            (0.4231, Unit::Cores, "0.423 cores"),
            (0.0012, Unit::Share, "0.12 %"),
            (12.0, Unit::Count, "12"),
            (f64::NAN, Unit::Seconds, "–"),
        ] {
            assert_eq!(quantity(value, unit), text, "{value} {unit:?}");
        }
    }

    #[test]
    fn changes_have_a_sign() {
        for (value, scale, text) in [
            (0.201, Scale::Relative, "+20.1 %"),
            (-0.0345, Scale::Relative, "−3.45 %"),
            (0.0, Scale::Relative, "0 %"),
            (0.004, Scale::Absolute, "+4 ms"),
            (-0.004, Scale::Absolute, "−4 ms"),
            (f64::INFINITY, Scale::Relative, "–"),
        ] {
            assert_eq!(change(value, scale, Unit::Seconds), text);
        }
        assert_eq!(size(-0.014, Scale::Relative, Unit::Seconds), "1.4 %");
    }

    #[test]
    fn durations_read_well() {
        for (seconds, text) in [
            (0.4, "0 s"),
            (34.0, "34 s"),
            (60.0, "1 min"),
            (250.0, "4 min 10 s"),
            (3600.0, "1 h"),
            (5_460.0, "1 h 31 min"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
