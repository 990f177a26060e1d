//! Setting single fields of a preset by their path, as on the command line.

use ron::error::Error as RonError;
use valleyscope_engine::identifier::folded;
use valleyscope_engine::landscape::LandscapeKind;
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::{RuleKind, TypedRule};

use super::explain::{is_noise, shortened};
use super::outline::Outline;
use super::{Preset, PresetError, check_preset, read};

impl Preset {
    /// Returns the preset with the field at `path` set to `value`.
    ///
    /// The syntax of a value depends on the field. A text field takes the value as it is, without quotation marks. Any
    /// other field takes a value as written in a preset's file, with two exceptions: names of choices need not have the
    /// file's capitals (`bfloat16`, `go_on` and `go-on` are accepted), and a rule that takes the place of another keeps
    /// what the value does not give and both rules have (`RuleSpec::in_place_of`), also its learning rate and
    /// schedule. A number for the noise is its σ, of the same kind as before, and the name of a kind alone keeps σ.
    ///
    /// A path is that in the file, like `runs[0].optimizer.gamma`. Its beginning may be omitted: `optimizer.gamma`
    /// means all runs of the preset, or of a grid's base, and `noise` that of the first simulation, or of the sweep.
    ///
    /// # Errors
    ///
    /// Returns [`PresetError::CannotSet`], which names the setting, what was expected and what was found: unknown
    /// fields, and values that do not fit.
    pub fn with(&self, path: &str, value: &str) -> Result<Preset, PresetError> {
        self.with_all([(path, value)])
    }

    /// Returns the preset with several fields set, which must fit each other when all are set.
    pub fn with_all<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Result<Preset, PresetError> {
        let settings: Vec<(&str, &str)> = settings.into_iter().collect();
        let preset = settings.iter().try_fold(self.clone(), |preset, (path, value)| preset.put(path, value))?;
        let mut changed = Preset::parse(&preset.to_ron(), "").map_err(|error| {
            let named = self.at_fault(&settings, &preset).into_iter().map(|(path, value)| format!("{path}={value}"));
            cannot_set(&shortened(&named.collect::<Vec<_>>().join(", ")), error)
        })?;
        changed.forget_false_names(self);
        Ok(changed)
    }

    /// Returns those of the settings that cause the fault of `preset`, which has them all: without one of them the
    /// preset has no fault, or another. Returns all if that identifies none.
    fn at_fault<'s>(&self, settings: &[(&'s str, &'s str)], preset: &Preset) -> Vec<(&'s str, &'s str)> {
        let fault = check_preset(preset).err();
        let is_at_fault = |left_out: &usize| {
            let others = settings.iter().enumerate().filter(|(index, _)| index != left_out);
            let without = others
                .map(|(_, setting)| setting)
                .try_fold(self.clone(), |preset, (path, value)| preset.put(path, value));
            without.is_ok_and(|without| check_preset(&without).err() != fault)
        };
        let at_fault: Vec<_> = (0..settings.len()).filter(is_at_fault).map(|index| settings[index]).collect();
        if at_fault.is_empty() { settings.to_vec() } else { at_fault }
    }

    fn put(&self, path: &str, value: &str) -> Result<Preset, PresetError> {
        let origin = shortened(&format!("{path}={value}")).into_owned();
        let cannot = |reason| PresetError::CannotSet { assignment: origin.clone(), reason };
        let field = Field { preset: self, paths: self.paths(path) };
        let text = match field.takes_text().map_err(cannot)? {
            true => field.with_text(value),
            false => field.with_value(value),
        };
        read::parse_fields(&text.map_err(cannot)?, &origin).map_err(|error| cannot_set(&origin, error))
    }

    /// Returns the paths in the file for a path on the command line.
    fn paths(&self, path: &str) -> Vec<String> {
        let path = &path.split('.').map(read::full_name).collect::<Vec<_>>().join(".");
        let first = &path[..path.find(['.', '[']).unwrap_or(path.len())];
        let of_file: &[&str] = match self {
            Preset::Landscape(_) => &["simulations", "view", "lesson"],
            Preset::Sweep(_) => &["sweep"],
            Preset::Grid(_) => &["base", "vary", "seeds"],
            _ => &["runs"],
        };
        if of_file.contains(&first) || ["version", "title", "description"].contains(&first) {
            return vec![path.clone()];
        }
        self.places().iter().map(|place| format!("{place}.{path}")).collect()
    }

    /// Returns the paths of the parts of the file that have the settings: of the simulation, the sweep or the runs.
    pub(crate) fn places(&self) -> Vec<String> {
        let start = if let Preset::Grid(_) = self { "base." } else { "" };
        match (self, self.workload()) {
            (_, Some(workload)) => workload.places().iter().map(|place| format!("{start}{place}")).collect(),
            (Preset::Landscape(_), None) => vec!["simulations[0].spec".to_owned()],
            (_, None) => vec!["sweep".to_owned()],
        }
    }

    /// Returns the command that runs a preset of this kind without a window, after `valleyscope`.
    pub fn command(&self, name: &str) -> String {
        match self {
            Preset::Landscape(_) => format!("simulate {name}"),
            Preset::Sweep(_) => format!("sweep {name} --out FOLDER"),
            _ => format!("train {name}"),
        }
    }
}

