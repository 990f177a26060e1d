//! Parsing presets: limits, the reader, and the errors that name the position in the text.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use ron::error::Error as RonError;
use ron::extensions::Extensions;
use valleyscope_engine::landscape::LandscapeKind;
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_engine::terminal_escape::{is_unseen, visible};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::explain::{explain, list, span_of};
use super::outline::{DEEPEST, Lexer, Outline, Token, Walk};
use super::{FormatVersion, Preset, check_preset};

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

/// The short names of settings, with the names that presets are written with.
pub const SHORT_NAMES: [(&str, &str); 1] = [("lr", LEARNING_RATE.key)];

/// Returns the name that presets are written with, of a setting that may be named by its short name.
pub fn full_name(name: &str) -> &str {
    SHORT_NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// Returns the text with the full names of settings, and the ranges in it of the letters that were added.
pub(super) fn with_full_names(text: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    let mut tokens = Lexer::new(text).peekable();
    let (mut full, mut added, mut copied) = (String::new(), Vec::new(), 0);
    while let Some((span, token)) = tokens.next() {
        let word = &text[span.clone()];
        let name = match tokens.peek() {
            Some((_, Token::Colon)) => full_name(word),
            // What varies along an axis is written so.
            _ if word == "lr" => "LearningRate",
            _ => word,
        };
        if token == Token::Word && name != word {
            full += &text[copied..span.start];
            full += name;
            added.push(full.len() - (name.len() - word.len())..full.len());
            copied = span.end;
        }
    }
    if added.is_empty() {
        return (Cow::Borrowed(text), added);
    }
    full += &text[copied..];
    (Cow::Owned(full), added)
}

/// Returns the fault at a span of the text with full names, at its place in `text`.
fn fault(origin: &str, text: &str, added: &[Range<usize>], span: Range<usize>, message: String) -> PresetError {
    let place =
        |at: usize| at - added.iter().map(|added| at.clamp(added.start, added.end) - added.start).sum::<usize>();
    PresetError::Content(Box::new(Fault::new(origin, text, place(span.start)..place(span.end), message)))
}

/// Parses and validates the preset in `text`; errors name `origin` as the file.
pub(super) fn parse(text: &str, origin: &str) -> Result<Preset, PresetError> {
    let preset = parse_fields(text, origin)?;
    let text = without_mark(text);
    check_preset(&preset).map_err(|broken| {
        let (full, added) = with_full_names(text);
        let span = Outline::of(&full).value(&broken.path).unwrap_or(0..0);
        fault(origin, text, &added, span, broken.to_string())
    })?;
    Ok(preset)
}

/// Parses the preset in `text` without checking that the fields fit each other.
pub(super) fn parse_fields(text: &str, origin: &str) -> Result<Preset, PresetError> {
    let text = without_mark(text);
    if let Some((span, message)) = exceeded(text) {
        return Err(fault(origin, text, &[], span, message));
    }
    let (full, added) = with_full_names(text);
    format().from_str(&with_readable_names(&full)).map_err(|error| {
        let outline = Outline::of(&full);
        let (span, message) = wrong_kind(&full, outline)
            .or_else(|| wrong_version(&full, outline))
            .unwrap_or_else(|| explain(&full, outline, &error));
        fault(origin, text, &added, span, message)
    })
}

/// Returns the first error of the RON reader in a text, and its position; none in a text that exceeds the limits of a
/// preset.
pub(super) fn complaint(text: &str) -> Option<(Range<usize>, RonError)> {
    if exceeded(text).is_some() {
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
    let kinds = [&["Landscape", "Sweep"], Preset::TRAININGS].concat();
    if kinds.contains(&kind) || kind == "MnistScan" {
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

/// The largest number of bytes of a line.
const LONGEST_LINE: usize = 1 << 20;
/// The largest number of bytes of a name.
const LONGEST_NAME: usize = 100;
/// The largest number of digits of a number. The smallest number distinct from 0 has 350 with all its zeros.
const LONGEST_NUMBER: usize = 1000;
/// The largest number of bytes of a text in quotation marks.
const LONGEST_TEXT: usize = 1 << 16;
/// The largest number of elements of a list, except for the changes of a recorded session.
const MOST_ELEMENTS: usize = 10_000;

/// Returns the first text that exceeds a limit, with its message.
pub(super) fn exceeded(text: &str) -> Option<(Range<usize>, String)> {
    long_line(text).or_else(|| {
        let mut walk = Walk::new(text);
        while let Some(step) = walk.next() {
            let length = step.span.len();
            let message = match step.token {
                Token::Word if length > LONGEST_NAME => too_long("a name", length, LONGEST_NAME),
                Token::Number if length > LONGEST_NUMBER => too_long("a number", length, LONGEST_NUMBER),
                Token::Text if length > LONGEST_TEXT => too_long("a text", length, LONGEST_TEXT),
                Token::Open(_) if walk.depth() > DEEPEST => {
                    format!("brackets are nested deeper than in any preset, which is {DEEPEST} at most")
                }
                Token::Comma if walk.elements().is_some_and(|elements| elements > MOST_ELEMENTS) => {
                    let path = walk.path(step.span.start).unwrap_or_default();
                    if path.starts_with("simulations[") && path.ends_with(".changes") {
                        continue;
                    }
                    format!("`{path}` has more than {MOST_ELEMENTS} elements, which is the most of a list")
                }
                _ => continue,
            };
            return Some((step.span, message));
        }
        None
    })
}

fn long_line(text: &str) -> Option<(Range<usize>, String)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.len() > LONGEST_LINE {
            return Some((start..start, too_long("a line", line.len(), LONGEST_LINE)));
        }
        start += line.len();
    }
    None
}

fn too_long(what: &str, found: usize, most: usize) -> String {
    format!("expected {what} of at most {most} bytes, found {found}")
}

/// The reason why a preset could not be read, found or saved.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    #[error("cannot read the preset {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is a folder; a preset is a file, usually with the extension .ron", path.display())]
    Folder { path: PathBuf },
    #[error("{} is longer than {} MiB, the limit for presets", path.display(), Preset::LONGEST >> 20)]
    TooLarge { path: PathBuf },
    #[error("{origin} is not a text file in UTF-8: {what}")]
    NotText { origin: String, what: String },
    /// A fault in the text.
    #[error(transparent)]
    Content(Box<Fault>),
    /// A single field that cannot be set.
    #[error(
        "{assignment}: {reason}; `valleyscope presets show NAME` prints a preset whose comments explain the fields"
    )]
    CannotSet { assignment: String, reason: String },
    /// A fault in a preset that is about to be written.
    #[error("the preset cannot be saved: {0}")]
    Invalid(String),
    #[error("there is no preset named `{name}`{}; `valleyscope presets list` shows all", did_you_mean(closest))]
    NotFound { name: String, closest: Vec<String> },
    #[error("`{name}` cannot be the name of a preset: {reason}")]
    BadName { name: String, reason: &'static str },
    #[error("{} exists already; choose another name, or agree to replace it", path.display())]
    Exists { path: PathBuf },
    #[error(
        "cannot write {}: {source}; save the preset in another folder, or make this one writable",
        path.display()
    )]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the folder of your presets, {}: {source}", folder.display())]
    ReadFolder { folder: PathBuf, source: io::Error },
}

fn did_you_mean(closest: &[String]) -> String {
    match closest {
        [] => String::new(),
        [one] => format!(" (did you mean `{one}`?)"),
        [several @ .., last] => format!(" (did you mean `{}` or `{last}`?)", several.join("`, `")),
    }
}

/// A fault and its position. Displayed as by a compiler: position, message, and the line with a mark.
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
