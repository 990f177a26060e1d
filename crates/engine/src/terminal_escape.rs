//! Escaping text from files, so that nothing in it acts on a terminal or hides, and checking names for invisible
//! characters.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Returns the text in one line, with each control character as its escape in Rust's notation (`\n`, `\u{1b}`).
///
/// Titles, messages, hosts and logs come from files that anybody may have written, and a terminal obeys escape
/// sequences in them. Characters that change the direction of writing, and Unicode's line and paragraph separators, are
/// escaped too, as they make a text look like another.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, acts)
}

/// Returns a path in one line, like [`visible`].
pub fn visible_path(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

/// Escapes a text of several lines like [`visible`], but keeps line feeds and tabs.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| acts(c) && c != '\n' && c != '\t')
}

/// Returns a text of at most this many characters: a longer one ends in `…`.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.chars().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Returns whether a name has a visible character, and no invisible one except spaces.
pub fn is_visible_name(name: &str) -> bool {
    !name.contains(is_unseen) && name.contains(|c: char| !c.is_whitespace() && !is_in(&COMBINING, c))
}

/// Returns the name with each invisible character as its escape.
pub(crate) fn escaped_name(name: &str) -> String {
    let escaped = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    name.chars().map(escaped).collect()
}

/// Returns whether a character is invisible: it acts on the text beside it, is ignored where text is drawn, or is blank
/// without being a space.
pub fn is_unseen(c: char) -> bool {
    acts(c) || is_in(&UNSEEN, c)
}

/// Ranges of invisible characters, by their first and last: Unicode's `Default_Ignorable_Code_Point`, the marks of
/// annotations, and the blank pattern of Braille.
const UNSEEN: [[u32; 2]; 17] = [
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x115f, 0x1160],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
    [0x200b, 0x200f],
    [0x202a, 0x202e],
    [0x2060, 0x206f],
    [0x2800, 0x2800],
    [0x3164, 0x3164],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff0, 0xfffb],
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0xe0000, 0xe0fff],
];
/// Ranges of marks on the preceding character.
const COMBINING: [[u32; 2]; 5] =
    [[0x300, 0x36f], [0x1ab0, 0x1aff], [0x1dc0, 0x1dff], [0x20d0, 0x20ff], [0xfe20, 0xfe2f]];

fn is_in(ranges: &[[u32; 2]], c: char) -> bool {
    ranges.iter().any(|[first, last]| (*first..=*last).contains(&u32::from(c)))
}

/// Returns whether a character acts on a terminal or on the appearance of the text beside it.
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
    fn escapes_characters_that_act_on_a_terminal() {
        assert_eq!(visible("\u{1b}]52;c;eA==\u{7}"), "\\u{1b}]52;c;eA==\\u{7}");
        assert_eq!(visible("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(visible("\u{9b}31m \u{202e}x \u{2066}"), "\\u{9b}31m \\u{202e}x \\u{2066}");
        assert_eq!(visible_lines("a\nb\tc\rd\u{1b}[2J"), "a\nb\tc\\rd\\u{1b}[2J");
    }

    #[test]
    fn rejects_names_with_invisible_characters() {
        for name in ["Adam", "FOCUS, γ = −0.9", "m̂ and θ̂", "η"] {
            assert!(is_visible_name(name), "{name}");
        }
        assert!(!is_visible_name("") && !is_visible_name(" ") && !is_visible_name("a\nb"));
        // Characters without a glyph are given by their codes. The first of all is a mark on nothing.
        for code in [0x301, 0xad, 0x200b, 0x202e, 0x2066, 0x2800, 0x3164, 0xfeff, 0xe0041] {
            let c = char::from_u32(code).expect("a character");
            assert!(!is_visible_name(&c.to_string()), "{c:?} alone");
            assert_eq!(is_visible_name(&format!("Adam{c}")), code == 0x301, "{c:?} after letters");
        }
        assert_eq!(escaped_name("Ad\u{1b}am"), "Ad\\u{1b}am");
    }

    #[test]
    fn keeps_other_texts() {
        for text in ["", "η = 0.01, m̂ and θ̂", "an accent of its own: e\u{301}"] {
            assert_eq!(visible(text), text);
        }
    }
}
