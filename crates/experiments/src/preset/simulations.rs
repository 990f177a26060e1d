//! The simulations of a landscape preset, all on one clock.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Change, Record, Setting, SettingError, SimulationSpec};
use valleyscope_engine::spec_error::{SpecError, broken};

use super::titles::changes_of_landscape;
use super::{
    LandscapePreset, LessonStep, Preset, built_ins, changed_head, check_changes, check_optimizers, check_setting,
    with_changes,
};

/// A simulation that is shown beside the preset's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// The title; without it, the settings in which the simulations differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The simulation; without it, the preset's own, in a lesson with the settings of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<SimulationSpec>,
    /// Settings applied on top of the simulation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Setting>,
    /// The changes during a recorded session, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A simulation with the title that it was given, if any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TitledSimulation {
    pub title: Option<String>,
    pub spec: SimulationSpec,
}

impl Beside {
    /// The largest number of simulations beside the preset's own: with it they are four, in two rows.
    pub const MOST: usize = 3;

    /// Describes a simulation beside `own`: by its settings if these lead to it, else as a whole.
    pub fn describing(other: &TitledSimulation, own: &SimulationSpec) -> Beside {
        let TitledSimulation { title, spec } = other;
        let reached = own.settings_to(spec).filter(|settings| {
            let mut reached = own.clone();
            settings.iter().all(|setting| reached.apply(setting).is_ok()) && reached == *spec
        });
        let (simulation, set) = match reached {
            Some(set) => (None, set),
            None => (Some(spec.clone()), Vec::new()),
        };
        Beside { name: title.clone(), simulation, set, changes: Vec::new() }
    }

    /// Returns the simulation beside `own`.
    fn simulation_beside(&self, own: &SimulationSpec) -> Result<TitledSimulation, SettingError> {
        let mut spec = self.simulation.clone().unwrap_or_else(|| own.clone());
        self.set.iter().try_for_each(|setting| spec.apply(setting))?;
        Ok(TitledSimulation { title: self.name.clone(), spec })
    }
}

/// The short names of simulations side by side, the preset's own first.
pub const LETTERS: [&str; 1 + Beside::MOST] = ["A", "B", "C", "D"];

/// Returns the titles of simulations side by side, each with its given title and its specification: the short name,
/// and the given title, or else the settings in which those without one differ, as in `A: σ = 1`.
pub fn titles_side_by_side<'a>(all: impl IntoIterator<Item = (Option<&'a str>, &'a SimulationSpec)>) -> Vec<String> {
    let all: Vec<(Option<&str>, &SimulationSpec)> = all.into_iter().collect();
    let untitled: Vec<&SimulationSpec> =
        all.iter().filter(|(given, _)| given.is_none()).map(|(_, spec)| *spec).collect();
    let mut made = SimulationSpec::titles(&untitled).into_iter();
    let title = |(letter, (given, spec)): (&str, &(Option<&str>, &SimulationSpec))| match given
        .map_or_else(|| made.next().unwrap_or_default(), |given| title_of_changed(given, spec))
    {
        title if title.is_empty() => letter.to_owned(),
        title => format!("{letter}: {title}"),
    };
    LETTERS.into_iter().zip(&all).map(title).collect()
}

/// Returns the title of a simulation that was given this one: where it is that of a built-in preset with other settings,
/// with those that were changed. The seed and the end are those of the clock that simulations side by side share.
fn title_of_changed(given: &str, spec: &SimulationSpec) -> String {
    let found = built_ins().iter().find(|built_in| built_in.preset.title() == given);
    let Some(Preset::Landscape(LandscapePreset { simulation, .. })) = found.map(|built_in| &built_in.preset) else {
        return given.to_owned();
    };
    let before = SimulationSpec { seed: spec.seed, steps: spec.steps, ..simulation.clone() };
    let [this, before] = [spec.clone(), before].map(|spec| LandscapePreset::new(given, spec));
    match changes_of_landscape(&this, &before) {
        changes if changes.is_empty() => given.to_owned(),
        changes => with_changes(&changed_head(given), &changes),
    }
}

