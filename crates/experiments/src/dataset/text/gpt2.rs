//! GPT-2's byte pair encoding (Radford et al. 2019), by the crate tiktoken-rs, which has its vocabulary.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// The size of the vocabulary, including the end-of-text token.
pub(super) const SIZE: usize = 50_257;

static ENCODING: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::r50k_base().expect("the vocabulary that is compiled in is whole"));

/// Bytes that are encoded at once. The encoder's pattern fails on a million spaces before a word, which [`next_cut`]
/// always separates.
const SEGMENT: usize = 4096;

/// Returns the tokens of a text, in which nothing has a special meaning.
pub(super) fn encode(text: &str) -> Vec<u16> {
    let mut tokens = Vec::with_capacity(text.len() / 3);
    let mut rest = text;
    while !rest.is_empty() {
        let (segment, after) = rest.split_at(next_cut(rest, SEGMENT).unwrap_or(rest.len()));
        let found = ENCODING.encode_ordinary(segment);
        tokens.extend(found.into_iter().map(|token| u16::try_from(token).expect("the vocabulary is smaller")));
        rest = after;
    }
    tokens
}

/// Returns the bytes of a token; none beyond the vocabulary.
pub(super) fn bytes(token: u16) -> Option<Vec<u8>> {
    ENCODING.decode_bytes(&[u32::from(token)]).ok()
}

/// Returns the first place from byte `from` on where a text can be cut without changing its tokens: before the last
/// white space in front of a word. No token crosses it, and the tokens of each part do not depend on the other part.
fn next_cut(text: &str, from: usize) -> Option<usize> {
    let mut characters = text.get(text.ceil_char_boundary(from)..)?.char_indices().peekable();
    let start = text.ceil_char_boundary(from);
    while let Some((place, character)) = characters.next() {
        if character.is_whitespace() && characters.peek().is_some_and(|(_, next)| !next.is_whitespace()) {
            return Some(start + place);
        }
    }
    None
}

/// Returns the last such place in a text, except its beginning.
pub(super) fn last_cut(text: &str) -> Option<usize> {
    let mut after_is_word = false;
    for (place, character) in text.char_indices().rev() {
        if character.is_whitespace() && after_is_word {
            return (place > 0).then_some(place);
        }
        after_is_word = !character.is_whitespace();
    }
    None
}
