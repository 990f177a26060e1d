//! Error messages of the RON reader, in words that name the text in the file.

use std::borrow::Cow;
use std::ops::Range;

use ron::error::{Error as RonError, Position, SpannedError};

use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind};
use valleyscope_engine::optimizer::TypedRule;
use valleyscope_engine::sweep::Quantity;
use valleyscope_engine::typed_text::TypedError;

use super::FormatVersion;
use super::outline::Outline;
use super::outline::is_word;

/// Explains an error of the RON reader in plain words, and finds its exact position.
pub(super) fn explain(text: &str, outline: Outline<'_>, error: &SpannedError) -> (Range<usize>, String) {
    let Range { start, end } = span_of(text, error);
    let here = token(text, end);
    if let Some(found) = of_names(text, outline, &error.code, start..end) {
        return found;
    }
    if let RonError::Message(message) = &error.code
        && let Some(span) = typed_mistake(text, outline, start, message)
    {
        return (span, message.clone());
    }
    match &error.code {
        RonError::Message(message) => match noise_around(outline, start) {
            Some(noise) if message.starts_with("expected") => {
                let is_text = text[noise.clone()].starts_with('"');
                let found = describe(text, if is_text { noise.start..noise.start + 1 } else { noise.clone() });
                (noise, format!("{message}, found {found}"))
            }
            noise => (noise.unwrap_or(start..end), message.clone()),
        },
        RonError::Eof if outline.kind().is_none() => (
            end..end,
            format!("the file holds no preset; expected `Landscape(version: {}, …)`", FormatVersion::CURRENT),
        ),
        RonError::Eof => (end..end, "the file ends too early; a closing bracket is missing".to_owned()),
        RonError::IntegerOutOfBounds => {
            let number = number_around(text, start);
            let message = format!(
                "`{}` must be a whole number that is neither negative nor too large, found {}",
                outline.path_at(number.start).as_deref().unwrap_or("number"),
                shortened(&text[number.clone()])
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
            let count = expected.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty());
            let count = count.map_or("another number of".to_owned(), str::to_owned);
            // Of a quantity that varies along an axis.
            let example = match outline.path_at(start).is_some_and(|path| path.ends_with(".of")) {
                true => ": a hyperparameter with the ids of its optimizers, such as `Of(Beta2, [0])`",
                false => "",
            };
            (here, format!("expected {count} elements, found {found}{example}"))
        }
        RonError::ExpectedStringEnd => (start..start, "this text has no closing quotation mark".to_owned()),
        RonError::UnclosedBlockComment => {
            let start = outline.open_comment().unwrap_or(start);
            (start..start, "this comment has no closing `*/`".to_owned())
        }
        RonError::InvalidEscape(_) => {
            let hint = "expected an escape such as `\\n`, `\\\"` or `\\u{3b2}`; write a backslash itself as `\\\\`";
            (start..end, hint.to_owned())
        }
        // Some of the reader's errors are about a name that it has already passed.
        RonError::ExpectedDifferentStructName { .. } => {
            let name = token(text, start);
            (name.clone(), format!("expected `(`, found {}", describe(text, name)))
        }
        other => {
            let found = describe(text, here.clone());
            (here, format!("expected {}, found {found}", wanted(other)))
        }
    }
}

/// Returns the bytes of the text where the RON reader found an error.
pub(super) fn span_of(text: &str, error: &SpannedError) -> Range<usize> {
    let start = offset(text, error.span.start);
    start..offset(text, error.span.end).max(start)
}

/// Returns the message for an unknown name of a field or of a variant.
fn of_names(
    text: &str,
    outline: Outline<'_>,
    error: &RonError,
    Range { start, end }: Range<usize>,
) -> Option<(Range<usize>, String)> {
    Some(match error {
        RonError::NoSuchStructField { expected, found, .. } => {
            let location = location(outline, start);
            // The fields of a typed rule or landscape are checked after all have been read.
            let is_here = text.get(start..end) == Some(found);
            let field = outline.path_at(start.saturating_sub(1)).filter(|_| !is_here);
            let field = field.and_then(|path| own_or_outer(&path, |path| outline.exact(&format!("{path}.{found}"))));
            let span = field.and_then(|value| Some(text[..value.start].rfind(&**found)?..value.start));
            let span = span.map_or(start..end, |span| span.start..span.start + found.len());
            (span, format!("{location} has no field `{}`; its fields are {}", shortened(found), list(expected)))
        }
        RonError::MissingStructField { field, .. } => {
            (token(text, end), format!("the field `{field}` is missing in {}", location(outline, end)))
        }
        RonError::DuplicateStructField { field, .. } => {
            (start..end, format!("the field `{field}` is given twice in {}", location(outline, start)))
        }
        RonError::NoSuchEnumVariant { expected, found, .. } => {
            // A name that differs from another only in capitals means the same.
            let mut names: Vec<&str> = expected.to_vec();
            names.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
            let example = match hyperparameter_axis(&names, found) {
                Some(axis) => format!("; write `{axis}` with the ids of its optimizers"),
                None => String::new(),
            };
            // A name with a hyphen was read with an underscore.
            let found = text.get(start..end).filter(|here| here.replace('-', "_") == *found).unwrap_or(found);
            (start..end, format!("expected one of {}, found `{}`{example}", list(&names), shortened(found)))
        }
        _ => return None,
    })
}

