//! From text to preset.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use ron::error::{Error as RonError, Position, SpannedError};
use ron::extensions::Extensions;

use super::error::PresetError;
use super::fault::Fault;
use super::outline::{Outline, is_word};
use super::{FormatVersion, Preset, rules};

/// Larger than the record of many hours of dragging sliders.
const MAX_MIB: u64 = 64;

/// The kinds of experiment that the format has names for, apart from those that can be opened.
const KINDS_TO_COME: [&str; 1] = ["Gpt2"];

/// The kinds that can be opened.
const KINDS: [&str; 4] = ["Landscape", "Sweep", "Mnist", "MnistScan"];

/// How presets are read and written: values of optional fields and of settings stand bare, like
/// `steps: 3000` and `Noise(1.5)`.
pub(super) fn format() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// The text of the preset file at `path`.
pub(super) fn text_of_file(path: &Path) -> Result<String, PresetError> {
    let failed = |source| PresetError::Read { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(PresetError::Folder { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let limit = MAX_MIB << 20;
    std::fs::File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(PresetError::TooLarge { path: path.to_owned(), limit_mib: MAX_MIB });
    }
    text_of_bytes(bytes, &path.display().to_string())
}

fn text_of_bytes(bytes: Vec<u8>, origin: &str) -> Result<String, PresetError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let what = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            "it looks like UTF-16, so save it again as UTF-8".to_owned()
        } else {
            let line = 1 + bytes[..good].iter().filter(|&&byte| byte == b'\n').count();
            format!("the byte 0x{:02x} at position {good}, in line {line}, is no part of it", bytes[good])
        };
        PresetError::NotText { origin: origin.to_owned(), what }
    })
}

/// The preset in `text`; errors name `origin` as the file.
pub(super) fn parse(text: &str, origin: &str) -> Result<Preset, PresetError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let fault = |span, message| PresetError::Content(Box::new(Fault::new(origin, text, span, message)));
    let preset: Preset = format().from_str(text).map_err(|error| {
        let outline = Outline::of(text);
        let (span, message) = wrong_kind(text, &outline)
            .or_else(|| wrong_version(text, &outline))
            .unwrap_or_else(|| explain(text, &outline, &error));
        fault(span, message)
    })?;
    rules::check(&preset).map_err(|broken| {
        let span = Outline::of(text).value(&broken.path).unwrap_or(0..0);
        fault(span, broken.to_string())
    })?;
    Ok(preset)
}

fn wrong_kind(text: &str, outline: &Outline) -> Option<(Range<usize>, String)> {
    let span = outline.kind.clone()?;
    let kind = &text[span.clone()];
    if KINDS.contains(&kind) {
        return None;
    }
    let message = if KINDS_TO_COME.contains(&kind) {
        format!("this version of Valleyscope opens presets of the kinds {}, and cannot run `{kind}` yet", list(&KINDS))
    } else {
        format!(
            "expected a preset that begins with one of {}, like `Landscape(version: {}, …)`, found `{kind}`",
            list(&KINDS),
            FormatVersion::CURRENT
        )
    };
    Some((span, message))
}

