//! Lessons: numbered steps with texts, settings, and claims that a test checks.

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::{Setting, SettingError, SimulationSpec};
use valleyscope_engine::spec_error::{SpecError, broken};

use super::simulations::{PresetSimulation, TitledSimulation, check_settings};
use super::{LandscapePreset, check_setting, check_view};
use crate::view::rule_summary::formulas_from_gradient;
use crate::view::{DiagnosticMetric, ViewSettings};

/// One step of a lesson.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonStep {
    /// The name of the section that begins with this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The text for the class, which takes at most two lines of a presentation. The first sentence states what is seen.
    pub text: String,
    /// The speaker notes, which the class does not see.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// Settings applied when the step is shown, on top of those of the previous steps. The run then restarts, unless
    /// they only determine where it pauses: with nothing but [`Setting::Steps`], the run of the previous step
    /// continues.
    #[serde(default)]
    pub set: Vec<Setting>,
    /// Settings of up to three simulations with which the step compares its own, each on top of those of this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<Vec<Setting>>,
    /// Whether the run plays when the step is shown; otherwise it continues to play or stays paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub play: bool,
    /// The plots that the text points at, which a presentation shows too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<DiagnosticMetric>,
    /// The view of the landscape from this step on; without it, the view of the previous step stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewSettings>,
    /// Named marks at steps of the run, on the timeline and in the plots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<LessonMark>,
    /// The id of the optimizer whose update rule is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<u32>,
    /// The highlighted part of one of its lines, such as `√ŝ`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<String>,
    /// A figure of the paper, shown beside the landscape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<LessonFigure>,
    /// The claims of text and notes about the run. The window does not show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A named mark at a step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonMark {
    pub step: u64,
    /// Some words about what happens there.
    pub text: String,
}

/// A figure of the paper, computed coarsely when it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonFigure {
    /// One of [`LessonFigure::NAMES`], the names that `valleyscope figure` knows.
    pub name: String,
    /// A point that is marked on a phase diagram: the value on its horizontal axis, and the one on its vertical axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<[f64; 2]>,
}

/// A claim of a text about a run: the mean of a quantity over the particles of an optimizer, as its plot shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The part of the text or the notes that makes the claim.
    pub words: String,
    pub metric: DiagnosticMetric,
    /// The id of the optimizer.
    pub optimizer: u32,
    /// The first step of the run to which the claim refers; without it, it is about the last alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The last step of the run to which the claim refers.
    pub step: u64,
    /// The number of the lesson step, from 1, whose run is meant; without it, this step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_of: Option<usize>,
    #[serde(default, skip_serializing_if = "Comparison::is_stated")]
    pub is: Comparison,
}

/// The relation that a claim states between its quantity and a number or another optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Comparison {
    /// The mean over the steps, rounded, is the last number in the claim's words.
    #[default]
    Stated,
    /// It is below this number at each step.
    Below(f64),
    /// It is above this number at each step.
    Above(f64),
    /// It is below that of the optimizer with this id at each step.
    BelowOptimizer(u32),
    /// It is above that of the optimizer with this id at each step.
    AboveOptimizer(u32),
}

impl LessonStep {
    /// The largest number of characters of a text.
    pub const LONGEST_TEXT: usize = 160;
    /// The largest number of characters of the notes.
    pub const LONGEST_NOTES: usize = 2000;
    /// The largest number of characters of a highlighted term.
    pub const LONGEST_TERM: usize = 60;
    /// The largest number of characters of a section's name.
    pub const LONGEST_SECTION: usize = 60;
    /// The largest number of marks.
    const MOST_MARKS: usize = 20;

    /// Returns whether the step continues the run of the previous one and only sets where it pauses.
    pub fn goes_on(&self) -> bool {
        !self.set.is_empty() && self.set.iter().all(|setting| matches!(setting, Setting::Steps(_)))
    }

    /// Returns the first sentence of the text.
    pub fn first_sentence(&self) -> &str {
        let line = self.text.trim().lines().next().unwrap_or_default();
        line.find(". ").map_or(line, |end| &line[..=end])
    }

    /// Returns the lines of the update rule that the step shows on its simulation, with their meanings.
    pub fn rule_lines(&self, simulation: &SimulationSpec) -> Vec<(String, &'static str)> {
        let shown = simulation.optimizers.iter().find(|optimizer| Some(optimizer.id) == self.formula);
        shown.map_or_else(Vec::new, |shown| formulas_from_gradient(&simulation.noise.kind(), shown.rule.rule))
    }
}

