//! Parsing presets.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use ron::error::Error as RonError;
use ron::extensions::Extensions;
use valleyscope_engine::landscape::LandscapeKind;
use valleyscope_runs::plain_file::{self, Links};

use super::error::PresetError;
use super::explain::{explain, list, span_of};
use super::fault::Fault;
use super::lexer::{Lexer, Token};
use super::outline::Outline;
use super::{FormatVersion, Preset, limits, validate};

/// Returns the RON options of presets: values of optional fields and of settings are written without wrappers, like
/// `steps: 3000` and `Noise(1.5)`.
pub(super) fn format() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// Reads the text of the preset in the regular file at `path`; a link is followed.
pub(super) fn text_of_plain_file(path: &Path) -> Result<String, PresetError> {
    text_of(path, plain_file::read(path, Links::Followed, Preset::LONGEST))
}

/// Reads the text of the preset in any file at `path`, except for a FIFO without a writer.
pub(super) fn text_of_file(path: &Path) -> Result<String, PresetError> {
    let mut bytes = Vec::new();
    let opened = plain_file::refuse_fifo(path).and_then(|()| File::open(path));
    let read = opened.and_then(|file| file.take(Preset::LONGEST + 1).read_to_end(&mut bytes));
    text_of(path, read.map(|_| bytes))
}

fn text_of(path: &Path, bytes: io::Result<Vec<u8>>) -> Result<String, PresetError> {
    let path = path.to_owned();
    match bytes {
        Ok(bytes) if bytes.len() as u64 > Preset::LONGEST => Err(PresetError::TooLarge { path }),
        Ok(bytes) => text_of_bytes(bytes, &path.display().to_string()),
        Err(_) if path.is_dir() => Err(PresetError::Folder { path }),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(PresetError::TooLarge { path }),
        Err(source) => Err(PresetError::Read { path, source }),
    }
}

fn text_of_bytes(bytes: Vec<u8>, origin: &str) -> Result<String, PresetError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let what = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            "it looks like UTF-16, so save it again as UTF-8".to_owned()
        } else {
            let before = String::from_utf8_lossy(&bytes[..good]);
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
            format!("the byte 0x{:02x} in line {line}, column {column} is no part of it", bytes[good])
        };
        PresetError::NotText { origin: origin.to_owned(), what }
    })
}

/// Parses and validates the preset in `text`; errors name `origin` as the file.
pub(super) fn parse(text: &str, origin: &str) -> Result<Preset, PresetError> {
    let preset = parse_fields(text, origin)?;
    let text = without_mark(text);
    validate::check(&preset).map_err(|broken| {
        let span = Outline::of(text).value(&broken.path).unwrap_or(0..0);
        PresetError::Content(Box::new(Fault::new(origin, text, span, broken.to_string())))
    })?;
    Ok(preset)
}

/// Parses the preset in `text` without checking that the fields fit each other.
pub(super) fn parse_fields(text: &str, origin: &str) -> Result<Preset, PresetError> {
    let text = without_mark(text);
    let fault = |span, message| PresetError::Content(Box::new(Fault::new(origin, text, span, message)));
    if let Some((span, message)) = limits::exceeded(text) {
        return Err(fault(span, message));
    }
    format().from_str(&with_readable_names(text)).map_err(|error| {
        let outline = Outline::of(text);
        let (span, message) = wrong_kind(text, outline)
            .or_else(|| wrong_version(text, outline))
            .unwrap_or_else(|| explain(text, outline, &error));
        fault(span, message)
    })
}

/// Returns the first error of the RON reader in a text, and its place; none in a text that exceeds the limits of a
/// preset.
pub(super) fn complaint(text: &str) -> Option<(Range<usize>, RonError)> {
    if limits::exceeded(text).is_some() {
        return None;
    }
    let error = format().from_str::<Preset>(&with_readable_names(text)).err()?;
    Some((span_of(text, &error), error.code))
}

/// Returns the text with underscores in names that the RON reader cannot read: those with hyphens, and those of
/// landscapes in two words. All positions stay the same.
fn with_readable_names(text: &str) -> Cow<'_, str> {
    let (mut unreadable, mut previous) = (Vec::new(), None::<Range<usize>>);
    for (span, token) in Lexer::new(text) {
        if token == Token::Word {
            unreadable.extend(text[span.clone()].match_indices('-').map(|(at, _)| span.start + at));
            let before = previous.replace(span.clone()).filter(|before| text[before.end..span.start] == *" ");
            let both = before.filter(|before| LandscapeKind::named(&text[before.start..span.end]).is_some());
            unreadable.extend(both.map(|before| before.end));
        } else {
            previous = None;
        }
    }
    if unreadable.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut text = text.to_owned();
    unreadable.into_iter().for_each(|at| text.replace_range(at..=at, "_"));
    Cow::Owned(text)
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn wrong_kind(text: &str, outline: Outline<'_>) -> Option<(Range<usize>, String)> {
    let span = outline.kind()?;
    let kind = &text[span.clone()];
    let kinds = [&["Landscape", "Sweep"], Preset::WORKLOADS].concat();
    if kinds.contains(&kind) {
        return None;
    }
    let message = format!(
        "expected a preset that begins with one of {}, like `Landscape(version: {}, …)`, found `{kind}`",
        list(&kinds),
        FormatVersion::CURRENT
    );
    Some((span, message))
}

fn wrong_version(text: &str, outline: Outline<'_>) -> Option<(Range<usize>, String)> {
    let current = FormatVersion::CURRENT;
    let Some(span) = outline.exact("version") else {
        let span = outline.kind()?;
        let missing = format!("expected `version: {current}` as the first field of the preset, and found no version");
        // Without the parenthesis the version is the smaller problem.
        return text[span.end..].trim_start().starts_with('(').then_some((span, missing));
    };
    let version: u64 = text[span.clone()].parse().ok()?;
    let message = match version {
        version if version == u64::from(current) => return None,
        0 => format!("expected version {current}, found version 0, which never was"),
        newer => format!(
            "this preset was made by a newer Valleyscope: its version is {newer}, and this program reads version \
             {current}; update Valleyscope to open it"
        ),
    };
    Some((span, message))
}
