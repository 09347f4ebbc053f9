//! Numbers with their units, as a person reads them.

/// A value of a metric: `212 µs`, `35.1 MiB`, `0.4 %`, `12,300/s`.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "s" => scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]),
        "B" => scaled(value, &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")]),
        "1" => percent(value),
        "" => significant(value),
        rate if rate.starts_with("1/") => format!("{}{}", significant(value), &rate[1..]),
        other => format!("{} {other}", significant(value)),
    }
}

/// A share without a sign: 0.0234 is `2.34 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

/// Smaller changes are what rounding leaves of none.
const ROUNDING: f64 = 1e-6;

/// A change with its sign: 0.0234 is `+2.34 %`.
pub fn signed_percent(share: f64) -> String {
    let share = if share.abs() < ROUNDING { 0.0 } else { share };
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

/// In the largest unit in which the value is at least one; the smallest, if there is none.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |unit: &&(f64, &str)| value.abs() >= unit.0 * 0.999_5;
    let zero = units.iter().find(|unit| unit.0 == 1.0);
    let unit = if value == 0.0 { zero } else { units.iter().find(fits) };
    let (size, name) = unit.or(units.last()).copied().unwrap_or((1.0, ""));
    format!("{} {name}", significant(value / size))
}

/// Three significant digits, thousands separated by commas, a real minus sign.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let digits = if magnitude == 0.0 { 0 } else { magnitude.log10().floor() as i32 + 1 };
    if !(-3..=12).contains(&digits) {
        return format!("{value:.2e}").replace('-', "−");
    }
    let text = format!("{magnitude:.*}", (3 - digits).clamp(0, 6) as usize);
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (text.as_str(), ""),
    };
    let sign = if value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", with_thousands(whole))
}

fn with_thousands(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_chosen_for_the_reader() {
        assert_eq!(quantity(0.000_212, "s"), "212 µs");
        assert_eq!(quantity(0.001, "s"), "1 ms");
        assert_eq!(quantity(36_805_017.6, "B"), "35.1 MiB");
        assert_eq!(quantity(0.0, "B"), "0 B");
        assert_eq!(quantity(0.0, "s"), "0 s");
        assert_eq!(quantity(0.004, "1"), "0.4 %");
        assert_eq!(quantity(12_345.6, "1/s"), "12,346/s");
        assert_eq!(quantity(3.5, "files"), "3.5 files");
        assert_eq!(quantity(-0.002, "s"), "−2 ms");
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(signed_percent(0.198_3), "+19.8 %");
        assert_eq!(signed_percent(-0.012_34), "−1.23 %");
        assert_eq!(signed_percent(0.0), "0 %");
        assert_eq!(signed_percent(12.0), "+1,200 %");
        assert_eq!(signed_percent(1e-9), "0 %");
        assert_eq!(signed_percent(f64::MAX), "+∞ %");
    }
}
