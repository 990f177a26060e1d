//! The document that a user edits: the simulation and its view. Undo, presets and the saved session handle this value
//! as a whole.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::view::ViewSettings;

/// The simulation and its view, as set by the controls. Panels change it in place; the app sends the player the
/// difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub spec: SimulationSpec,
    pub view: ViewSettings,
}

impl Document {
    /// Returns the document with the settings of `spec`, a run of this document.
    pub fn in_force(&self, spec: &SimulationSpec) -> Document {
        let mut document = self.clone();
        for setting in self.spec.settings_to(spec).unwrap_or_default() {
            document.spec.apply(&setting).expect("a setting of a run of this document fits it");
        }
        document
    }
}
