//! A fault at a place in a preset's text.

use std::fmt;
use std::ops::Range;

use valleyscope_engine::terminal_escape::{is_unseen, visible};

/// A fault and its place. Displayed as by a compiler: place, message, and the line with a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, or the name of a built-in preset.
    pub origin: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    pub message: String,
    excerpt: Excerpt,
}

/// The part of the line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    mark_start: usize,
    mark_len: usize,
}

/// The largest number of characters of a line that are shown on each side of the mark's start.
const REACH: usize = 60;

impl Fault {
    /// Returns a fault at the bytes `span` of `text`.
    pub(super) fn new(origin: &str, text: &str, span: Range<usize>, message: String) -> Fault {
        let line_start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[span.start..].find('\n').map_or(text.len(), |newline| span.start + newline);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let column = text[line_start..span.start].chars().count();
        let mark_end = span.end.min(line_start + line.len());
        let mark_len = text.get(span.start..mark_end).map_or(0, |marked| marked.chars().count());
        let shown_from = column.saturating_sub(REACH);
        let excerpt = Excerpt {
            text: line.chars().skip(shown_from).take(2 * REACH).map(printable).collect(),
            mark_start: column - shown_from,
            mark_len: mark_len.clamp(1, REACH),
        };
        Fault {
            origin: origin.to_owned(),
            line: 1 + text[..line_start].matches('\n').count(),
            column: column + 1,
            message: visible(&message).into_owned(),
            excerpt,
        }
    }
}

/// Returns the character, or a replacement for an invisible one, which would move the mark or control the terminal.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_unseen(c) => '□',
        c => c,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { origin, line, column, message, excerpt } = self;
        let gutter = line.to_string().len();
        writeln!(f, "{origin}:{line}:{column}: {message}")?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {}", excerpt.text)?;
        write!(f, "{:gutter$} | {:2$}{3}", "", "", excerpt.mark_start, "^".repeat(excerpt.mark_len))
    }
}

impl std::error::Error for Fault {}
