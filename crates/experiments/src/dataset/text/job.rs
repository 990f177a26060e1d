//! A job of tokenizing text.

use valleyscope_engine::quantity::ValidationFraction;

use super::plan::TokenPlan;
use super::sources::{CharacterSet, Scanned, byte_of_character, scan};
use super::tokenizer::Alphabet;
use super::{SourceFile, Split, TextError, TextFile, Tokenizer, TokenizerKind};

/// The default fraction of a text for validation, as in nanoGPT.
pub const VALIDATION_FRACTION: f64 = 0.1;

/// The fewest characters of each part: with fewer there is not even one sequence of 64 tokens, the shortest context of
/// the built-in presets, and the token after it.
const SHORTEST_PART: u64 = 65;

/// A text that has been read once, and its division into parts.
pub(super) struct PreparationJob<'a> {
    pub files: &'a [TextFile],
    pub ranges: Vec<Range>,
    pub plan: TokenPlan,
}

/// Bytes of a file that belong to one split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub file: usize,
    pub start: u64,
    pub end: u64,
    pub split: Split,
    /// Whether another document of the same split precedes the range.
    pub follows: bool,
}

impl PreparationJob<'_> {
    /// Reads the files. Of all characters taken together, the first are for training, and the last for validation.
    pub(super) fn new<'a>(
        files: &'a [TextFile],
        kind: TokenizerKind,
        fraction: ValidationFraction,
        seen: &mut dyn FnMut(u64) -> Result<(), TextError>,
    ) -> Result<PreparationJob<'a>, TextError> {
        let mut occurring = (kind == TokenizerKind::Char).then(CharacterSet::none);
        let scanned = files.iter().map(|file| scan(&file.path, occurring.as_mut(), seen));
        let scanned = scanned.collect::<Result<Vec<_>, _>>()?;
        let ranges = ranges(files, &scanned, fraction)?;
        let tokenizer = match occurring.map(|occurring| occurring.characters()) {
            None => Tokenizer::Gpt2,
            Some(characters) => {
                let found = format!("{} different ones", characters.len());
                let expected = format!("text of at most {} different characters", Alphabet::MOST);
                let remedy = "use the tokenizer gpt2";
                let unusable = || TextError::Unusable { expected, found, remedy };
                Tokenizer::Characters(Alphabet::new(characters).ok_or_else(unusable)?)
            }
        };
        let source = |(file, scanned): (&TextFile, &Scanned)| SourceFile {
            name: file.name.clone(),
            bytes: scanned.bytes,
            sha256: scanned.sha256.clone(),
        };
        let sources = files.iter().zip(&scanned).map(source).collect();
        let parts = ranges.iter().map(|range| range.start..range.end).collect();
        Ok(PreparationJob { files, ranges, plan: TokenPlan { tokenizer, fraction, sources, parts } })
    }
}

fn ranges(files: &[TextFile], scanned: &[Scanned], fraction: ValidationFraction) -> Result<Vec<Range>, TextError> {
    let characters: u64 = scanned.iter().map(|file| file.characters).sum();
    let mut to_learn_from = (characters as f64 * (1.0 - fraction.get())) as u64;
    let to_validate_with = characters - to_learn_from;
    if to_learn_from.min(to_validate_with) < SHORTEST_PART {
        return Err(TextError::Unusable {
            expected: format!("text of at least {SHORTEST_PART} characters for training and as many for validation"),
            found: match files {
                [file] => format!("{to_learn_from} and {to_validate_with} in {}", file.path.display()),
                _ => format!("{to_learn_from} and {to_validate_with} in {} files", files.len()),
            },
            remedy: "take more text, or another part of it for validation",
        });
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (number, (file, scanned)) in files.iter().zip(scanned).enumerate() {
        let border = match to_learn_from {
            0 => scanned.start,
            all if all >= scanned.characters => scanned.bytes,
            some => byte_of_character(&file.path, some + u64::from(scanned.start > 0))?,
        };
        to_learn_from = to_learn_from.saturating_sub(scanned.characters);
        for (split, start, end) in [(Split::Train, scanned.start, border), (Split::Validation, border, scanned.bytes)] {
            if start < end {
                let follows = ranges.last().is_some_and(|last| last.split == split);
                ranges.push(Range { file: number, start, end, split, follows });
            }
        }
    }
    Ok(ranges)
}
