//! Formatting and parsing of numbers in controls.

pub(super) use valleyscope_engine::quantity::{number_text as text, rounded};

/// Formats a rate with a unit prefix: `950`, `12.3 k`, `31.0 M`.
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

/// Parses a typed number, with a decimal comma, a typographic minus or spaces.
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

/// Parses a number typed into a drag field; returns `None` for other text, so that the old value stays.
pub(super) fn parse(typed: &str) -> Option<f64> {
    read(typed).ok()
}

/// Parses a whole number.
pub(super) fn read_whole(typed: &str) -> Result<u64, String> {
    let plain: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    plain.parse::<u64>().map_err(|_| format!("expected a whole number, 0 or more, found “{}”", typed.trim()))
}
