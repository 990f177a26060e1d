//! The small language in which update rules and losses are typed.
//!
//! [`parse`] reads a text into an [expression graph](crate::expression). A [`Dialect`] lists the names that are given,
//! and the name that a text assigns to: [`program`](crate::optimizer::program) has the dialect of rules,
//! [`loss`](crate::loss) that of losses. Sizes are bounded, as presets from anywhere contain texts.

mod parser;

pub(crate) use parser::{Dialect, Parsed, parse};

use std::fmt;
use std::ops::Range;

/// A parameter that a text declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub default: f64,
    /// The smallest and the largest value.
    pub range: [f64; 2],
    /// Whether the text uses its product over the steps, βᵗ.
    pub is_decay_rate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `state`, `param` or `in`.
    Keyword,
    Name,
    Number,
    /// `+`, `<=`, `(` and so on.
    Sign,
    LineEnd,
    /// A comment, from `#` to the end of the line.
    Comment,
    /// A character that no token begins with.
    Unknown,
}

/// A token and its range in bytes. Spaces are not tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub range: Range<usize>,
}

const KEYWORDS: [&str; 3] = ["state", "param", "in"];
/// The signs, each before its own prefixes, so that the longest one matches.
const SIGNS: [&str; 17] = ["..", "<=", ">=", "==", "!=", "+", "-", "−", "*", "/", "^", "(", ")", ",", "=", "<", ">"];

pub fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            '\n' => (TokenKind::LineEnd, 1),
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '#' => (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len())),
            _ if first.is_ascii_digit() => (TokenKind::Number, number_length(rest)),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                (TokenKind::Number, number_length(rest))
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let kind = if KEYWORDS.contains(&&rest[..length]) { TokenKind::Keyword } else { TokenKind::Name };
                (kind, length)
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (TokenKind::Sign, sign.len()),
                None => (TokenKind::Unknown, first.len_utf8()),
            },
        };
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

/// The length of the number that a text begins with: digits, a point that is not the first of two, an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1) != Some(&b'.') {
        length += 1;
        length += digits(length);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

/// A mistake in a text and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The range in bytes of the text; empty at its end.
    pub range: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    pub expected: String,
    pub found: String,
}

impl ProgramError {
    pub(crate) fn new(
        text: &str,
        range: Range<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> ProgramError {
        let before = &text[..range.start];
        let line = before.matches('\n').count() + 1;
        let column = before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count() + 1;
        ProgramError { range, line, column, expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProgramError { line, column, expected, found, .. } = self;
        write!(formatter, "line {line}, column {column}: expected {expected}, found {found}")
    }
}

impl std::error::Error for ProgramError {}

/// Greek letters by their names in texts.
pub(crate) const GREEK: [(&str, &str); 18] = [
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("eps", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("phi", "φ"),
    ("psi", "ψ"),
    ("omega", "ω"),
];

/// A name as a symbol: a Greek letter and an index instead of their names.
pub fn symbol(name: &str) -> String {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = name[letters.len()..].chars().filter_map(|digit| char::from_u32(0x2080 + digit.to_digit(10)?));
    let greek = GREEK.iter().find(|(word, _)| *word == letters).map_or(letters, |(_, letter)| letter);
    greek.chars().chain(index).collect()
}
