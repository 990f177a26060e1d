//! Escaping text from files, so that nothing in it can act on a terminal or hide.

use std::borrow::Cow;
use std::fmt::Write;

/// The text in one line, with each control character as its escape in Rust's notation (`\n`, `\u{1b}`).
///
/// Titles, messages, hosts and logs come from files that anybody may have written, and a terminal obeys escape
/// sequences in them. Characters that change the direction of writing, and Unicode's line and paragraph separators, are
/// escaped too, as they make a text look like another.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, acts)
}

/// The same for a text of several lines: line feeds and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| acts(c) && c != '\n' && c != '\t')
}

/// Whether a character acts on a terminal or on the appearance of the text beside it.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shown(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            write!(shown, "{}", c.escape_default()).expect("a string takes all that is written");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::{visible, visible_lines};

    #[test]
    fn what_acts_on_a_terminal_is_shown() {
        assert_eq!(visible("\u{1b}]52;c;eA==\u{7}"), "\\u{1b}]52;c;eA==\\u{7}");
        assert_eq!(visible("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(visible("\u{9b}31m \u{202e}x \u{2066}"), "\\u{9b}31m \\u{202e}x \\u{2066}");
        assert_eq!(visible_lines("a\nb\tc\rd\u{1b}[2J"), "a\nb\tc\\rd\\u{1b}[2J");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["", "η = 0.01, m̂ and θ̂", "an accent of its own: e\u{301}"] {
            assert_eq!(visible(text), text);
        }
    }
}
