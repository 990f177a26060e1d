//! The simulations of a landscape preset, which run side by side on one clock.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Change, Record, Setting, SettingError, SimulationSpec};
use valleyscope_engine::spec_error::{SpecError, broken};

use super::titles::changes_of_landscape;
use super::{
    LandscapePreset, Preset, built_ins, changed_head, check_changes, check_optimizers, check_setting, with_changes,
};

/// A simulation of a preset: the first one by its specification, each other one by a specification of its own or by
/// settings on top of the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetSimulation {
    /// The title; without it, the settings in which the simulations differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The specification; without it, that of the first simulation, in a lesson with the settings of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SimulationSpec>,
    /// Settings applied on top of the specification. The first simulation has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Setting>,
    /// The changes during a recorded session, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A simulation with the title that it was given, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct TitledSimulation {
    pub title: Option<String>,
    pub spec: SimulationSpec,
}

impl TitledSimulation {
    pub fn untitled(spec: SimulationSpec) -> TitledSimulation {
        TitledSimulation { title: None, spec }
    }
}

impl PresetSimulation {
    /// The largest number of simulations: in two rows.
    pub const MOST: usize = 4;

    /// Describes the first simulation of a preset.
    pub fn first(simulation: TitledSimulation) -> PresetSimulation {
        let TitledSimulation { title: name, spec } = simulation;
        PresetSimulation { name, spec: Some(spec), ..PresetSimulation::default() }
    }

    /// Describes a simulation after the first one: by its settings if these lead to it, else as a whole.
    pub fn after(first: &SimulationSpec, simulation: &TitledSimulation) -> PresetSimulation {
        let TitledSimulation { title, spec } = simulation;
        let reached = first.settings_to(spec).filter(|settings| {
            let mut reached = first.clone();
            settings.iter().all(|setting| reached.apply(setting).is_ok()) && reached == *spec
        });
        let (spec, set) = match reached {
            Some(set) => (None, set),
            None => (Some(spec.clone()), Vec::new()),
        };
        PresetSimulation { name: title.clone(), spec, set, changes: Vec::new() }
    }

    /// Describes simulations, the first of which the others follow.
    pub fn describing(simulations: &[TitledSimulation]) -> Vec<PresetSimulation> {
        let Some((first, others)) = simulations.split_first() else { return Vec::new() };
        let others = others.iter().map(|other| PresetSimulation::after(&first.spec, other));
        std::iter::once(PresetSimulation::first(first.clone())).chain(others).collect()
    }

    /// Returns the simulation where that of the first one is `first`.
    pub(super) fn resolved(&self, first: &SimulationSpec) -> Result<TitledSimulation, SettingError> {
        let mut spec = self.spec.clone().unwrap_or_else(|| first.clone());
        self.set.iter().try_for_each(|setting| spec.apply(setting))?;
        Ok(TitledSimulation { title: self.name.clone(), spec })
    }
}

/// The short names of simulations side by side.
pub const LETTERS: [&str; PresetSimulation::MOST] = ["A", "B", "C", "D"];

/// Returns the titles of simulations side by side: the short name, and the given title, or else the settings in which
/// those without one differ, as in `A: σ = 1`. The short name alone is the title of a single one.
pub fn titles_side_by_side(simulations: &[TitledSimulation]) -> Vec<String> {
    let untitled: Vec<&SimulationSpec> =
        simulations.iter().filter(|simulation| simulation.title.is_none()).map(|simulation| &simulation.spec).collect();
    let mut made = SimulationSpec::titles(&untitled).into_iter();
    let title = |(letter, TitledSimulation { title, spec }): (&str, &TitledSimulation)| {
        let title = match title {
            Some(given) => title_of_changed(given, spec),
            None => made.next().unwrap_or_default(),
        };
        if title.is_empty() { letter.to_owned() } else { format!("{letter}: {title}") }
    };
    LETTERS.into_iter().zip(simulations).map(title).collect()
}

