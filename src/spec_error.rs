//! Why a spec cannot be used, where its fields contradict each other or are more than a type can refuse.

use std::ops::RangeInclusive;

/// A rule that the fields of a spec break.
///
/// Shown as a preset's file has it, with the names of fields in backquotes. Who calls fields otherwise puts it together
/// from its [parts](SpecError::parts).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{path}` {complaint}")]
pub struct SpecError {
    /// The field at fault, such as `rows.from`.
    pub path: String,
    /// Reads on after the path. What stands in a preset's file is in backquotes: paths of other fields, and values.
    pub complaint: String,
}

/// A piece of what a [`SpecError`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'e> {
    /// A field's path, or a field with its value, as a preset's file has it.
    InFile(&'e str),
    Words(&'e str),
}

impl SpecError {
    pub fn new(path: impl Into<String>, complaint: impl Into<String>) -> SpecError {
        SpecError { path: path.into(), complaint: complaint.into() }
    }

    /// The same, with the path from what holds the spec as `place`.
    pub fn at(self, place: &str) -> SpecError {
        SpecError { path: format!("{place}.{}", self.path), ..self }
    }

    /// What is said, piece by piece: the path, and the complaint on it.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let complaint = self.complaint.split('`').enumerate();
        let complaint =
            complaint.map(|(index, text)| if index % 2 == 1 { Part::InFile(text) } else { Part::Words(text) });
        [Part::InFile(&self.path), Part::Words(" ")].into_iter().chain(complaint)
    }

    /// Refuses what cannot be shown in one line.
    pub fn check_line(path: &str, text: &str, longest: usize) -> Result<(), SpecError> {
        if text.trim().is_empty() {
            return Err(SpecError::new(path, "must not be empty"));
        }
        if text.contains(char::is_control) {
            return Err(SpecError::new(path, "must be a single line without control characters"));
        }
        SpecError::check_length(path, text, 1..=longest)
    }

    /// Refuses a text of another number of characters.
    pub fn check_length(path: &str, text: &str, allowed: RangeInclusive<usize>) -> Result<(), SpecError> {
        let length = text.chars().count();
        if allowed.contains(&length) {
            return Ok(());
        }
        let (least, most) = allowed.into_inner();
        Err(SpecError::new(path, format!("must have {least} to {most} characters, found {length}")))
    }
}
