//! The document that a user edits: the simulations and their view. Undo, presets and the saved session handle this
//! value as a whole.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{LETTERS, TitledSimulation, titles_side_by_side};
use valleyscope_experiments::view::ViewSettings;

use super::live::Live;

/// The simulations and their view, as set by the controls. Panels change it in place; the app sends the player the
/// difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub spec: SimulationSpec,
    pub view: ViewSettings,
    /// The simulations beside the first one, on the same clock.
    #[serde(default)]
    pub beside: Vec<TitledSimulation>,
}

impl Document {
    /// Returns a document of one simulation.
    pub fn new(spec: SimulationSpec, view: ViewSettings) -> Document {
        Document { spec, view, beside: Vec::new() }
    }

    /// Returns the document with the settings in force at the shown step of a run of it.
    pub fn in_force(&self, live: &Live) -> Document {
        let snapshots = (0..self.count()).map_while(|place| live.snapshot_of(place));
        self.with_settings(snapshots.map(|snapshot| &*snapshot.spec))
    }

    /// Returns the document with the settings of runs of it, in the order of their places.
    pub fn with_settings<'a>(&self, runs: impl IntoIterator<Item = &'a SimulationSpec>) -> Document {
        let mut document = self.clone();
        for (spec, run) in document.specs_mut().zip(runs) {
            for setting in spec.settings_to(run).unwrap_or_default() {
                spec.apply(&setting).expect("a setting of a run of this document fits it");
            }
        }
        document
    }

    /// Replaces the simulations, in the order of their places.
    pub fn set_specs(&mut self, specs: impl IntoIterator<Item = SimulationSpec>) {
        self.specs_mut().zip(specs).for_each(|(spec, new)| *spec = new);
    }

    /// Returns the number of simulations side by side.
    pub fn count(&self) -> usize {
        1 + self.beside.len()
    }

    /// Returns the simulations in the order of their places: the first is 0.
    pub fn specs(&self) -> impl Iterator<Item = &SimulationSpec> {
        std::iter::once(&self.spec).chain(self.beside.iter().map(|beside| &beside.spec))
    }

    /// Returns the simulations in the order of their places, mutable.
    pub fn specs_mut(&mut self) -> impl Iterator<Item = &mut SimulationSpec> {
        std::iter::once(&mut self.spec).chain(self.beside.iter_mut().map(|beside| &mut beside.spec))
    }

    /// Returns the titles of the simulations side by side, such as `A: σ = 1`.
    pub fn titles(&self) -> Vec<String> {
        if self.beside.is_empty() {
            return vec![LETTERS[0].to_owned()];
        }
        let others = self.beside.iter().map(|beside| (beside.title.as_deref(), &beside.spec));
        titles_side_by_side(std::iter::once((None, &self.spec)).chain(others))
    }

    /// Gives all simulations the step at which to pause and the seed of the first one, where these have changed.
    pub(super) fn share_changed(&mut self, (steps, seed): (Option<u64>, u64)) {
        let now = (self.spec.steps, self.spec.seed);
        for beside in &mut self.beside {
            if now.0 != steps {
                beside.spec.steps = now.0;
            }
            if now.1 != seed {
                beside.spec.seed = now.1;
            }
        }
    }

    /// Calls `edit` while the simulation at this place is in the place of the first one.
    pub(super) fn with_session<T>(&mut self, place: usize, edit: impl FnOnce(&mut Document) -> T) -> T {
        self.exchange(place);
        let edited = edit(self);
        self.exchange(place);
        edited
    }

    fn exchange(&mut self, place: usize) {
        if let Some(other) = place.checked_sub(1).and_then(|index| self.beside.get_mut(index)) {
            std::mem::swap(&mut self.spec, &mut other.spec);
        }
    }
}