fn wrong_version(text: &str, outline: &Outline) -> Option<(Range<usize>, String)> {
    let current = FormatVersion::CURRENT;
    let Some(span) = outline.exact("version") else {
        let span = outline.kind.clone()?;
        let missing = format!("expected `version: {current}` as the first field of the preset, and found no version");
        // Without the parenthesis the version is the lesser problem.
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

/// Says in plain words what the RON reader found wrong, and finds the exact place.
fn explain(text: &str, outline: &Outline, error: &SpannedError) -> (Range<usize>, String) {
    let start = offset(text, error.span.start);
    let end = offset(text, error.span.end).max(start);
    let here = token(text, end);
    let found = describe(text, here.clone());
    let expected = |what: &str| (here.clone(), format!("expected {what}, found {found}"));
    match &error.code {
        RonError::Message(message) => (start..end, message.clone()),
        RonError::Eof if outline.kind.is_none() => (
            end..end,
            format!("the file holds no preset; expected `Landscape(version: {}, …)`", FormatVersion::CURRENT),
        ),
        RonError::Eof => (end..end, "the file ends too early; a closing bracket is missing".to_owned()),
        RonError::NoSuchStructField { expected, found, .. } => {
            let place = place(outline, start);
            (start..end, format!("{place} has no field `{found}`; its fields are {}", list(expected)))
        }
        RonError::MissingStructField { field, .. } => {
            (here, format!("the field `{field}` is missing in {}", place(outline, end)))
        }
        RonError::DuplicateStructField { field, .. } => {
            (start..end, format!("the field `{field}` is given twice in {}", place(outline, start)))
        }
        RonError::NoSuchEnumVariant { expected, found, .. } => {
            // A name that differs from another in its capitals alone stands for the same.
            let mut names: Vec<&str> = expected.to_vec();
            names.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
            (start..end, format!("expected one of {}, found `{found}`", list(&names)))
        }
        RonError::IntegerOutOfBounds => {
            let number = number_around(text, start);
            let message = format!(
                "`{}` must be a whole number that is neither negative nor too large, found {}",
                outline.path_at(number.start).unwrap_or("number"),
                &text[number.clone()]
            );
            (number, message)
        }
        RonError::InvalidIntegerDigit { .. } => not_whole(text, start),
        RonError::ExpectedComma | RonError::ExpectedStructLikeEnd | RonError::ExpectedArrayEnd
            if is_fraction(text, end) =>
        {
            not_whole(text, end)
        }
        RonError::ExpectedDifferentLength { expected, found } => {
            (here, format!("expected {expected}, found {found} elements"))
        }
        RonError::ExpectedStringEnd => (start..start, "this text has no closing quotation mark".to_owned()),
        RonError::UnclosedBlockComment => {
            let start = outline.open_comment.unwrap_or(start);
            (start..start, "this comment has no closing `*/`".to_owned())
        }
        RonError::InvalidEscape(what) => (start..end, format!("{what}; write a backslash itself as `\\\\`")),
        RonError::ExceededRecursionLimit => (here, "brackets are nested deeper than in any preset".to_owned()),
        RonError::TrailingCharacters => expected("the end of the file after the preset"),
        RonError::ExpectedComma => expected("`,` or the closing bracket"),
        RonError::ExpectedFloat => expected("a number"),
        RonError::ExpectedInteger => expected("a whole number"),
        RonError::ExpectedString => expected("a text in quotation marks"),
        RonError::ExpectedBoolean => expected("`true` or `false`"),
        RonError::ExpectedArray => expected("a list that opens with `[`"),
        RonError::ExpectedArrayEnd => expected("`]`"),
        RonError::ExpectedStructLike | RonError::ExpectedNamedStructLike(_) => expected("`(`"),
        RonError::ExpectedStructLikeEnd | RonError::ExpectedOptionEnd => expected("`)`"),
        RonError::ExpectedMapColon => expected("`:` after the field's name"),
        RonError::ExpectedIdentifier | RonError::SuggestRawIdentifier(_) => expected("a name"),
        other => (start..end, other.to_string()),
    }
}

/// The byte offset of a position that counts lines and characters from 1.
fn offset(text: &str, Position { line, col }: Position) -> usize {
    let line_start = if line <= 1 {
        0
    } else {
        text.match_indices('\n').nth(line - 2).map_or(text.len(), |(newline, _)| newline + 1)
    };
    text[line_start..].char_indices().nth(col - 1).map_or(text.len(), |(at, _)| line_start + at)
}

/// The name, number or sign at `at`.
fn token(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let words = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    at..at + if words > 0 { words } else { rest.chars().next().map_or(0, char::len_utf8) }
}

fn describe(text: &str, token: Range<usize>) -> String {
    match &text[token] {
        "" => "the end of the file".to_owned(),
        "\"" => "a text".to_owned(),
        word if word.chars().count() > 40 => format!("`{}…`", word.chars().take(40).collect::<String>()),
        word => format!("`{}`", word.escape_debug()),
    }
}

fn not_whole(text: &str, at: usize) -> (Range<usize>, String) {
    let number = number_around(text, at);
    let message = format!("expected a whole number, found {}", &text[number.clone()]);
    (number, message)
}

/// The number around `at`, with its sign.
fn number_around(text: &str, at: usize) -> Range<usize> {
    let before = text[..at].char_indices().rev().find(|&(_, c)| !is_word(c));
    before.map_or(0, |(last, c)| last + c.len_utf8())..token(text, at).end
}

/// Whether a whole number was read that goes on with a fraction or an exponent.
fn is_fraction(text: &str, at: usize) -> bool {
    text[..at].ends_with(|c: char| c.is_ascii_digit()) && text[at..].starts_with(['.', 'e', 'E'])
}

/// What the group around `at` is called in messages.
fn place(outline: &Outline, at: usize) -> String {
    match outline.path_at(at) {
        Some(path) => format!("`{path}`"),
        None => "the preset".to_owned(),
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
