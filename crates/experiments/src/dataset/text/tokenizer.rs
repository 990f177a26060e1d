//! Tokenizers.

use std::collections::BTreeSet;

use super::{TextError, TokenizerKind, gpt2};

/// GPT-2's token between documents.
pub const END_OF_TEXT: u16 = 50_256;

/// Converts text to tokens and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// GPT-2's byte pair encoding.
    Gpt2,
    /// Each character is a token.
    Characters(Alphabet),
}

/// The characters of a text, in their order in Unicode; a token is a place among them.
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

    /// Returns the alphabet of these characters; `None` where there are none, too many, or they are not strictly
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

    /// Returns the alphabet of a text with at least one character, and not too many.
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
    pub fn kind(&self) -> TokenizerKind {
        match self {
            Tokenizer::Gpt2 => TokenizerKind::Gpt2,
            Tokenizer::Characters(_) => TokenizerKind::Char,
        }
    }

    /// Returns the number of distinct tokens, which are smaller than this.
    pub fn vocabulary_size(&self) -> usize {
        match self {
            Tokenizer::Gpt2 => gpt2::SIZE,
            Tokenizer::Characters(alphabet) => alphabet.characters.len(),
        }
    }

    /// Returns the tokens of a text. GPT-2's names of special tokens, such as `<|endoftext|>`, are treated as ordinary
    /// text.
    ///
    /// # Errors
    ///
    /// Returns [`TextError::UnknownCharacter`] where the text has a character outside of the alphabet.
    pub fn encode(&self, text: &str) -> Result<Vec<u16>, TextError> {
        match self {
            Tokenizer::Gpt2 => Ok(gpt2::encode(text)),
            Tokenizer::Characters(alphabet) => {
                let token = |character| alphabet.token(character).ok_or(TextError::UnknownCharacter(character));
                text.chars().map(token).collect()
            }
        }
    }

    /// Returns the text of tokens. Bytes that form no character, as where characters of several tokens are cut, and
    /// tokens beyond the vocabulary become U+FFFD.
    pub fn decode(&self, tokens: &[u16]) -> String {
        const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
        match self {
            Tokenizer::Gpt2 => {
                let bytes = |&token| gpt2::bytes(token).unwrap_or_else(|| UNKNOWN.to_string().into_bytes());
                String::from_utf8_lossy(&tokens.iter().flat_map(bytes).collect::<Vec<u8>>()).into_owned()
            }
            Tokenizer::Characters(alphabet) => {
                let character = |&token: &u16| alphabet.characters.get(usize::from(token)).copied().unwrap_or(UNKNOWN);
                tokens.iter().map(character).collect()
            }
        }
    }
}
