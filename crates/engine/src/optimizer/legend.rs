//! The legend of optimizers that are shown together: the settings in which they differ, and their markers.

use std::collections::HashMap;

use super::{Decay, RatedRule, RuleKind, RuleSpec, Schedule};
use crate::quantity::number_text;
use crate::setting::{LEARNING_RATE, SettingInfo};

/// A setting of an optimizer or a run, as a label that distinguishes it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSetting {
    /// Equal for settings of the same meaning, whatever rules they are of.
    pub meaning: String,
    /// The setting with its value, such as `ω 0.1`; empty where the name of the rule says it.
    pub text: String,
    /// Whether the value is the default. A setting without a default counts as such.
    pub is_usual: bool,
    /// Whether the value is named only if another one differs, such as `no warm-up`.
    pub is_silent: bool,
}

impl ShownSetting {
    /// The meaning of the end of a cosine schedule.
    pub(crate) const SCHEDULE_END: &str = "cosine to";

    pub(crate) fn meaning_of(of: &SettingInfo) -> String {
        format!("{} {}", of.key, of.label)
    }

    pub fn new(meaning: impl Into<String>, text: impl Into<String>) -> ShownSetting {
        ShownSetting { meaning: meaning.into(), text: text.into(), is_usual: true, is_silent: false }
    }

    /// Creates a setting that, if `is_silent`, is the default and is named only if another value differs.
    pub fn silent_if(is_silent: bool, meaning: impl Into<String>, text: impl Into<String>) -> ShownSetting {
        ShownSetting { is_usual: is_silent, is_silent, ..ShownSetting::new(meaning, text) }
    }

    /// Returns the label for a text without other settings; `None` for a silent setting and for an empty label.
    pub fn said(self) -> Option<String> {
        Some(self.text).filter(|text| !self.is_silent && !text.is_empty())
    }

    pub fn learning_rate(rate: f64) -> ShownSetting {
        ShownSetting::new(Self::LEARNING_RATE, format!("{} {}", LEARNING_RATE.symbol, number_text(rate)))
    }

    pub const LEARNING_RATE: &'static str = "learning_rate";
}

/// Lists the labels by which each of these differs from the others: settings that have another value elsewhere, and
/// settings with unusual values that others lack.
pub fn differing(all: &[Vec<ShownSetting>]) -> Vec<Vec<String>> {
    /// The settings of one meaning in all lists. Counting takes linear time, as there can be thousands of runs.
    struct Seen<'s> {
        text: &'s str,
        varies: bool,
        /// The number of those that have it, and the last of them.
        count: usize,
        last: usize,
    }
    let mut seen: HashMap<&str, Seen<'_>> = HashMap::new();
    for (index, setting) in all.iter().enumerate().flat_map(|(index, of)| of.iter().map(move |it| (index, it))) {
        let ShownSetting { meaning, text, .. } = setting;
        let known = seen.entry(meaning).or_insert(Seen { text, varies: false, count: 0, last: usize::MAX });
        known.varies |= known.text != *text;
        known.count += usize::from(known.last != index);
        known.last = index;
    }
    let is_named = |own: &ShownSetting| {
        let known = &seen[own.meaning.as_str()];
        known.varies || (known.count < all.len() && !own.is_usual)
    };
    let texts = |of: &Vec<ShownSetting>| {
        let named = of.iter().filter(|setting| !setting.text.is_empty() && is_named(setting));
        named.map(|setting| setting.text.clone()).collect()
    };
    all.iter().map(texts).collect()
}

/// Lists the labels by which each of these [differs](differing) from the others of its key, such as a given name.
pub fn differing_by_key<K: PartialEq>(keys: &[K], all: &[Vec<ShownSetting>]) -> Vec<Vec<String>> {
    let mut texts: Vec<Option<Vec<String>>> = vec![None; all.len()];
    for index in 0..all.len() {
        if texts[index].is_some() {
            continue;
        }
        let alike: Vec<usize> = (index..all.len()).filter(|other| keys[*other] == keys[index]).collect();
        let settings: Vec<_> = alike.iter().map(|other| all[*other].clone()).collect();
        for (other, differing) in alike.into_iter().zip(differing(&settings)) {
            texts[other] = Some(differing);
        }
    }
    texts.into_iter().flatten().collect()
}

