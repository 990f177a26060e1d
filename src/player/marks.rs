//! Marks of the steps at which a setting was changed.

use std::mem::discriminant;
use std::sync::Arc;

use valleyscope_engine::optimizer::{RatedRule, Schedule, ShownSetting};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::{SettingInfo, TEMPERATURE};
use valleyscope_engine::simulation::{Change, Record, Setting, SimulationSpec};
use valleyscope_experiments::view::ticks::grouped;

/// The most changes that a text lists.
const MOST_LISTED: usize = 5;

/// A setting that was changed at a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SettingMark {
    pub step: u64,
    /// The change that set it, possibly with other settings.
    pub change: Change,
    /// The optimizer's id; `None` for a setting of all.
    owner: Option<u32>,
    /// The name of the setting, empty where the values name it.
    name: String,
    from: String,
    to: String,
}

/// The changed settings of a session.
#[derive(Default)]
pub(crate) struct SettingMarks {
    record: Option<Arc<Record>>,
    /// The settings in force after all changes of the record.
    spec: Option<SimulationSpec>,
    /// The number of changes before the last step that has any, and the settings in force after them.
    settled: Option<(usize, SimulationSpec)>,
    marks: Vec<SettingMark>,
}

impl SettingMarks {
    /// The marks of a session without changes.
    pub(crate) const NONE: &SettingMarks = &SettingMarks { record: None, spec: None, settled: None, marks: Vec::new() };

    /// Updates the marks from the changes of a session. All marks are made again only for another session; otherwise
    /// those of the last step and of later ones, as a change at the last step replaces one of the same setting.
    pub(crate) fn update(&mut self, record: &Arc<Record>) {
        let Record { spec: first, changes } = &**record;
        let known = self.record.replace(Arc::clone(record));
        let (done, mut spec) = match (known, self.settled.take()) {
            (Some(known), settled) if Arc::ptr_eq(&known, record) => {
                self.settled = settled;
                return;
            }
            (Some(known), Some((done, spec)))
                if known.spec == *first && changes.starts_with(&known.changes[..done]) =>
            {
                (done, spec)
            }
            _ => (0, first.clone()),
        };
        let before_last = done.checked_sub(1).map(|index| changes[index].step);
        self.marks.retain(|mark| before_last.is_some_and(|step| mark.step <= step));
        let last_step = changes.last().map_or(0, |change| change.step);
        for (index, change) in changes.iter().enumerate().skip(done) {
            if self.settled.is_none() && change.step == last_step {
                self.settled = Some((index, spec.clone()));
            }
            let before = spec.clone();
            // The session was made with the change, so it fits.
            let _ = spec.apply(&change.set);
            self.marks.extend(marks_of(change, &before, &spec));
        }
        self.spec = Some(spec);
    }

    /// The settings in force after all changes of the session.
    pub(crate) fn latest(&self) -> Option<&SimulationSpec> {
        self.spec.as_ref()
    }

    /// Finds the marks of the first step with changes from this one on, and of the following changes of the setting
    /// that is changed first.
    pub(crate) fn first_from(&self, step: u64) -> &[SettingMark] {
        let later = &self.marks[self.marks.partition_point(|mark| mark.step < step)..];
        let Some(first) = later.first() else { return &[] };
        let is_same = |mark: &&SettingMark| {
            mark.step == first.step
                || mark.owner == first.owner && discriminant(&mark.change.set) == discriminant(&first.change.set)
        };
        &later[..later.iter().take_while(is_same).count()]
    }

    pub(crate) fn of_changes(&self, changes: &[Change]) -> Vec<SettingMark> {
        self.marks.iter().filter(|mark| mark.change.is_among(changes)).cloned().collect()
    }

    /// Groups the marks: those nearer than `near` on an axis of steps, whose positions are given by `position`, share a
    /// group.
    pub(crate) fn groups(&self, position: impl Fn(u64) -> f64, near: f64) -> impl Iterator<Item = &[SettingMark]> {
        self.marks.chunk_by(move |a, b| position(b.step) - position(a.step) < near)
    }
}

/// Lists the changes of a group, each once.
pub(crate) fn changes_of(group: &[SettingMark]) -> Vec<Change> {
    let mut changes: Vec<Change> = group.iter().map(|mark| mark.change).collect();
    // The marks of a change follow each other.
    changes.dedup();
    changes
}

/// Formats the changes of a group, as in "σ 1 → 2", each in a line. `names` are the optimizers' names by their ids.
pub(crate) fn text(group: &[SettingMark], name_of: impl Fn(u32) -> Option<String>) -> String {
    lines(group, name_of, |mark| format!("{} → {}", mark.from, mark.to))
}

