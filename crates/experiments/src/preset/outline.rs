//! The structure of a preset's text: its tokens, and the positions of its fields.

use std::fmt::Write;
use std::ops::Range;

/// The largest depth of brackets, more than any preset has.
pub(super) const DEEPEST: usize = 64;

/// The fields and list elements of a RON text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline<'t> {
    text: &'t str,
}

impl<'t> Outline<'t> {
    pub(super) fn of(text: &'t str) -> Outline<'t> {
        Outline { text }
    }

    /// Returns the name before the outermost parenthesis.
    pub(super) fn kind(&self) -> Option<Range<usize>> {
        let mut walk = Walk::new(self.text);
        loop {
            let outermost = walk.groups.is_empty();
            let step = walk.next()?;
            if outermost && step.token == Token::Word {
                return Some(step.span);
            }
        }
    }

    /// Returns the start of an unterminated comment.
    pub(super) fn open_comment(&self) -> Option<usize> {
        let mut lexer = Lexer::new(self.text);
        lexer.by_ref().for_each(drop);
        lexer.open_comment()
    }

    /// Returns the value at `path`, such as `simulations[0].spec.optimizers[1].id`, or where that is missing, at the
    /// nearest enclosing path.
    pub(super) fn value(&self, path: &str) -> Option<Range<usize>> {
        self.nearest(&keys(path)).map(|(_, span)| span)
    }

    pub(super) fn exact(&self, path: &str) -> Option<Range<usize>> {
        let keys = keys(path);
        self.nearest(&keys).filter(|(length, _)| *length == keys.len()).map(|(_, span)| span)
    }

    /// Returns the value at the longest prefix of a path that is in the text: the prefix's number of keys, and the
    /// value's position.
    fn nearest(&self, path: &[Key<'_>]) -> Option<(usize, Range<usize>)> {
        let mut best: Option<(usize, Range<usize>)> = None;
        // The group that contains the value, until the value ends.
        let mut at = None;
        let mut walk = Walk::new(self.text);
        while let Some(step) = walk.next() {
            if step.begins {
                let group = walk.groups.len() - if matches!(step.token, Token::Open(_)) { 2 } else { 1 };
                let found = walk.groups[..=group].iter().filter_map(|group| group.open.as_ref()).map(|open| &open.key);
                let length = found.clone().count();
                let is_longer = best.as_ref().is_none_or(|(known, _)| *known < length);
                if is_longer && length <= path.len() && found.eq(&path[..length]) {
                    best = Some((length, step.span.clone()));
                    at = Some(group);
                }
            }
            if let (Some(group), Some((_, value))) = (at, &mut best) {
                let open = walk.groups.get(group).and_then(|group| group.open.as_ref());
                match open.filter(|open| open.start == value.start) {
                    Some(_) if step.is_of_value => value.end = step.span.end,
                    Some(_) => {}
                    None => at = None,
                }
            }
        }
        best
    }

    /// Returns the values without fields, with their paths: numbers, texts, names, also those before fields, and as a
    /// whole the values with unnamed parts, such as `Of(Beta2, [0])`.
    pub(super) fn leaves(&self) -> Vec<(String, &'t str)> {
        let (mut walk, mut leaves) = (Walk::new(self.text), Vec::new());
        while let Some(step) = walk.next() {
            let (start, is_group) = (step.span.start, matches!(step.token, Token::Open(_)));
            let has_unnamed_parts = step.begins && self.has_unnamed_parts(start);
            if !step.begins || (is_group && !has_unnamed_parts) {
                continue;
            }
            let path = walk.path(start);
            let end = if has_unnamed_parts { walk.skip_group(is_group) } else { step.span.end };
            leaves.extend(path.map(|path| (path, &self.text[start..end])));
        }
        leaves
    }

    /// Returns whether the value that starts here has parts in parentheses that are not fields.
    fn has_unnamed_parts(&self, start: usize) -> bool {
        let mut tokens = Lexer::new(&self.text[start..]).map(|(_, token)| token).peekable();
        tokens.next_if_eq(&Token::Word);
        if tokens.next() != Some(Token::Open(false)) {
            return false;
        }
        match tokens.next() {
            Some(Token::Word) => tokens.next() != Some(Token::Colon),
            Some(Token::Close) | None => false,
            Some(_) => true,
        }
    }

    /// Returns the path of the innermost value that `offset` is in.
    pub(super) fn path_at(&self, offset: usize) -> Option<String> {
        let mut walk = Walk::new(self.text);
        while let Some(step) = walk.next() {
            if offset < step.span.end {
                return walk.path(offset);
            }
        }
        None
    }
}

/// The name of a field, or the index in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key<'t> {
    Name(&'t str),
    Index(usize),
}

/// Returns the keys of a path like `simulations[0].spec.optimizers[1].id`.
fn keys(path: &str) -> Vec<Key<'_>> {
    let mut keys = Vec::new();
    for part in path.split('.') {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        keys.push(Key::Name(name));
        for index in indices.split_inclusive(']') {
            let number = index.strip_prefix('[').and_then(|index| index.strip_suffix(']')?.parse().ok());
            keys.push(number.map_or(Key::Name(index), Key::Index));
        }
    }
    keys
}

/// A pass over the tokens of a text that tracks the current path.
#[derive(Debug)]
pub(super) struct Walk<'t> {
    text: &'t str,
    lexer: std::iter::Peekable<Lexer<'t>>,
    groups: Vec<Group<'t>>,
}