/// Lists the labels of the settings of `this` that have another value in `before`, or that `before` lacks and that are
/// not defaults.
pub fn changed_texts(this: &[ShownSetting], before: &[ShownSetting]) -> Vec<String> {
    let is_changed = |own: &&ShownSetting| match before.iter().find(|old| old.meaning == own.meaning) {
        Some(old) => old.text != own.text,
        None => !own.is_usual,
    };
    let texts = this.iter().filter(is_changed).map(|setting| setting.text.clone());
    texts.filter(|text| !text.is_empty()).collect()
}

/// A name followed by settings: `Adam, ω 0.1`.
pub fn with_settings(name: &str, settings: &[String]) -> String {
    std::iter::once(name).chain(settings.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
}

impl RuleSpec {
    /// Lists the hyperparameters for which `is_shown` holds; `usual` has the rule's usual values.
    pub fn shown_settings(&self, usual: &RuleSpec, is_shown: impl Fn(&SettingInfo) -> bool) -> Vec<ShownSetting> {
        let both = self.hyperparameters().zip(usual.hyperparameters());
        let shown = both.filter(|((of, _), _)| is_shown(of));
        let setting = |((of, value), (_, usual)): ((&SettingInfo, f64), (_, f64))| ShownSetting {
            meaning: ShownSetting::meaning_of(of),
            text: of.text(value),
            is_usual: value == usual,
            is_silent: of.is_silent(value),
        };
        shown.map(setting).collect()
    }

    /// Lists the hyperparameters that have an effect on the plane, compared with the defaults there.
    pub fn shown_on_plane(&self) -> Vec<ShownSetting> {
        self.shown_settings(&RuleSpec::on_plane(self.kind()), |of| !of.is_for_vectors)
    }

    /// Lists all hyperparameters, compared with the defaults in training.
    pub fn shown_in_training(&self) -> Vec<ShownSetting> {
        self.shown_settings(&RuleSpec::in_training(self.kind()), |_| true)
    }
}

impl RatedRule {
    /// Lists the learning rate, the numbers of its schedule, and the hyperparameters that have an effect on the plane.
    pub fn shown_settings(&self) -> Vec<ShownSetting> {
        let rate = ShownSetting::learning_rate(self.learning_rate.get());
        std::iter::once(rate).chain(self.schedule.shown_settings()).chain(self.rule.shown_on_plane()).collect()
    }
}

impl Schedule {
    /// Lists the schedule's numbers; its kind is part of [the optimizer's name](Schedule::named).
    pub fn shown_settings(&self) -> Vec<ShownSetting> {
        let warmup = match self.warmup.get() {
            0 => "no warm-up".to_owned(),
            steps => format!("warm-up {steps}"),
        };
        let mut settings = vec![ShownSetting::silent_if(self.warmup.get() == 0, "warm-up", warmup)];
        if let Decay::Cosine { to, steps } = self.decay {
            let over = steps.map_or_else(|| "over the run".to_owned(), |steps| format!("over {} steps", steps.get()));
            let to_text = format!("to {} η", number_text(to.get()));
            settings.push(ShownSetting::silent_if(to == Decay::nothing(), ShownSetting::SCHEDULE_END, to_text));
            settings.push(ShownSetting::silent_if(steps.is_none(), "cosine over", over));
        }
        settings
    }
}

/// A marker of an optimizer, for readers who cannot distinguish its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub shape: MarkerShape,
    /// Whether the shape has a hole.
    pub is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerShape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Star,
    Plus,
    Down,
    Left,
    Right,
    /// A letter from A to Z in a circle, of a typed rule.
    Letter(char),
}

impl Marker {
    const SHAPES: [MarkerShape; 10] = [
        MarkerShape::Circle,
        MarkerShape::Square,
        MarkerShape::Triangle,
        MarkerShape::Diamond,
        MarkerShape::Cross,
        MarkerShape::Star,
        MarkerShape::Plus,
        MarkerShape::Down,
        MarkerShape::Left,
        MarkerShape::Right,
    ];

    /// The radius of an open marker in radii of a filled one; larger, so that its coloured area is as large.
    pub const OPEN: f32 = 1.2;
    /// The radius of an open marker's hole, in the same unit.
    pub const HOLE: f32 = 0.45;