/// Returns the axis of a sweep whose hyperparameter was named without its optimizers.
fn hyperparameter_axis(variants: &[&str], found: &str) -> Option<String> {
    let is_axis = ["Landscape", "Of"].iter().all(|variant| variants.contains(variant));
    let axis = format!("Of({found}, [0])");
    (is_axis && ron::from_str::<Quantity>(&axis).is_ok()).then_some(axis)
}

/// Returns the position of the mistake in a typed rule or landscape whose fields end before `end`. The reader reads all
/// of its fields before it reports a mistake.
fn typed_mistake(text: &str, outline: Outline<'_>, end: usize, message: &str) -> Option<Range<usize>> {
    own_or_outer(&outline.path_at(end.saturating_sub(1))?, |path| {
        let field = |key: &str| outline.exact(&format!("{path}.{key}"));
        let literal = field("text")?;
        let read = |span: Range<usize>| ron::from_str::<String>(&text[span]).ok();
        let (typed, name) = (read(literal.clone())?, field("name"));
        let named = name.clone().and_then(read);
        let keys: Result<Vec<&str>, TypedError> = match text[outline.exact(path)?].starts_with(LandscapeKind::FORMULA) {
            true => LandscapeFormula::new(named.as_deref().unwrap_or(LandscapeFormula::UNNAMED), &typed)
                .map(|formula| formula.info().parameters.iter().map(|of| of.key).collect()),
            false => TypedRule::new(&named?, &typed)
                .map(|rule| rule.info().hyperparameters.iter().map(|of| of.key).collect()),
        };
        match keys {
            // The message names the parameter whose value is wrong.
            Ok(keys) => keys.into_iter().filter(|key| is_named(message, key)).find_map(field),
            Err(error) if error.to_string() != message => None,
            Err(TypedError::Text { mistake, .. }) => {
                let in_file = |at| literal.start + in_literal(&text[literal.clone()], at);
                Some(in_file(mistake.range.start)..in_file(mistake.range.end))
            }
            Err(_) => name,
        }
    })
}

/// Returns whether a word is in a message.
fn is_named(message: &str, word: &str) -> bool {
    message.split(|c: char| !is_word(c)).any(|part| part == word)
}

/// Returns the first result for a path or for one of those that enclose it, from the innermost.
fn own_or_outer<T>(path: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
    let outer = std::iter::successors(Some(path), |path| path.rfind(['.', '[']).map(|end| &path[..end]));
    outer.into_iter().find_map(find)
}

/// Returns the offset in a text literal of RON of the byte `at` of the text that it stands for.
fn in_literal(literal: &str, at: usize) -> usize {
    let open = literal.find('"').map_or(0, |quote| quote + 1);
    if literal.starts_with('r') {
        return (open + at).min(literal.len());
    }
    let (mut offset, mut decoded) = (open, 0);
    while decoded < at && offset < literal.len() {
        let rest = &literal[offset..];
        let length = match rest.strip_prefix('\\').and_then(|escape| escape.chars().next()) {
            None => rest.chars().next().map_or(1, char::len_utf8),
            Some('x') => 4,
            Some('u') => rest.find('}').map_or(2, |end| end + 1),
            Some(other) => 1 + other.len_utf8(),
        };
        let written = rest.get(..length).unwrap_or(rest);
        decoded += match written.starts_with('\\') {
            true => ron::from_str::<String>(&format!("\"{written}\"")).map_or(1, |text| text.len()),
            false => written.len(),
        };
        offset += written.len();
    }
    offset
}