/// Returns the title of a simulation that was given this one: where it is that of a built-in preset with other
/// settings, with those that were changed. The seed and the end are those of the clock that simulations side by side
/// share.
fn title_of_changed(given: &str, spec: &SimulationSpec) -> String {
    let found = built_ins().iter().find(|built_in| built_in.preset.title() == given);
    let Some(Preset::Landscape(preset)) = found.map(|built_in| &built_in.preset) else {
        return given.to_owned();
    };
    let before = SimulationSpec { seed: spec.seed, steps: spec.steps, ..preset.spec().clone() };
    let [this, before] = [spec.clone(), before].map(|spec| LandscapePreset::new(given, spec));
    match changes_of_landscape(&this, &before) {
        changes if changes.is_empty() => given.to_owned(),
        changes => with_changes(&changed_head(given), &changes),
    }
}

impl LandscapePreset {
    /// Returns the specification of the first simulation.
    ///
    /// # Panics
    ///
    /// Panics if there is none. The reader refuses such a preset.
    pub fn spec(&self) -> &SimulationSpec {
        first_spec(&self.simulations)
    }

    /// Returns the specification of the first simulation, mutable; panics as [`spec`](LandscapePreset::spec) does.
    pub fn spec_mut(&mut self) -> &mut SimulationSpec {
        self.simulations[0].spec.as_mut().expect(FIRST_HAS_SPEC)
    }

    /// Returns the simulations of a preset without a lesson.
    pub fn resolved_simulations(&self) -> Result<Vec<TitledSimulation>, SettingError> {
        self.simulations.iter().map(|simulation| simulation.resolved(self.spec())).collect()
    }

    /// Returns the simulations with their recorded changes.
    pub fn records(&self) -> Result<Vec<Record>, SettingError> {
        let changes = self.simulations.iter().map(|simulation| simulation.changes.clone());
        let record = |(TitledSimulation { spec, .. }, changes)| Record { spec, changes };
        Ok(self.resolved_simulations()?.into_iter().zip(changes).map(record).collect())
    }
}

const FIRST_HAS_SPEC: &str = "the first simulation of a preset has a specification, as the reader checks";

pub(super) fn first_spec(simulations: &[PresetSimulation]) -> &SimulationSpec {
    simulations[0].spec.as_ref().expect(FIRST_HAS_SPEC)
}

/// Checks the simulations of a preset, and returns the first rule that they break.
pub(super) fn check_simulations(simulations: &[PresetSimulation]) -> Result<(), SpecError> {
    const MOST: usize = PresetSimulation::MOST;
    if !(1..=MOST).contains(&simulations.len()) {
        let found = simulations.len();
        return broken("simulations", format!("must hold 1 to {MOST} simulations, found {found}"));
    }
    let Some(first) = &simulations[0].spec else {
        return broken("simulations[0]", "must have a `spec`, which later simulations may leave out");
    };
    if !simulations[0].set.is_empty() {
        return broken(
            "simulations[0].set",
            "must be empty, as it would change the `spec` beside it; change that instead",
        );
    }
    for (index, PresetSimulation { name, spec, set, changes }) in simulations.iter().enumerate() {
        let path = format!("simulations[{index}]");
        if let Some(name) = name {
            SpecError::check_name(&format!("{path}.name"), name, Preset::LONGEST_TITLE)?;
        }
        if let Some(spec) = spec {
            check_optimizers(&format!("{path}.spec.optimizers"), spec)?;
        }
        let own = spec.as_ref().unwrap_or(first);
        check_settings(own, set, &format!("{path}.set"))?;
        check_changes(own, changes, &format!("{path}.changes"))?;
    }
    Ok(())
}

pub(super) fn check_settings(own: &SimulationSpec, set: &[Setting], path: &str) -> Result<(), SpecError> {
    let mut spec = own.clone();
    let mut all = set.iter().enumerate();
    all.try_for_each(|(index, setting)| check_setting(&mut spec, setting, || format!("{path}[{index}]")))
}
