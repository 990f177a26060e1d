//! Single fields of a preset, set by their path as on the command line.

use super::explain::shortened;
use super::outline::Outline;
use super::{Preset, PresetError, read};

impl Preset {
    /// The preset with the field at `path` set to `value`, which is written as in a preset's file. Texts need no
    /// quotation marks, an optimizer's name stands for the optimizer with its defaults, and names of choices need not have
    /// the file's capitals: `bfloat16`, `go_on` and `go-on` do too.
    ///
    /// A path is that in the file, like `runs[0].optimizer.gamma`. Trainings may leave out its beginning:
    /// `optimizer.gamma` means all runs of the preset, or its scan.
    ///
    /// # Errors
    ///
    /// [`PresetError::CannotSet`], which names the setting: unknown fields, and values that do not fit.
    pub fn with(&self, path: &str, value: &str) -> Result<Preset, PresetError> {
        self.with_all([(path, value)])
    }

    /// The same for several fields, which must fit each other when all are set.
    pub fn with_all<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Result<Preset, PresetError> {
        let (mut preset, mut origin) = (self.clone(), Vec::new());
        for (path, value) in settings {
            preset = preset.put(path, value)?;
            origin.push(format!("{path}={value}"));
        }
        let origin = shortened(&origin.join(", ")).into_owned();
        Preset::parse(&preset.to_ron(), &origin).map_err(|error| cannot_set(&origin, error))
    }

    fn put(&self, path: &str, value: &str) -> Result<Preset, PresetError> {
        let first = &path[..path.find(['.', '[']).unwrap_or(path.len())];
        let whole = ["title", "description", "runs", "scan"].contains(&first);
        let paths = match self.workload() {
            Some(workload) if !whole => workload.places().iter().map(|place| format!("{place}.{path}")).collect(),
            _ => vec![path.to_owned()],
        };
        let origin = shortened(&format!("{path}={value}")).into_owned();
        let written = |value: &str| {
            let mut text = self.to_ron();
            for path in &paths {
                let cannot = |reason| PresetError::CannotSet { assignment: origin.clone(), reason };
                text = replace(text, path, value).map_err(cannot)?;
            }
            Ok(text)
        };
        let set = |value: &str| {
            let mut value = underscored(value);
            for _ in 0..MOST_NAMES {
                let text = written(&value)?;
                let Some(name) = read::other_spelling(&text) else { break };
                // The first of the places is the first that is read.
                let start = Outline::of(&text).exact(&paths[0]).map_or(0, |span| span.start);
                match name.span.start.checked_sub(start).zip(name.span.end.checked_sub(start)) {
                    Some((from, to)) if to <= value.len() => value.replace_range(from..to, name.real),
                    _ => break,
                }
            }
            read::parse_fields(&written(&value)?, &origin).map_err(|error| cannot_set(&origin, error))
        };
        // An optimizer's name alone takes its defaults.
        let with_defaults = format!("{value}()");
        let quoted = ron::to_string(value).expect("a text can be expressed");
        set(value).or_else(|error| set(&with_defaults).or_else(|_| set(&quoted)).map_err(|_| error))
    }

    /// The command that runs a preset of this kind without a window, after `valleyscope`.
    pub fn command(&self, name: &str) -> String {
        match self {
            Preset::Landscape(_) => format!("simulate {name}"),
            Preset::Sweep(_) => format!("sweep {name} --out FOLDER"),
            _ => format!("train {name}"),
        }
    }
}

/// The most names in a value that are written otherwise than in a file.
const MOST_NAMES: usize = 32;

/// A single word with `_` for each `-`, which no name in a file has; any other value as it is.
fn underscored(value: &str) -> String {
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_word { value.replace('-', "_") } else { value.trim().to_owned() }
}

/// Whoever sets a field has not seen the text that it is set in: only what is wrong is told, and no place.
fn cannot_set(assignment: &str, error: PresetError) -> PresetError {
    match error {
        PresetError::Content(fault) => {
            PresetError::CannotSet { assignment: assignment.to_owned(), reason: fault.message }
        }
        other => other,
    }
}

/// The text with another value at a path; where the field is not written, it is added to what is around it. Else the
/// reason why that is not possible.
fn replace(mut text: String, path: &str, value: &str) -> Result<String, String> {
    let outline = Outline::of(&text);
    if let Some(span) = outline.exact(path) {
        text.replace_range(span, value);
    } else {
        let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
        let around =
            if parent.is_empty() { outline.kind().map(|kind| kind.start..text.len()) } else { outline.exact(parent) };
        let Some(around) = around else { return Err(format!("the preset has no `{}`", shortened(parent))) };
        if field.contains('[') {
            return Err(format!("the preset has no `{}`", shortened(path)));
        }
        let open = text[around.clone()].find('(').map(|open| around.start + open + 1);
        let Some(open) = open else { return Err(format!("`{}` has no fields", shortened(parent))) };
        text.insert_str(open, &format!("{field}: {value}, "));
    }
    // A value that holds more than one would change other fields too.
    match Outline::of(&text).exact(path) {
        Some(span) if text[span.clone()] == *value.trim() => Ok(text),
        _ => Err(format!("expected a single value for `{}`", shortened(path))),
    }
}