impl LessonMark {
    /// The largest number of characters of a text, which has to fit into a plot.
    pub const LONGEST_TEXT: usize = 40;
}

impl LessonFigure {
    /// The phase diagrams, on which a point can be marked.
    pub const DIAGRAMS: [&str; 4] = ["fig2a", "fig2b", "fig2b-unrotated", "fig2b-100d"];
    /// All figures. Each is the name of a built-in preset, too.
    pub const NAMES: [&str; 6] = ["fig1c", "saturation", "fig2a", "fig2b", "fig2b-unrotated", "fig2b-100d"];

    /// Returns whether the figure is a phase diagram.
    pub fn is_diagram(&self) -> bool {
        Self::DIAGRAMS.contains(&self.name.as_str())
    }
}

/// Returns the marks in a run that the lesson's step shows: its own, and those of the steps before it whose run it
/// continues.
pub fn marks_at(lesson: &[LessonStep], step: usize) -> Vec<&LessonMark> {
    let begin = first_step_of_run(lesson, step);
    let mut marks: Vec<&LessonMark> = lesson.get(begin..=step).into_iter().flatten().flat_map(|it| &it.marks).collect();
    marks.sort_by_key(|mark| mark.step);
    marks
}

/// Returns the index of the step that began the run of a step.
pub fn first_step_of_run(lesson: &[LessonStep], step: usize) -> usize {
    let begins = |index: &usize| lesson.get(*index).is_some_and(|it| !it.set.is_empty() && !it.goes_on());
    (1..=step).rev().find(begins).unwrap_or(0)
}

/// Returns a simulation with the settings of all steps up to one, counted from 0.
pub(super) fn spec_at(
    simulation: &SimulationSpec,
    steps: &[LessonStep],
    step: usize,
) -> Result<SimulationSpec, SettingError> {
    let mut simulation = simulation.clone();
    for setting in steps.iter().take(step + 1).flat_map(|step| &step.set) {
        simulation.apply(setting)?;
    }
    Ok(simulation)
}

/// Returns the simulations of a lesson step, counted from 0, the first of which has the specification `first`: those
/// that the step compares, or else those of the preset.
pub(super) fn simulations_at(
    of_preset: &[PresetSimulation],
    lesson: &[LessonStep],
    lesson_step: usize,
    first: &SimulationSpec,
) -> Result<Vec<TitledSimulation>, SettingError> {
    let title = of_preset.first().and_then(|simulation| simulation.name.clone());
    let with = |set: &Vec<Setting>| PresetSimulation { set: set.clone(), ..PresetSimulation::default() };
    let others: Vec<PresetSimulation> = match lesson.get(lesson_step) {
        Some(step) if !step.compared.is_empty() => step.compared.iter().map(with).collect(),
        _ => of_preset.iter().skip(1).cloned().collect(),
    };
    let first_one = TitledSimulation { title, spec: first.clone() };
    std::iter::once(Ok(first_one)).chain(others.iter().map(|simulation| simulation.resolved(first))).collect()
}

impl LandscapePreset {
    /// Returns the first simulation with the settings in force at a step of the lesson, counted from 0: those of all
    /// steps up to it, so that going back in a lesson undoes what a step has set.
    pub fn spec_at(&self, lesson_step: usize) -> Result<SimulationSpec, SettingError> {
        spec_at(self.spec(), &self.lesson, lesson_step)
    }

    /// Returns the simulations of a lesson step, counted from 0: those that the step compares, or else the preset's.
    pub fn simulations_at(&self, lesson_step: usize) -> Result<Vec<TitledSimulation>, SettingError> {
        simulations_at(&self.simulations, &self.lesson, lesson_step, &self.spec_at(lesson_step)?)
    }

    /// Returns the rule that the lesson breaks, if it breaks one, so that the preset could not be read again.
    pub fn lesson_misfit(&self) -> Option<SpecError> {
        check(self).err()
    }
}

impl Claim {
    /// Returns the last number in the claim's words, as it is written.
    pub fn stated(&self) -> Option<&str> {
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let words = self.words.trim_end_matches(|c: char| !c.is_ascii_digit());
        let start =
            words.rfind(|c| !is_of_number(c)).map_or(0, |at| at + words[at..].chars().next().map_or(0, char::len_utf8));
        let number = words[start..].trim_start_matches('.');
        number.parse::<f64>().is_ok().then_some(number)
    }
}