/// The state inside a pair of brackets.
#[derive(Debug)]
struct Group<'t> {
    /// The index of the next element, in a list.
    next: Option<usize>,
    /// The key of the next value.
    pending: Option<Key<'t>>,
    /// The value that is being read.
    open: Option<Open<'t>>,
}

#[derive(Debug)]
struct Open<'t> {
    key: Key<'t>,
    start: usize,
}

/// A token.
#[derive(Debug)]
pub(super) struct OutlineStep {
    pub span: Range<usize>,
    pub token: Token,
    /// Whether it begins a value.
    begins: bool,
    /// Whether it is part of a value, not a comma, colon or field's name.
    is_of_value: bool,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str) -> Walk<'t> {
        Walk { text, lexer: Lexer::new(text).peekable(), groups: Vec::new() }
    }

    /// Advances by a token. It ends where brackets are nested deeper than [`DEEPEST`].
    pub(super) fn next(&mut self) -> Option<OutlineStep> {
        if self.depth() > DEEPEST {
            return None;
        }
        let (span, token) = self.lexer.next()?;
        let mut step = OutlineStep { begins: false, is_of_value: true, span, token };
        match token {
            Token::Word if self.lexer.peek().is_some_and(|(_, next)| *next == Token::Colon) => {
                step.is_of_value = false;
                let name = Key::Name(&self.text[step.span.clone()]);
                if let Some(group) = self.groups.last_mut() {
                    group.open = None;
                    group.pending = Some(name);
                }
            }
            Token::Colon => step.is_of_value = false,
            Token::Comma => {
                step.is_of_value = false;
                if let Some(group) = self.groups.last_mut() {
                    group.open = None;
                    group.pending = group.next.map(Key::Index);
                    group.next = group.next.map(|next| next + 1);
                }
            }
            Token::Open(list) => {
                step.begins = self.begin(step.span.start);
                let [next, pending] = if list { [Some(1), Some(0)] } else { [None, None] };
                self.groups.push(Group { next, pending: pending.map(Key::Index), open: None });
            }
            Token::Close => drop(self.groups.pop()),
            Token::Word | Token::Number | Token::Text | Token::Other => step.begins = self.begin(step.span.start),
        }
        Some(step)
    }

    /// Advances behind the group that is open or opens next, and returns its end.
    fn skip_group(&mut self, is_open: bool) -> usize {
        let outside = if is_open { self.depth() - 1 } else { self.depth() };
        let mut end = self.text.len();
        while let Some(step) = self.next() {
            if step.token == Token::Close && self.depth() == outside {
                end = step.span.end;
                break;
            }
        }
        end
    }

    pub(super) fn depth(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of elements of the innermost list that a comma has ended; none in another group.
    pub(super) fn elements(&self) -> Option<usize> {
        self.groups.last()?.next.map(|next| next - 1)
    }

    /// Returns the path of the innermost value that began no later than at `offset`.
    pub(super) fn path(&self, offset: usize) -> Option<String> {
        let mut path = String::new();
        for open in self.groups.iter().filter_map(|group| group.open.as_ref()).filter(|open| open.start <= offset) {
            match open.key {
                Key::Name(name) if path.is_empty() => path.push_str(name),
                Key::Name(name) => write!(path, ".{name}").expect("a text can be written to"),
                Key::Index(index) => write!(path, "[{index}]").expect("a text can be written to"),
            }
        }
        (!path.is_empty()).then_some(path)
    }

    /// Handles a token that belongs to a value. True where it is the first.
    fn begin(&mut self, start: usize) -> bool {
        let Some(group) = self.groups.last_mut() else { return false };
        let Some(key) = group.pending.take() else { return false };
        group.open = Some(Open { key, start });
        true
    }
}

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