impl LandscapePreset {
    /// Returns the preset's own simulation and those beside it, at the start of a preset without a lesson.
    pub fn side_by_side(&self) -> Result<Vec<TitledSimulation>, SettingError> {
        let own = TitledSimulation { title: None, spec: self.simulation.clone() };
        let others = self.beside.iter().map(|beside| beside.simulation_beside(&self.simulation));
        std::iter::once(Ok(own)).chain(others).collect()
    }

    /// Returns the simulations side by side with their recorded changes.
    pub fn records(&self) -> Result<Vec<Record>, SettingError> {
        let beside = self.side_by_side()?.into_iter().skip(1).zip(&self.beside);
        let beside = beside.map(|(other, beside)| Record { spec: other.spec, changes: beside.changes.clone() });
        Ok(std::iter::once(self.record()).chain(beside).collect())
    }

    /// Returns the simulations beside `own`, which is that of a lesson step, counted from 0: those of the step, or else
    /// the preset's. Without a lesson they are the preset's.
    pub fn beside_at(&self, lesson_step: usize, own: &SimulationSpec) -> Result<Vec<TitledSimulation>, SettingError> {
        simulations_beside(&self.beside, &self.lesson, lesson_step, own)
    }
}

/// Returns the simulations beside `own`, which is that of a lesson step, counted from 0: those of the step, or else
/// those of the preset.
pub(super) fn simulations_beside(
    of_preset: &[Beside],
    lesson: &[LessonStep],
    lesson_step: usize,
    own: &SimulationSpec,
) -> Result<Vec<TitledSimulation>, SettingError> {
    let of_step = lesson.get(lesson_step).map_or(&[][..], |step| &step.beside);
    if of_step.is_empty() {
        return of_preset.iter().map(|beside| beside.simulation_beside(own)).collect();
    }
    let beside = |set: &Vec<Setting>| Beside { set: set.clone(), ..Beside::default() }.simulation_beside(own);
    of_step.iter().map(beside).collect()
}

/// Checks the simulations beside a preset's own, and returns the first rule that they break.
pub(super) fn check(preset: &LandscapePreset) -> Result<(), SpecError> {
    check_count("beside", preset.beside.len())?;
    for (index, beside) in preset.beside.iter().enumerate() {
        let path = format!("beside[{index}]");
        if let Some(name) = &beside.name {
            SpecError::check_name(&format!("{path}.name"), name, Preset::LONGEST_TITLE)?;
        }
        if let Some(simulation) = &beside.simulation {
            check_optimizers(&format!("{path}.simulation.optimizers"), simulation)?;
        }
        let own = beside.simulation.as_ref().unwrap_or(&preset.simulation);
        check_settings(own, &beside.set, &format!("{path}.set"))?;
        check_changes(own, &beside.changes, &format!("{path}.changes"))?;
    }
    Ok(())
}

/// Checks the simulations beside that of a lesson's step.
pub(super) fn check_step(path: &str, step: &LessonStep, own: &SimulationSpec) -> Result<(), SpecError> {
    check_count(&format!("{path}.beside"), step.beside.len())?;
    let mut all = step.beside.iter().enumerate();
    all.try_for_each(|(index, set)| check_settings(own, set, &format!("{path}.beside[{index}]")))
}

fn check_count(path: &str, count: usize) -> Result<(), SpecError> {
    const MOST: usize = Beside::MOST;
    if count <= MOST {
        return Ok(());
    }
    broken(path, format!("must hold at most {MOST} simulations, as four are shown side by side, found {count}"))
}

fn check_settings(own: &SimulationSpec, set: &[Setting], path: &str) -> Result<(), SpecError> {
    let mut spec = own.clone();
    let mut all = set.iter().enumerate();
    all.try_for_each(|(index, setting)| check_setting(&mut spec, setting, || format!("{path}[{index}]")))
}