impl Comparison {
    fn is_stated(&self) -> bool {
        *self == Comparison::Stated
    }
}

/// Checks the lesson of a preset, and returns the first rule that it breaks.
pub(super) fn check(preset: &LandscapePreset) -> Result<(), SpecError> {
    (0..preset.lesson.len()).try_for_each(|number| check_step(preset.spec(), &preset.lesson, number))
}

/// Checks a step of a lesson on a simulation.
pub(super) fn check_step(first: &SimulationSpec, lesson: &[LessonStep], number: usize) -> Result<(), SpecError> {
    let at = |step| spec_at(first, lesson, step).ok();
    // An error of a step before is reported there.
    let simulation = &mut number.checked_sub(1).and_then(at).unwrap_or_else(|| first.clone());
    let step = &lesson[number];
    let (path, text) = (format!("lesson[{number}]"), &step.text);
    if let Some(section) = &step.section {
        SpecError::check_name(&format!("{path}.section"), section, LessonStep::LONGEST_SECTION)?;
    }
    if text.trim().is_empty() {
        return broken(format!("{path}.text"), "must not be empty");
    }
    if text.chars().count() > LessonStep::LONGEST_TEXT {
        let (most, found) = (LessonStep::LONGEST_TEXT, text.chars().count());
        let complaint = format!("must have at most {most} characters, found {found}; the rest belongs into `notes`");
        return broken(format!("{path}.text"), complaint);
    }
    SpecError::check_length(&format!("{path}.notes"), &step.notes, 0..=LessonStep::LONGEST_NOTES)?;
    let paused_at = simulation.steps;
    for (index, setting) in step.set.iter().enumerate() {
        check_setting(simulation, setting, || format!("{path}.set[{index}]"))?;
    }
    check_pause(number, step, paused_at.filter(|_| number > 0), simulation.steps)?;
    check_compared(&path, step, simulation)?;
    check_shown(&path, &step.show, &simulation.landscape)?;
    if let Some(view) = &step.view {
        check_view(view).map_err(|error| error.at(&path))?;
    }
    check_marks(&path, &step.marks, simulation.steps)?;
    check_formula(&path, step, simulation)?;
    if let Some(figure) = &step.figure {
        check_figure(&format!("{path}.figure"), figure)?;
    }
    for (index, claim) in step.claims.iter().enumerate() {
        // The run of another step that a claim may be about is that of a step before.
        let before = claim.run_of.filter(|run_of| (1..=number).contains(run_of));
        let run = before.and_then(|run_of| at(run_of - 1));
        let landscape = run.as_ref().unwrap_or(&*simulation).landscape;
        check_claim(&format!("{path}.claims[{index}]"), claim, &landscape)?;
    }
    Ok(())
}

/// Checks the simulations with which a lesson's step compares its own.
fn check_compared(path: &str, step: &LessonStep, own: &SimulationSpec) -> Result<(), SpecError> {
    const MOST: usize = PresetSimulation::MOST - 1;
    let found = step.compared.len();
    if found > MOST {
        let most = PresetSimulation::MOST;
        let complaint =
            format!("must hold at most {MOST} simulations, as {most} are shown side by side, found {found}");
        return broken(format!("{path}.compared"), complaint);
    }
    let mut all = step.compared.iter().enumerate();
    all.try_for_each(|(index, set)| check_settings(own, set, &format!("{path}.compared[{index}]")))
}

fn check_marks(path: &str, marks: &[LessonMark], pause: Option<u64>) -> Result<(), SpecError> {
    if marks.len() > LessonStep::MOST_MARKS {
        let most = LessonStep::MOST_MARKS;
        return broken(format!("{path}.marks"), format!("must hold at most {most} marks, found {}", marks.len()));
    }
    for (index, mark) in marks.iter().enumerate() {
        let path = format!("{path}.marks[{index}]");
        SpecError::check_name(&format!("{path}.text"), &mark.text, LessonMark::LONGEST_TEXT)?;
        if let Some(pause) = pause.filter(|&pause| mark.step > pause) {
            let complaint = format!("is {}, after the pause at step {pause}, and would not be reached", mark.step);
            return broken(format!("{path}.step"), complaint);
        }
    }
    Ok(())
}

