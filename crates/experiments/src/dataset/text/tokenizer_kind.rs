//! The kinds of tokenizers, as presets and commands name them.

use serde::{Deserialize, Serialize};

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

    /// Returns the name on the command line and in `meta.json`.
    pub fn name(self) -> &'static str {
        match self {
            TokenizerKind::Gpt2 => "gpt2",
            TokenizerKind::Char => "char",
        }
    }

    /// Returns the tokenizer of this name.
    pub(crate) fn from_name(name: &str) -> Option<TokenizerKind> {
        TokenizerKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