/// Formats the values before the changes of a group, as in "σ stays 1", each in a line.
pub(crate) fn text_before(group: &[SettingMark], name_of: impl Fn(u32) -> Option<String>) -> String {
    lines(group, name_of, |mark| format!("stays {}", mark.from))
}

/// Formats each setting that a group changes in a separate line.
fn lines(
    group: &[SettingMark],
    name_of: impl Fn(u32) -> Option<String>,
    values: impl Fn(&SettingMark) -> String,
) -> String {
    let mut merged: Vec<SettingMark> = Vec::new();
    for mark in group {
        match merged.iter_mut().find(|other| (other.owner, &other.name) == (mark.owner, &mark.name)) {
            Some(other) => other.to.clone_from(&mark.to),
            None => merged.push(mark.clone()),
        }
    }
    let line = |mark: &SettingMark| {
        let owner = mark.owner.and_then(&name_of).map_or_else(String::new, |owner| format!("{owner}: "));
        let name = if mark.name.is_empty() { String::new() } else { format!("{} ", mark.name) };
        format!("{owner}{name}{}", values(mark))
    };
    let mut lines: Vec<String> = merged.iter().take(MOST_LISTED).map(line).collect();
    if merged.len() > MOST_LISTED {
        lines.push(format!("and {} more", merged.len() - MOST_LISTED));
    }
    lines.join("\n")
}

/// Formats the change of a setting from one specification to another, as in "σ 1 → 2", in lines, or as in "noise, as
/// before" if nothing differs.
pub(crate) fn change_text(set: &Setting, before: &SimulationSpec, now: &SimulationSpec) -> String {
    let name_of = |id| now.name_of(id);
    let marks = marks_of(&Change { step: 0, set: *set }, before, now);
    match *set {
        Setting::Steps(Some(steps)) => format!("pause at step {}", grouped(steps)),
        Setting::Steps(None) => "no pause".to_owned(),
        _ if !marks.is_empty() => text(&marks, name_of),
        Setting::Noise(noise) => format!("{}, as before", noise.text_with(number_text)),
        Setting::Landscape(landscape) => format!("{}, as before", landscape.kind().name()),
        Setting::Temperature(_) => format!("{}, as before", temperature_text(now)),
        Setting::Rule { optimizer, rule } => {
            format!("{}, as before", name_of(optimizer).unwrap_or_else(|| rule.name().to_owned()))
        }
    }
}

/// Makes the marks of a change from one specification to another. The number of steps has none, as it moves no
/// particle.
pub(crate) fn marks_of(change: &Change, before: &SimulationSpec, now: &SimulationSpec) -> Vec<SettingMark> {
    let (owner, texts): (Option<u32>, [Vec<String>; 2]) = match change.set {
        Setting::Steps(_) => return Vec::new(),
        Setting::Noise(_) => (None, [before, now].map(|spec| vec![spec.noise.text_with(number_text)])),
        Setting::Landscape(_) => (None, landscapes(before, now)),
        Setting::Temperature(_) => (None, [before, now].map(|spec| vec![temperature_text(spec)])),
        Setting::Rule { optimizer, .. } => {
            let rule =
                |spec: &SimulationSpec| spec.optimizers.iter().find(|other| other.id == optimizer).map(|it| it.rule);
            let (Some(before), Some(now)) = (rule(before), rule(now)) else { return Vec::new() };
            let is_same_kind = before.rule.kind() == now.rule.kind();
            let texts = |rule: &RatedRule| match is_same_kind {
                true => settings_of_rule(rule).into_iter().map(|(_, text)| text).collect(),
                false => vec![rule.name().to_owned()],
            };
            (Some(optimizer), [&before, &now].map(texts))
        }
    };
    let [before, now] = texts;
    let differing = before.into_iter().zip(now).filter(|(before, now)| before != now);
    differing.map(|(before, now)| SettingMark::between(*change, owner, before, now)).collect()
}

impl SettingMark {
    /// Makes the mark of a change between two texts such as "σ = 1", whose common name is written once.
    fn between(change: Change, owner: Option<u32>, before: String, now: String) -> SettingMark {
        let step = change.step;
        match (before.split_once(" = "), now.split_once(" = ")) {
            (Some((name, from)), Some((other, to))) if name == other => {
                SettingMark { step, change, owner, name: name.to_owned(), from: from.to_owned(), to: to.to_owned() }
            }
            _ => SettingMark { step, change, owner, name: String::new(), from: before, to: now },
        }
    }
}