/// The target of a setting: a field, or the same field of several runs.
struct Field<'p> {
    preset: &'p Preset,
    paths: Vec<String>,
}

impl Field<'_> {
    /// Returns the preset's text with the value as written in a file, or the reason why it cannot be placed.
    fn text_with(&self, value: &str) -> Result<String, String> {
        self.paths.iter().try_fold(self.preset.to_ron(), |text, path| {
            let completed = completed_rule(&text, path, value).or_else(|| completed_noise(&text, path, value));
            let value = completed.unwrap_or_else(|| value.to_owned());
            replace(text, path, &value)
        })
    }

    /// Returns whether a text is expected, which the reader reports for a value that is not a text.
    fn takes_text(&self) -> Result<bool, String> {
        Ok(matches!(read::complaint(&self.text_with("()")?), Some((_, RonError::ExpectedString))))
    }

    /// Returns the preset's text with this text as the value. A value that is already in quotation marks, and `None`
    /// for an optional text, are taken as in a file.
    fn with_text(&self, value: &str) -> Result<String, String> {
        let as_in_file = self.text_with(value.trim()).ok().filter(|text| read::complaint(text).is_none());
        as_in_file.map_or_else(|| self.text_with(&ron::to_string(value).expect("a text can be expressed")), Ok)
    }

    /// Returns the preset's text with a value whose names are corrected one after another as the reader refuses them.
    fn with_value(&self, value: &str) -> Result<String, String> {
        let is_word = |value: &str| {
            value.starts_with(|c: char| c.is_ascii_alphabetic())
                && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        let mut value = read::with_full_names(&with_key(value.trim())).0.into_owned();
        for _ in 0..MOST_NAMES {
            let text = self.text_with(&value)?;
            // The reader reaches the first path first.
            let start = Outline::of(&text).exact(&self.paths[0]).map_or(0, |span| span.start);
            let Some((span, complaint)) = read::complaint(&text) else { break };
            let (Some(from), Some(to)) = (span.start.checked_sub(start), span.end.checked_sub(start)) else { break };
            match complaint {
                RonError::NoSuchEnumVariant { expected, found, .. }
                    if value.get(from..to).is_some_and(|here| here.replace('-', "_") == found) =>
                {
                    let Some(name) = expected.iter().find(|name| folded(name) == folded(&found)) else { break };
                    value.replace_range(from..to, name);
                }
                RonError::ExpectedStructLike if is_word(&value) => value.push_str("()"),
                _ => break,
            }
        }
        self.text_with(&value)
    }
}

/// The largest number of names in a value that are written differently from a file.
const MOST_NAMES: usize = 32;

