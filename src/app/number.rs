//! Numbers as text, the same way in every control.

/// A number with at most five significant digits, without trailing zeros: `0.0001`, `12.5`, `1e-8`.
pub(super) fn text(value: f64) -> String {
    let rounded = rounded(value, 5);
    let size = rounded.abs();
    if rounded == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e7).contains(&size) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// The nearest number with `digits` significant digits.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    // Going through decimal text is the one way that leaves no binary remainder such as 0.30000000000000004.
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// A rate with a unit prefix: `950`, `12.3 k`, `31.0 M`.
pub(super) fn rate(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => "—".to_owned(),
        v if v < 10.0 => format!("{v:.1}"),
        v if v < 10_000.0 => format!("{v:.0}"),
        v if v < 1e6 => format!("{:.1} k", v / 1e3),
        v if v < 1e9 => format!("{:.1} M", v / 1e6),
        v => format!("{:.1} G", v / 1e9),
    }
}

/// Reads a number as people type them: a decimal comma, a typographic minus and spaces are understood.
pub(super) fn read(typed: &str) -> Result<f64, String> {
    let plain: String = typed
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '_')
        .map(|c| match c {
            '−' => '-',
            ',' => '.',
            other => other,
        })
        .collect();
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("expected a number such as 0.01 or 1e-3, found “{}”", typed.trim())),
    }
}

/// Reads a whole number.
pub(super) fn read_whole(typed: &str) -> Result<u64, String> {
    let plain: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    plain.parse::<u64>().map_err(|_| format!("expected a whole number, 0 or more, found “{}”", typed.trim()))
}