/// Formats the landscapes' parameters, or their names if the landscapes differ.
fn landscapes(before: &SimulationSpec, now: &SimulationSpec) -> [Vec<String>; 2] {
    if before.landscape.kind() != now.landscape.kind() {
        return [before, now].map(|spec| vec![spec.landscape.kind().name().to_owned()]);
    }
    [before, now].map(|spec| {
        let parameters = spec.landscape.parameters();
        parameters.map(|(of, value)| of.with(number_text(value))).collect()
    })
}

fn temperature_text(spec: &SimulationSpec) -> String {
    let value = spec.temperature.map_or_else(|| "η".to_owned(), |temperature| number_text(temperature.get()));
    TEMPERATURE.with(value)
}

/// Lists the keys of an optimizer's settings with their texts, such as "η = 0.01".
pub(crate) fn settings_of_rule(rated: &RatedRule) -> Vec<(&'static str, String)> {
    let text = |(of, value): (&SettingInfo, f64)| match of.choices().get(value as usize) {
        Some(choice) => format!("{} = {}", of.label, choice.label),
        None => of.with(number_text(value)),
    };
    let mut texts: Vec<_> = rated.settings().map(|(of, value)| (of.key, text((of, value)))).collect();
    texts.insert(1, ("schedule", format!("schedule = {}", schedule_text(&rated.schedule))));
    texts
}

/// Formats a schedule, as in "cosine, warm-up 100, to 0.1 η".
fn schedule_text(schedule: &Schedule) -> String {
    let numbers = schedule.shown_settings().into_iter().filter_map(ShownSetting::said);
    std::iter::once(schedule.decay.name().to_owned()).chain(numbers).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use valleyscope_experiments::preset::Preset;

    use super::*;

    /// Records a session of Adam and FOCUS with these changes.
    pub(crate) fn record(changes: &str) -> Arc<Record> {
        let text = format!(
            "Landscape(version: 1, title: \"Changed\", simulations: [(changes: [{changes}], spec: (\
                noise: 1, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01)), \
                (id: 1, rule: Focus(learning_rate: 0.01, gamma: 0.2))]))])"
        );
        let Preset::Landscape(preset) = Preset::parse(&text, "test").expect("it is valid") else {
            panic!("a landscape")
        };
        Arc::new(preset.record())
    }

    fn texts(marks: &SettingMarks, near: f64) -> Vec<(u64, String)> {
        let name_of = |id| Some(["Adam", "FOCUS"][id as usize].to_owned());
        let groups = marks.groups(|step| step as f64, near);
        groups.map(|group| (group[0].step, text(group, name_of))).collect()
    }

    #[test]
    fn a_mark_names_the_setting_with_its_values_before_and_after() {
        let mut marks = SettingMarks::default();
        marks.update(&record(
            "(step: 3, set: Noise(2)), (step: 5, set: Landscape(Valley(sharpness: 20))), (step: 6, set: Steps(Some(9))), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.02, gamma: 0.5))), \
            (step: 8, set: Temperature(Some(2))), (step: 9, set: Landscape(Rosenbrock()))",
        ));
        let expected = [
            (3, "σ 1 → 2"),
            (5, "a 10 → 20"),
            (7, "FOCUS: η 0.01 → 0.02\nFOCUS: γ 0.2 → 0.5"),
            (8, "Θ η → 2"),
            (9, "Narrowing valley → Rosenbrock"),
        ];
        assert_eq!(texts(&marks, 1.0), expected.map(|(step, text)| (step, text.to_owned())));
    }

    #[test]
    fn a_dragged_slider_leaves_one_mark_with_its_ends() {
        let dragged = "(step: 100, set: Noise(1.5)), (step: 102, set: Noise(1.75)), (step: 104, set: Noise(2))";
        let mut marks = SettingMarks::default();
        marks.update(&record(dragged));
        assert_eq!(texts(&marks, 1.0).len(), 3);
        assert_eq!(texts(&marks, 3.0), [(100, "σ 1 → 2".to_owned())]);
    }

    #[test]
    fn marks_of_a_growing_session_are_those_of_the_whole() {
        let mut growing = SettingMarks::default();
        let all = ["(step: 3, set: Noise(2)),", "(step: 5, set: Noise(3)),", "(step: 9, set: Noise(0)),"];
        let replaced =
            ["(step: 3, set: Noise(2)),", "(step: 5, set: Noise(4)),", "(step: 5, set: Temperature(Some(2))),"];
        let sessions = [&all[..1], &all[..2], &replaced[..2], &replaced, &all, &all[..1], &[], &all];
        for changes in sessions {
            let record = record(&changes.concat());
            growing.update(&record);
            let mut whole = SettingMarks::default();
            whole.update(&record);
            assert_eq!(growing.marks, whole.marks);
            assert_eq!(growing.latest(), whole.latest());
        }
    }
}