/// Returns a value with the name in presets of the rule, the landscape or the noise whose name it begins with.
fn with_key(value: &str) -> String {
    let (name, fields) = value.split_at(value.find('(').unwrap_or(value.len()));
    let rule = RuleKind::named(name).map(RuleKind::key);
    let landscape = || LandscapeKind::named(name).map(LandscapeKind::key);
    let noise = || NoiseKind::named(name).map(NoiseKind::key);
    if let Some(key) = rule.or_else(landscape).or_else(noise) {
        return format!("{key}{fields}");
    }
    match RuleKind::shown_as(name) {
        Some(rule) if fields.is_empty() => format!("{}(mask: Cautious)", rule.key()),
        Some(rule) => format!("{}(mask: Cautious, {}", rule.key(), &fields[1..]),
        None => value.to_owned(),
    }
}

/// Completes a rule with the fields that it omits and has in common with the rule at the path; none if either is not a
/// rule. Positions within the value do not change.
fn completed_rule(text: &str, path: &str, value: &str) -> Option<String> {
    let before = &text[Outline::of(text).exact(path)?];
    // A choice can have the name of a rule, such as Shampoo's grafting `Adam`.
    if !before.contains('(') {
        return None;
    }
    let (old, rule) = (rule_kind(before)?, rule_kind(value)?);
    let of_rate = ["learning_rate", "schedule"];
    let both = rule.info().hyperparameters.iter().filter(|of| {
        let same = old.info().hyperparameters.iter().find(|old| of.means_the_same_as(old));
        let is_allowed = |value: &str| value.parse().ok().is_none_or(|number| of.checked(number).is_ok());
        same.is_some() && field(before, of.key).is_some_and(is_allowed)
    });
    let keys = of_rate.into_iter().chain(both.map(|of| of.key)).filter(|key| field(value, key).is_none());
    let kept: Vec<String> = keys.filter_map(|key| Some(format!("{key}: {}", field(before, key)?))).collect();
    let value = value.trim_end();
    if !value.contains('(') {
        return Some(format!("{}({})", rule.key(), kept.join(", ")));
    }
    let given = value.strip_suffix(')')?;
    let is_first = given.trim_end().ends_with(['(', ',']);
    let comma = if is_first || kept.is_empty() { "" } else { ", " };
    Some(format!("{given}{comma}{})", kept.join(", ")))
}

/// Completes a noise with what it omits of the noise at the path; none if either is not a noise.
fn completed_noise(text: &str, path: &str, value: &str) -> Option<String> {
    let before: NoiseSpec = ron::from_str(&text[Outline::of(text).exact(path).filter(|_| is_noise(path))?]).ok()?;
    before.changed_by(value)
}

/// Returns the kind of the rule that is written in this value: its name alone, or with fields.
fn rule_kind(value: &str) -> Option<RuleKind> {
    let value = value.trim();
    let name = &value[..value.find('(').unwrap_or(value.len())];
    if folded(name) == folded(RuleKind::TYPED) {
        let [name, text] = ["name", "text"].map(|key| ron::from_str::<String>(field(value, key)?).ok());
        return Some(RuleKind::Typed(TypedRule::new(&name?, &text?).ok()?));
    }
    RuleKind::named(name)
}

/// Returns the value of a field of a value.
fn field<'t>(value: &'t str, key: &str) -> Option<&'t str> {
    Some(&value[Outline::of(value).exact(key)?])
}

/// Returns the error without its position in the text, which a user who sets a field does not see.
fn cannot_set(assignment: &str, error: PresetError) -> PresetError {
    match error {
        PresetError::Content(fault) => {
            PresetError::CannotSet { assignment: assignment.to_owned(), reason: fault.message }
        }
        other => other,
    }
}

/// Returns the text with another value at a path, or the reason why that is not possible. A missing field is added to
/// the enclosing group.
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
    // A value with several fields in it would change others too.
    match Outline::of(&text).exact(path) {
        Some(span) if text[span.clone()] == *value.trim() => Ok(text),
        _ => Err(format!("expected a single value for `{}`", shortened(path))),
    }
}
