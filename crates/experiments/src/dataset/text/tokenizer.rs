//! Tokenizers.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tiktoken_rs::CoreBPE;

use super::TextError;

/// GPT-2's token between documents.
pub const END_OF_TEXT: u16 = 50_256;

/// Converts text to tokens and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// GPT-2's byte pair encoding.
    Gpt2,
    Characters(Alphabet),
}

/// The characters of a text in the order of Unicode; a token is the index of a character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    characters: Vec<char>,
    /// The tokens by code point, up to the last of the characters.
    tokens: Vec<u16>,
}

/// The entry in [`Alphabet::tokens`] of a character outside of the alphabet.
const NONE: u16 = u16::MAX;

impl Alphabet {
    /// The largest number of characters: more do not fit into two bytes.
    pub(crate) const MOST: usize = NONE as usize;

    /// Creates the alphabet of these characters; `None` where there are none, too many, or they are not strictly
    /// increasing.
    pub fn new(characters: Vec<char>) -> Option<Alphabet> {
        let last = *characters.last()?;
        if characters.len() > Alphabet::MOST || !characters.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut tokens = vec![NONE; last as usize + 1];
        for (token, &character) in characters.iter().enumerate() {
            tokens[character as usize] = token as u16;
        }
        Some(Alphabet { characters, tokens })
    }

    /// Creates the alphabet of a text with at least one character, and not too many.
    pub(super) fn of(text: &str) -> Alphabet {
        let characters: BTreeSet<char> = text.chars().collect();
        Alphabet::new(characters.into_iter().collect()).expect("the text has characters")
    }

    pub(crate) fn characters(&self) -> &[char] {
        &self.characters
    }

    fn token(&self, character: char) -> Option<u16> {
        self.tokens.get(character as usize).copied().filter(|&token| token != NONE)
    }
}

impl Tokenizer {
    pub fn kind(&self) -> super::TokenizerKind {
        match self {
            Tokenizer::Gpt2 => super::TokenizerKind::Gpt2,
            Tokenizer::Characters(_) => super::TokenizerKind::Char,
        }
    }

    /// The number of distinct tokens, which are smaller than this.
    pub fn vocabulary_size(&self) -> usize {
        match self {
            Tokenizer::Gpt2 => SIZE,
            Tokenizer::Characters(alphabet) => alphabet.characters.len(),
        }
    }

    /// Encodes a text as tokens. GPT-2's names of special tokens, such as `<|endoftext|>`, are treated as ordinary
    /// text.
    ///
    /// # Errors
    ///
    /// Fails with [`TextError::UnknownCharacter`] where the text has a character outside of the alphabet.
    pub fn encode(&self, text: &str) -> Result<Vec<u16>, TextError> {
        match self {
            Tokenizer::Gpt2 => Ok(encode(text)),
            Tokenizer::Characters(alphabet) => {
                let token = |character| alphabet.token(character).ok_or(TextError::UnknownCharacter(character));
                text.chars().map(token).collect()
            }
        }
    }

    /// Decodes tokens to text. Bytes that form no character, as where characters of several tokens are cut, and tokens
    /// outside the vocabulary become U+FFFD.
    pub fn decode(&self, tokens: &[u16]) -> String {
        const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
        match self {
            Tokenizer::Gpt2 => {
                let bytes = |&token| bytes(token).unwrap_or_else(|| UNKNOWN.to_string().into_bytes());
                String::from_utf8_lossy(&tokens.iter().flat_map(bytes).collect::<Vec<u8>>()).into_owned()
            }
            Tokenizer::Characters(alphabet) => {
                let character = |&token: &u16| alphabet.characters.get(usize::from(token)).copied().unwrap_or(UNKNOWN);
                tokens.iter().map(character).collect()
            }
        }
    }
}

/// The tokenizer of a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenizerKind {
    /// Parts of words, by GPT-2's byte pair encoding.
    #[default]
    Gpt2,
    /// Single characters, those that occur in the text.
    Char,
}

impl TokenizerKind {
    pub const ALL: [TokenizerKind; 2] = [TokenizerKind::Gpt2, TokenizerKind::Char];

    /// The name on the command line and in `meta.json`.
    pub fn name(self) -> &'static str {
        match self {
            TokenizerKind::Gpt2 => "gpt2",
            TokenizerKind::Char => "char",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<TokenizerKind> {
        TokenizerKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The size of the vocabulary, including the end-of-text token.
pub(super) const SIZE: usize = 50_257;

static ENCODING: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::r50k_base().expect("the vocabulary that is compiled in is whole"));

/// Bytes that are encoded at once. The encoder's pattern fails on a million spaces before a word, which [`next_cut`]
/// always separates.
const SEGMENT: usize = 4096;

/// Encodes a text in which nothing has a special meaning.
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

/// The bytes of a token; none outside the vocabulary.
pub(super) fn bytes(token: u16) -> Option<Vec<u8>> {
    ENCODING.decode_bytes(&[u32::from(token)]).ok()
}

/// Finds the first byte from `from` on at which a text can be cut without changing its tokens: before the last white
/// space in front of a word. No token crosses it, and the tokens of each part do not depend on the other part.
fn next_cut(text: &str, from: usize) -> Option<usize> {
    let mut characters = text.get(text.ceil_char_boundary(from)..)?.char_indices().peekable();
    let start = text.ceil_char_boundary(from);
    while let Some((offset, character)) = characters.next() {
        if character.is_whitespace() && characters.peek().is_some_and(|(_, next)| !next.is_whitespace()) {
            return Some(start + offset);
        }
    }
    None
}

/// Finds the last byte at which a text can be cut without changing its tokens, except its beginning.
pub(super) fn last_cut(text: &str) -> Option<usize> {
    let mut after_is_word = false;
    for (offset, character) in text.char_indices().rev() {
        if character.is_whitespace() && after_is_word {
            return (offset > 0).then_some(offset);
        }
        after_is_word = !character.is_whitespace();
    }
    None
}
