//! Errors of specs whose fields contradict each other, or break rules that their types do not express.

use std::ops::RangeInclusive;

use crate::terminal_escape::{escaped_name, is_visible_name};

/// A rule that the fields of a spec break.
///
/// The error is displayed as in a preset's file, with the names of fields in backquotes. Code with other names of
/// fields composes the message from its [parts](SpecError::parts).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{path}` {complaint}")]
pub struct SpecError {
    /// The field at fault, such as `rows.from`.
    pub path: String,
    /// The message that follows the path. Quotations from a preset's file are in backquotes: paths of other fields, and
    /// values.
    pub complaint: String,
}

/// A piece of the message of a [`SpecError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePart<'e> {
    /// A field's path, or a field with its value, as in a preset's file.
    InFile(&'e str),
    Text(&'e str),
}

pub fn broken<T>(path: impl Into<String>, complaint: impl Into<String>) -> Result<T, SpecError> {
    Err(SpecError::new(path, complaint))
}

impl SpecError {
    pub fn new(path: impl Into<String>, complaint: impl Into<String>) -> SpecError {
        SpecError { path: path.into(), complaint: complaint.into() }
    }

    /// Prepends the path of the spec to the error's path.
    pub fn at(self, spec: &str) -> SpecError {
        SpecError { path: format!("{spec}.{}", self.path), ..self }
    }

    /// Returns the pieces of the message: the path, and the complaint.
    pub fn parts(&self) -> impl Iterator<Item = MessagePart<'_>> {
        let complaint = self.complaint.split('`').enumerate();
        let complaint = complaint
            .map(|(index, text)| if index % 2 == 1 { MessagePart::InFile(text) } else { MessagePart::Text(text) });
        [MessagePart::InFile(&self.path), MessagePart::Text(" ")].into_iter().chain(complaint)
    }

    /// Checks that a text can be shown in one line.
    pub fn check_line(path: &str, text: &str, longest: usize) -> Result<(), SpecError> {
        if text.trim().is_empty() {
            return broken(path, "must not be empty");
        }
        if text.contains(char::is_control) {
            return broken(path, "must be a single line without control characters");
        }
        SpecError::check_length(path, text, 1..=longest)
    }

    /// Checks that a name can be shown in one line, without invisible characters.
    pub fn check_name(path: &str, name: &str, longest: usize) -> Result<(), SpecError> {
        SpecError::check_line(path, name, longest)?;
        if is_visible_name(name) {
            return Ok(());
        }
        let complaint = format!("must have a visible character and no invisible ones, found `{}`", escaped_name(name));
        broken(path, complaint)
    }

    /// Checks the number of characters of a text.
    pub fn check_length(path: &str, text: &str, allowed: RangeInclusive<usize>) -> Result<(), SpecError> {
        let length = text.chars().count();
        if allowed.contains(&length) {
            return Ok(());
        }
        let (least, most) = allowed.into_inner();
        broken(path, format!("must have {least} to {most} characters, found {length}"))
    }
}