fn check_formula(path: &str, step: &LessonStep, simulation: &SimulationSpec) -> Result<(), SpecError> {
    let is_run = |id: u32| simulation.optimizers.iter().any(|optimizer| optimizer.id == id && optimizer.enabled);
    if let Some(id) = step.formula.filter(|&id| !is_run(id)) {
        let complaint = format!("must be the id of an optimizer that is enabled, found {id}");
        return broken(format!("{path}.formula"), complaint);
    }
    let Some(term) = &step.term else { return Ok(()) };
    let path = format!("{path}.term");
    if step.formula.is_none() {
        return broken(path, "must be left out, or the step must have a `formula`, of which it is a part");
    }
    SpecError::check_length(&path, term, 1..=LessonStep::LONGEST_TERM)?;
    let lines = step.rule_lines(simulation);
    if lines.iter().any(|(line, _)| line.contains(term)) {
        return Ok(());
    }
    let lines: Vec<String> = lines.iter().map(|(line, _)| format!("`{line}`")).collect();
    broken(path, format!("must be a part of one of the lines {}, found `{term}`", lines.join(", ")))
}

fn check_figure(path: &str, figure: &LessonFigure) -> Result<(), SpecError> {
    let LessonFigure { name, point } = figure;
    if !LessonFigure::NAMES.contains(&name.as_str()) {
        let names = LessonFigure::NAMES.join(", ");
        return broken(format!("{path}.name"), format!("must be one of {names}, found `{name}`"));
    }
    let Some(point) = point else { return Ok(()) };
    if !figure.is_diagram() {
        let names = LessonFigure::DIAGRAMS.join(", ");
        let complaint = format!("must be left out, as {name} has no such axes; those of {names} do");
        return broken(format!("{path}.point"), complaint);
    }
    match point.iter().find(|value| !value.is_finite()) {
        Some(value) => broken(format!("{path}.point"), format!("must be two finite numbers, found {value}")),
        None => Ok(()),
    }
}

/// Checks that a step of a lesson that continues the previous step's run has steps to take. `before` is where the
/// previous one pauses, and `pause` where this one does.
fn check_pause(number: usize, step: &LessonStep, before: Option<u64>, pause: Option<u64>) -> Result<(), SpecError> {
    match (before, pause) {
        (Some(before), Some(pause)) if step.goes_on() && pause <= before => broken(
            format!("lesson[{number}].set"),
            format!(
                "goes on with the run of `lesson[{}]`, which pauses at step {before}, and must pause later, found \
                 `Steps({pause})`; a step that sets anything else begins the run again",
                number - 1
            ),
        ),
        _ => Ok(()),
    }
}

fn check_shown(path: &str, show: &[DiagnosticMetric], landscape: &LandscapeSpec) -> Result<(), SpecError> {
    for (index, metric) in show.iter().enumerate() {
        let path = format!("{path}.show[{index}]");
        if show[..index].contains(metric) {
            return broken(path, "is named twice; name each plot once");
        }
        check_metric(path, *metric, landscape)?;
    }
    Ok(())
}

/// Checks that a landscape has a metric.
fn check_metric(path: String, metric: DiagnosticMetric, landscape: &LandscapeSpec) -> Result<(), SpecError> {
    if metric.info(landscape).is_some() {
        return Ok(());
    }
    let known: Vec<String> = DiagnosticMetric::of(landscape).map(|metric| format!("`{metric:?}`")).collect();
    let name = landscape.info().name;
    broken(path, format!("is `{metric:?}`, which the landscape {name} lacks; it has {}", known.join(", ")))
}

/// Checks the fields of a claim about a run on a landscape. A test of the lesson checks whether the claim is true and
/// its words are in the text, so that an edited lesson stays valid.
fn check_claim(path: &str, claim: &Claim, landscape: &LandscapeSpec) -> Result<(), SpecError> {
    let (last, is) = (claim.step, claim.is);
    check_metric(format!("{path}.metric"), claim.metric, landscape)?;
    if let Some(from) = claim.from.filter(|&from| from > last) {
        return broken(format!("{path}.from"), format!("must be at most `step`, which is {last}, found {from}"));
    }
    match is {
        Comparison::Below(number) | Comparison::Above(number) if !number.is_finite() => {
            broken(format!("{path}.is"), format!("must compare with a finite number, found {number}"))
        }
        _ => Ok(()),
    }
}
