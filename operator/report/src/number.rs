//! Numbers with units, as people read them: three significant digits, never a bare number.

use gaugeblock_measurement::Unit;
use gaugeblock_verdict::Scale;

/// Steps of a unit: largest first, each with its size in the metric's own unit.
type Steps = &'static [(f64, &'static str)];

const SECONDS: Steps = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const PER_SECOND: Steps = &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")];
const BYTES: Steps = &[
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];
const BYTES_PER_SECOND: Steps = &[
    (1_073_741_824.0, "GiB/s"),
    (1_048_576.0, "MiB/s"),
    (1024.0, "KiB/s"),
    (1.0, "B/s"),
];

/// A value with its unit, such as `213 µs`, `38.2 MiB`, `1.02 k/s` or `0.12 %`. A value that is
/// not finite has no text that would be true: it gives `–`.
pub fn quantity(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match unit {
        Unit::Seconds => stepped(value, SECONDS),
        Unit::PerSecond => stepped(value, PER_SECOND),
        Unit::Bytes => stepped(value, BYTES),
        Unit::BytesPerSecond => stepped(value, BYTES_PER_SECOND),
        Unit::Cores => format!("{} cores", significant(value)),
        Unit::Share => format!("{} %", significant(value * 100.0)),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => significant(value),
    }
}

/// A change with its sign, such as `+20.1 %`, or `-1.20 MiB` on the absolute scale.
pub fn change(value: f64, scale: Scale, unit: Unit) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let sign = if value > 0.0 { "+" } else { "" };
    match scale {
        Scale::Relative => format!("{sign}{} %", share(value)),
        Scale::Absolute => format!("{sign}{}", quantity(value, unit)),
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

/// A share in per cent with one decimal; two below one per cent, where they can matter.
fn share(value: f64) -> String {
    let percent = value * 100.0;
    let text = if percent.abs() < 0.995 {
        format!("{percent:.2}")
    } else if percent.abs() < 999.5 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    };
    // "-0.00" says a direction that is not there.
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        return "0.0".to_owned();
    }
    text
}

/// The largest step that leaves at least one before the decimal point, after rounding.
fn stepped(value: f64, steps: Steps) -> String {
    let rounded = round(value);
    let (size, name) = steps
        .iter()
        .find(|(size, _)| round(rounded / size).abs() >= 1.0)
        .or(if rounded == 0.0 { steps.iter().find(|(size, _)| *size == 1.0) } else { steps.last() })
        .copied()
        .unwrap_or((1.0, ""));
    format!("{} {name}", significant(value / size))
}

/// Rounded to three significant digits.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    let value = round(value);
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let decimals = (3 - before).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_a_unit() {
        for (value, unit, text) in [
            (0.000_213, Unit::Seconds, "213 µs"),
            (0.001_023, Unit::Seconds, "1.02 ms"),
            (0.000_999_6, Unit::Seconds, "1.00 ms"),
            (75.25, Unit::Seconds, "75.2 s"),
            (0.0, Unit::Seconds, "0 s"),
            (3e-10, Unit::Seconds, "0.300 ns"),
            (1_020.0, Unit::PerSecond, "1.02 k/s"),
            (512.4, Unit::PerSecond, "512 /s"),
            (38.2 * 1_048_576.0, Unit::Bytes, "38.2 MiB"),
            (1_048_576.0 * 1023.9, Unit::Bytes, "1020 MiB"),
            (512.0, Unit::Bytes, "512 B"),
            (0.0, Unit::Bytes, "0 B"),
            (-1.2 * 1_048_576.0, Unit::Bytes, "-1.20 MiB"),
            (0.4231, Unit::Cores, "0.423 cores"),
            (0.0012, Unit::Share, "0.120 %"),
            (1.0, Unit::Share, "100 %"),
            (12.0, Unit::Count, "12"),
            (1.5, Unit::Count, "1.50"),
            (f64::NAN, Unit::Seconds, "–"),
        ] {
            assert_eq!(quantity(value, unit), text, "{value} {unit:?}");
        }
    }

    #[test]
    fn changes_have_a_sign() {
        for (value, scale, text) in [
            (0.201, Scale::Relative, "+20.1 %"),
            (-0.0345, Scale::Relative, "-3.5 %"),
            (1.0, Scale::Relative, "+100.0 %"),
            (0.0034, Scale::Relative, "+0.34 %"),
            (-0.000_001, Scale::Relative, "0.0 %"),
            (0.0, Scale::Relative, "0.0 %"),
            (0.004, Scale::Absolute, "+4.00 ms"),
            (-0.004, Scale::Absolute, "-4.00 ms"),
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
