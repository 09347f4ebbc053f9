//! Numbers with units, for people.

/// A value with a fitting prefix: `213 µs`, `38.2 MiB`, `1,020/s`.
pub fn show(value: f64, unit: &str) -> String {
    match unit {
        "s" => seconds(value),
        "B" => bytes(value),
        "B/s" => format!("{}/s", bytes(value)),
        "1/s" => format!("{}/s", digits(value)),
        "1" => format!("{:.2}%", 100.0 * value),
        "cores" => format!("{value:.3} cores"),
        _ => digits(value),
    }
}

/// The same with its sign.
pub fn signed(value: f64, unit: &str) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show(value.abs(), unit))
}

/// A relative effect: `+20.1%`.
pub fn percent(effect: f64) -> String {
    let percent = 100.0 * effect;
    let sign = if percent < 0.0 { "−" } else { "+" };
    let size = percent.abs();
    if size < 0.995 { format!("{sign}{size:.2}%") } else { format!("{sign}{size:.1}%") }
}

fn seconds(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = if size >= 1.0 || size == 0.0 {
        (value, "s")
    } else if size >= 1e-3 {
        (value * 1e3, "ms")
    } else if size >= 1e-6 {
        (value * 1e6, "µs")
    } else {
        (value * 1e9, "ns")
    };
    format!("{} {unit}", digits(scaled))
}

fn bytes(value: f64) -> String {
    let mut scaled = value;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled.abs() < 1024.0 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", digits(scaled))
}

/// Three significant digits, never in exponents: shares of a per mille are not told from noise.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fitting_units() {
        assert_eq!(show(0.000_213_4, "s"), "213 µs");
        assert_eq!(show(0.0, "s"), "0 s");
        assert_eq!(show(40_055_603.0, "B"), "38.2 MiB");
        assert_eq!(show(1019.6, "1/s"), "1020/s");
        assert_eq!(show(0.0012, "1"), "0.12%");
        assert_eq!(percent(0.201), "+20.1%");
        assert_eq!(percent(-0.004), "−0.40%");
        assert_eq!(signed(-1_048_576.0, "B"), "−1.00 MiB");
    }
}
