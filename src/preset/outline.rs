//! Where each field of a preset stands in its text.
//!
//! The RON reader knows positions only while it reads. The outline finds them by a field's path, for
//! rules that are checked afterwards, and the other way round it tells which field a position is in.

use std::ops::Range;

/// The fields and list elements of a RON text, each with the part of the text that its value takes.
#[derive(Debug, Default)]
pub struct Outline {
    /// The name before the outermost parenthesis.
    pub kind: Option<Range<usize>>,
    /// Where a comment begins that does not end.
    pub open_comment: Option<usize>,
    entries: Vec<Entry>,
}

/// Deeper than any preset is.
const MAX_DEPTH: usize = 64;

#[derive(Debug)]
struct Entry {
    /// Like `simulation.optimizers[1].id`.
    path: String,
    value: Range<usize>,
}

impl Outline {
    /// Reads as far as the text makes sense.
    pub fn of(text: &str) -> Outline {
        let mut builder = Builder::default();
        let mut lexer = Lexer { text, at: 0, open_comment: None };
        let mut token = lexer.next();
        while let Some((span, kind)) = token {
            let following = lexer.next();
            builder.take(text, span, kind, following.as_ref().is_some_and(|(_, kind)| *kind == Token::Colon));
            if builder.groups.len() > MAX_DEPTH {
                break;
            }
            token = following;
        }
        builder.outline.open_comment = lexer.open_comment;
        builder.outline
    }

    /// The value at `path`, or where that is not written, at the nearest path around it.
    pub fn value(&self, path: &str) -> Option<Range<usize>> {
        let mut path = path;
        loop {
            if let Some(entry) = self.entries.iter().find(|entry| entry.path == path) {
                return Some(entry.value.clone());
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    /// The value at exactly this path.
    pub fn exact(&self, path: &str) -> Option<Range<usize>> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| entry.value.clone())
    }

    /// The path of the innermost value that `offset` is in.
    pub fn path_at(&self, offset: usize) -> Option<&str> {
        self.entries
            .iter()
            .rfind(|entry| entry.value.start <= offset && offset < entry.value.end)
            .map(|entry| entry.path.as_str())
    }
}

#[derive(Default)]
struct Builder {
    outline: Outline,
    groups: Vec<Group>,
}

/// What stands between two brackets.
struct Group {
    path: String,
    /// The index of the next element, in a list.
    next: Option<usize>,
    /// The path of the value that comes next.
    pending: Option<String>,
    /// The entry of the value that is being read.
    open: Option<usize>,
}

impl Builder {
    fn take(&mut self, text: &str, span: Range<usize>, token: Token, before_colon: bool) {
        match token {
            Token::Word if before_colon => {
                if let Some(group) = self.groups.last_mut() {
                    let name = &text[span];
                    group.open = None;
                    group.pending =
                        Some(if group.path.is_empty() { name.to_owned() } else { format!("{}.{name}", group.path) });
                }
            }
            Token::Colon => {}
            Token::Comma => {
                if let Some(group) = self.groups.last_mut() {
                    group.open = None;
                    group.pending = group.next.as_mut().map(|next| {
                        let path = format!("{}[{next}]", group.path);
                        *next += 1;
                        path
                    });
                }
            }
            Token::Open(list) => self.open(span, list),
            Token::Close => {
                self.groups.pop();
                self.extend(span.end);
            }
            Token::Word | Token::Other => {
                if self.groups.is_empty() && self.outline.kind.is_none() && token == Token::Word {
                    self.outline.kind = Some(span.clone());
                }
                self.begin(&span);
            }
        }
    }

    fn open(&mut self, span: Range<usize>, list: bool) {
        self.begin(&span);
        let path = match self.groups.last() {
            Some(group) => {
                group.open.map_or_else(|| group.path.clone(), |open| self.outline.entries[open].path.clone())
            }
            None => String::new(),
        };
        let pending = list.then(|| format!("{path}[0]"));
        self.groups.push(Group { path, next: list.then_some(1), pending, open: None });
    }

    /// A token that belongs to a value: its first or a further one.
    fn begin(&mut self, span: &Range<usize>) {
        if let Some(group) = self.groups.last_mut()
            && let Some(path) = group.pending.take()
        {
            group.open = Some(self.outline.entries.len());
            self.outline.entries.push(Entry { path, value: span.clone() });
        }
        self.extend(span.end);
    }

    fn extend(&mut self, end: usize) {
        for open in self.groups.iter().filter_map(|group| group.open) {
            self.outline.entries[open].value.end = end;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Word,
    Colon,
    Comma,
    /// An opening bracket; of a list or not.
    Open(bool),
    Close,
    /// A number or a text.
    Other,
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    open_comment: Option<usize>,
}

impl Lexer<'_> {
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
                return Some((start..self.at, Token::Other));
            }
            _ if is_word(first) => {
                self.skip_while(is_word);
                if self.skip_raw_text(start) {
                    return Some((start..self.at, Token::Other));
                }
                let token = if first.is_alphabetic() || first == '_' { Token::Word } else { Token::Other };
                return Some((start..self.at, token));
            }
            _ => Token::Other,
        };
        self.at += first.len_utf8();
        Some((start..self.at, token))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        self.at += self.rest().find(|c| !wanted(c)).unwrap_or(self.rest().len());
    }

    /// Spaces, comments, and attributes like `#![enable(implicit_some)]`.
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

    /// Block comments nest.
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

    /// A text in quotes, with its escapes.
    fn skip_text(&mut self) {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find(|&(_, c)| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        self.at += end.map_or(self.rest().len(), |(quote, _)| quote + 1);
    }

    /// Goes on after the `r` of a raw text like `r#"…"#`, if it is one.
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

/// Letters, digits and what else names and numbers are made of.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}