    pub const fn filled(shape: MarkerShape) -> Marker {
        Marker { shape, is_open: false }
    }

    /// Creates an open marker of a shape with an inside: not a cross, plus or star.
    pub(crate) const fn open(shape: MarkerShape) -> Marker {
        Marker { shape, is_open: true }
    }

    /// Creates the marker of a typed rule: the first letter of its name, or a star where no letter from A to Z is in it.
    pub(crate) fn of_name(name: &str) -> Marker {
        let letter = name.chars().find(char::is_ascii_alphabetic);
        Marker::filled(letter.map_or(MarkerShape::Star, |letter| MarkerShape::Letter(letter.to_ascii_uppercase())))
    }

    /// Returns the marker with the next letter of the alphabet, if it is a letter.
    fn next_letter(self) -> Option<Marker> {
        let MarkerShape::Letter(letter) = self.shape else { return None };
        let next = if letter == 'Z' { 'A' } else { char::from_u32(u32::from(letter) + 1)? };
        Some(Marker::filled(MarkerShape::Letter(next)))
    }

    /// Lists the filled markers, then the open ones.
    fn all() -> impl Iterator<Item = Marker> {
        let has_inside =
            |shape: &MarkerShape| !matches!(shape, MarkerShape::Cross | MarkerShape::Plus | MarkerShape::Star);
        Self::SHAPES
            .into_iter()
            .map(Marker::filled)
            .chain(Self::SHAPES.into_iter().filter(has_inside).map(Marker::open))
    }
}

/// Assigns distinct markers to optimizers whose rules have the markers `own`. The first optimizer of each rule has the
/// rule's marker; the others cycle through markers of no rule, then through those of rules that are not among them. Those
/// of typed rules have the next free letters.
pub fn markers(own: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
    let own: Vec<Marker> = own.into_iter().collect();
    let is_of_a_rule = |marker: &Marker| RuleKind::ALL.iter().any(|kind| kind.info().marker == *marker);
    let (of_rules, spare): (Vec<Marker>, Vec<Marker>) = Marker::all().partition(is_of_a_rule);
    // A typed rule has one of the spare markers.
    let others: Vec<Marker> = spare.into_iter().chain(of_rules).filter(|marker| !own.contains(marker)).collect();
    let mut others = others.into_iter().cycle();
    let mut seen = Vec::new();
    let marker = |mut marker: Marker| {
        if seen.contains(&marker) {
            let letters = std::iter::successors(marker.next_letter(), |letter| letter.next_letter()).take(25);
            match letters.into_iter().find(|letter| !own.contains(letter) && !seen.contains(letter)) {
                Some(letter) => marker = letter,
                None => return others.next().unwrap_or(marker),
            }
        }
        seen.push(marker);
        marker
    };
    own.iter().copied().map(marker).collect()
}

#[cfg(test)]
mod tests {
    use super::{Marker, MarkerShape, markers};

    #[test]
    fn a_rule_keeps_its_marker_and_copies_have_others() {
        let [circle, square, triangle, star] =
            [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Star].map(Marker::filled);
        assert_eq!(markers([circle, square, triangle]), [circle, square, triangle]);
        assert_eq!(markers([triangle, circle, triangle, triangle]), [triangle, circle, star, square]);
    }

    #[test]
    fn typed_rules_have_letters_of_their_own() {
        let letter = |letter| Marker::filled(MarkerShape::Letter(letter));
        let [own, other] = [Marker::of_name("my rule"), Marker::of_name("Nesterov")];
        assert_eq!(markers([own, own, other, own]), [letter('M'), letter('O'), letter('N'), letter('P')]);
        assert_eq!(markers([Marker::of_name("Zigzag"); 2]), [letter('Z'), letter('A')]);
        assert_eq!(Marker::of_name("β₁"), Marker::filled(MarkerShape::Star));
    }

    #[test]
    fn seven_copies_have_distinct_markers() {
        let mut marks: Vec<String> =
            markers([Marker::filled(MarkerShape::Circle); 7]).iter().map(|mark| format!("{mark:?}")).collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 7, "{marks:?}");
    }
}
