//! Text within XML.

/// Returns a text as it is written in XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars().filter(|character| is_allowed(*character)) {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a text as it is drawn: SVG shows white space as one space, and none at the ends.
pub(super) fn drawn(text: &str) -> String {
    let allowed: String = text.chars().filter(|character| is_allowed(*character)).collect();
    let words = allowed.split([' ', '\n', '\t']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether XML allows the character; it forbids most control characters.
fn is_allowed(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        other => !other.is_control() && !matches!(u32::from(other), 0xfffe | 0xffff),
    }
}
