//! This module describes mistakes in a program's text.

use std::fmt;
use std::ops::Range;

/// A mistake in a text and its place.
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
