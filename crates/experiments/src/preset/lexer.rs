//! A preset's text as tokens.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word,
    Colon,
    Comma,
    /// An opening bracket; true for that of a list.
    Open(bool),
    Close,
    Number,
    Text,
    /// A character without meaning.
    Other,
}

/// Splits a text into tokens, each with its bytes.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    open_comment: Option<usize>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0, open_comment: None }
    }

    /// Returns the start of an unterminated comment, once the whole text is split.
    pub(super) fn open_comment(&self) -> Option<usize> {
        self.open_comment
    }
}

impl Iterator for Lexer<'_> {
    type Item = (Range<usize>, Token);

    fn next(&mut self) -> Option<(Range<usize>, Token)> {
        self.skip_trivia();
        let start = self.at;
        let first = self.rest().chars().next()?;
        let token = match first {
            '(' | '{' | '[' => Token::Open(first == '['),
            ')' | '}' | ']' => Token::Close,
            ':' => Token::Colon,
            ',' => Token::Comma,
            '"' => {
                self.skip_text();
                return Some((start..self.at, Token::Text));
            }
            _ if is_word(first) => {
                self.skip_while(is_word);
                if self.skip_raw_text(start) {
                    return Some((start..self.at, Token::Text));
                }
                let token = if first.is_alphabetic() || first == '_' { Token::Word } else { Token::Number };
                return Some((start..self.at, token));
            }
            _ => Token::Other,
        };
        self.at += first.len_utf8();
        Some((start..self.at, token))
    }
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        self.at += self.rest().find(|c| !wanted(c)).unwrap_or(self.rest().len());
    }

    /// Skips spaces, comments, and attributes like `#![enable(implicit_some)]`.
    fn skip_trivia(&mut self) {
        loop {
            self.skip_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.skip_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.skip_block_comment();
            } else if self.rest().starts_with("#!") {
                self.at += self.rest().find(']').map_or(self.rest().len(), |end| end + 1);
            } else {
                return;
            }
        }
    }

    /// Skips a block comment, which may contain others.
    fn skip_block_comment(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
            } else {
                match rest.chars().next() {
                    Some(c) => self.at += c.len_utf8(),
                    None => {
                        self.open_comment = Some(start);
                        return;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips a text in quotes, with its escapes.
    fn skip_text(&mut self) {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find(|&(_, c)| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        self.at += end.map_or(self.rest().len(), |(quote, _)| quote + 1);
    }

    /// Skips the rest of a raw text like `r#"…"#` after its `r`, if it is one.
    fn skip_raw_text(&mut self, start: usize) -> bool {
        let hashes = self.rest().len() - self.rest().trim_start_matches('#').len();
        if !matches!(&self.text[start..self.at], "r" | "b" | "br") || !self.rest()[hashes..].starts_with('"') {
            return false;
        }
        let body = self.at + hashes + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        self.at = self.text[body..].find(&close).map_or(self.text.len(), |found| body + found + close.len());
        true
    }
}

/// Returns whether the character can be part of a name or a number.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}
