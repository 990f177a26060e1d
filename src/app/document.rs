//! The document that a user edits: the simulation and its view. Undo, presets and the saved session handle this value
//! as a whole.

use serde::{Deserialize, Serialize};

use crate::simulation::SimulationSpec;
use crate::view::ViewSettings;

/// Everything under the controls. Panels change it in place; the app compares it with what the engine
/// runs and sends the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub spec: SimulationSpec,
    pub view: ViewSettings,
}