/// Returns the text that the RON reader expected, as written in a preset.
fn wanted(error: &RonError) -> &'static str {
    match error {
        RonError::TrailingCharacters => "the end of the file after the preset",
        RonError::ExpectedComma => "`,` or the closing bracket",
        RonError::ExpectedFloat | RonError::FloatUnderscore => "a number",
        RonError::ExpectedInteger | RonError::UnderscoreAtBeginning => "a whole number",
        RonError::ExpectedString | RonError::ExpectedByteString | RonError::Utf8Error(_) => "a text in quotation marks",
        RonError::ExpectedBoolean => "`true` or `false`",
        RonError::ExpectedArray => "a list that opens with `[`",
        RonError::ExpectedArrayEnd => "`]`",
        RonError::ExpectedStructLike | RonError::ExpectedNamedStructLike(_) => "`(`",
        RonError::ExpectedStructLikeEnd | RonError::ExpectedOptionEnd => "`)`",
        RonError::ExpectedMap => "`{`",
        RonError::ExpectedMapEnd => "`}`",
        RonError::ExpectedMapColon => "`:` after the field's name",
        RonError::ExpectedIdentifier | RonError::SuggestRawIdentifier(_) | RonError::InvalidIdentifier(_) => "a name",
        RonError::ExpectedAttribute | RonError::ExpectedAttributeEnd | RonError::NoSuchExtension(_) => {
            "the preset itself, or an attribute such as `#![enable(implicit_some)]`"
        }
        RonError::ExceededRecursionLimit => "brackets that are nested less deeply",
        RonError::InvalidValueForType { expected, .. } => kind_of(expected),
        _ => "another value",
    }
}

/// Returns a type's name in the reader's messages, in words.
fn kind_of(expected: &str) -> &'static str {
    match expected {
        "f64" | "f32" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u16" | "u32" | "u64" | "usize" => "a whole number",
        "a boolean" => "`true` or `false`",
        "a string" => "a text in quotation marks",
        _ if expected.starts_with("an array") || expected == "a sequence" => "a list",
        _ if expected.starts_with("struct") || expected.starts_with("tuple") => "fields in `(` and `)`",
        _ => "another value",
    }
}

/// Returns the byte offset of a position that counts lines and characters from 1.
fn offset(text: &str, Position { line, col }: Position) -> usize {
    let line_start = if line <= 1 {
        0
    } else {
        text.match_indices('\n').nth(line - 2).map_or(text.len(), |(newline, _)| newline + 1)
    };
    text[line_start..].char_indices().nth(col - 1).map_or(text.len(), |(at, _)| line_start + at)
}

/// Returns the name, number or sign at `at`.
fn token(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let words = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    at..at + if words > 0 { words } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// Returns the noise that the reader has found a fault in. It reads a noise as a whole, and stops at its end.
fn noise_around(outline: Outline<'_>, end: usize) -> Option<Range<usize>> {
    let path = outline.path_at(end.saturating_sub(1))?;
    let field = path.find("noise").map(|at| &path[..at + "noise".len()])?;
    let span = outline.exact(field)?;
    is_noise(field).then_some(span)
}

/// Returns whether the field at a path is the noise of a simulation or of a sweep.
pub(super) fn is_noise(path: &str) -> bool {
    ["spec.noise", "sweep.noise"].iter().any(|noise| path.ends_with(noise))
}

fn describe(text: &str, token: Range<usize>) -> String {
    match &text[token] {
        "" => "the end of the file".to_owned(),
        "\"" => "a text".to_owned(),
        word => format!("`{}`", shortened(word).escape_debug()),
    }
}

/// Returns the word, shortened where it is long.
pub(super) fn shortened(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(60) {
        Some((end, _)) => Cow::Owned(format!("{}…", &word[..end])),
        None => Cow::Borrowed(word),
    }
}

fn not_whole(text: &str, at: usize) -> (Range<usize>, String) {
    let number = number_around(text, at);
    let message = format!("expected a whole number, found {}", shortened(&text[number.clone()]));
    (number, message)
}

/// Returns the number around `at`, with its sign.
fn number_around(text: &str, at: usize) -> Range<usize> {
    let before = text[..at].char_indices().rev().find(|&(_, c)| !is_word(c));
    before.map_or(0, |(last, c)| last + c.len_utf8())..token(text, at).end
}

/// Returns whether an integer was read that continues with a fraction or an exponent.
fn is_fraction(text: &str, at: usize) -> bool {
    text[..at].ends_with(|c: char| c.is_ascii_digit()) && text[at..].starts_with(['.', 'e', 'E'])
}

/// Returns the name of the group around `at` in messages.
fn location(outline: Outline<'_>, at: usize) -> String {
    match outline.path_at(at) {
        Some(path) => format!("`{path}`"),
        None => "the preset".to_owned(),
    }
}

pub(super) fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
