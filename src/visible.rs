//! Escaping text from files, so that nothing in it can act on a terminal or hide, and names that can be seen.

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

/// Whether a name has a character that can be seen, and none that cannot, but for spaces.
pub fn is_visible_name(name: &str) -> bool {
    !name.contains(is_unseen) && name.contains(|c: char| !c.is_whitespace() && !is_combining(c))
}

/// The name with each character that cannot be seen as its escape.
pub fn escaped_name(name: &str) -> String {
    let escaped = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    name.chars().map(escaped).collect()
}

/// Whether a character cannot be seen: it acts on the text beside it, is ignored where text is drawn (Unicode's
/// `Default_Ignorable_Code_Point`), or is blank without being a space.
pub fn is_unseen(c: char) -> bool {
    acts(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is a mark on the one before it.
fn is_combining(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a character acts on a terminal or on the appearance of the text beside it.
fn acts(c: char) -> bool {
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
    use super::{escaped_name, is_visible_name, visible, visible_lines};

    #[test]
    fn what_acts_on_a_terminal_is_shown() {
        assert_eq!(visible("\u{1b}]52;c;eA==\u{7}"), "\\u{1b}]52;c;eA==\\u{7}");
        assert_eq!(visible("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(visible("\u{9b}31m \u{202e}x \u{2066}"), "\\u{9b}31m \\u{202e}x \\u{2066}");
        assert_eq!(visible_lines("a\nb\tc\rd\u{1b}[2J"), "a\nb\tc\\rd\\u{1b}[2J");
    }

    #[test]
    fn a_name_is_visible_as_a_whole() {
        for name in ["Adam", "FOCUS, γ = −0.9", "m̂ and θ̂", "規則", "no\u{a0}break"] {
            assert!(is_visible_name(name), "{name}");
        }
        let hidden = ["", " ", "\u{a0}", "\u{200b}", "\u{2800}", "\u{3164}", "\u{301}", "\u{feff}", "\u{e0041}"];
        let partly = ["Adam\u{200b}", "\u{202e}madA", "A\u{ad}dam", "Adam\u{2066}", "a\nb", "\u{1b}[2J"];
        for name in hidden.into_iter().chain(partly) {
            assert!(!is_visible_name(name), "{name:?}");
        }
        assert_eq!(escaped_name("Adam\u{2800}\u{202e}"), "Adam\\u{2800}\\u{202e}");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["", "η = 0.01, m̂ and θ̂", "an accent of its own: e\u{301}"] {
            assert_eq!(visible(text), text);
        }
    }
}
