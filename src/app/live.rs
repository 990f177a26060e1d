//! The panels' view of the running simulation, and their requests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use valleyscope_engine::optimizer::RuleKind;
use valleyscope_engine::simulation::{
    EngineCommand, EnsembleView, ParticleId, Playback, SimulationSpec, Snapshot, StepTrace,
};
use valleyscope_experiments::preset::LandscapePreset;

use super::editor::PresetDraft;
use super::phase::ExportedDiagram;
use super::tabs::TabName;
use crate::result::RawPlan;

/// The running simulation as the panels see it: the newest snapshot and the choices of view that are
/// no part of the document.
#[derive(Default)]
pub struct Live {
    /// The newest snapshot. Its `columns` are only those since the previous one.
    pub snapshot: Option<Snapshot>,
    pub selected: Option<ParticleId>,
    /// Optimizers that are simulated but not shown, by id. Legends toggle them.
    pub hidden: BTreeSet<u32>,
    /// While an animation is recorded: the seconds that one of its frames lasts. The camera then moves by
    /// that much with each new snapshot, not with the clock.
    pub frame_secs: Option<f32>,
}

impl Live {
    /// The shown ensembles, in the specification's order.
    pub fn visible(&self) -> impl Iterator<Item = &EnsembleView> {
        self.snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.ensembles)
            .filter(|ensemble| !self.hidden.contains(&ensemble.optimizer))
    }

    /// Selects a particle, here at once and in the engine for its next snapshots.
    pub fn select(&mut self, particle: Option<ParticleId>, requests: &mut Requests) {
        if self.selected != particle {
            self.selected = particle;
            requests.commands.push(EngineCommand::Select(particle));
        }
    }

    /// The selected particle's last step, once the engine has recorded it.
    pub fn step_trace(&self) -> Option<&StepTrace> {
        let step = self.snapshot.as_ref()?.step_trace.as_deref()?;
        (Some(step.id) == self.selected).then_some(step)
    }

    pub fn playback(&self) -> Playback {
        self.snapshot.as_ref().map_or(Playback::Paused, |snapshot| snapshot.playback)
    }

    pub fn is_playing(&self) -> bool {
        self.playback() == Playback::Playing
    }
}

/// A panel's request to the app; collected over a frame and carried out at its end.
#[derive(Default)]
pub struct Requests {
    pub commands: Vec<EngineCommand>,
    pub actions: Vec<Action>,
}

/// Something that only the app as a whole can do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Shows a short message for some seconds.
    Notify(String),
    /// Shows what went wrong until it is dismissed.
    Report {
        title: String,
        text: String,
    },
    /// Saves a picture of this part of the window, in points, as PNG where the user says.
    SavePicture {
        area: egui::Rect,
        suggested_name: String,
    },
    /// Saves text where the user says.
    SaveText {
        text: String,
        suggested_name: String,
    },
    /// Saves a file's content where the user says.
    SaveBytes {
        bytes: Vec<u8>,
        suggested_name: String,
    },
    /// Saves a picture as PNG where the user says.
    SaveImage {
        image: Arc<egui::ColorImage>,
        suggested_name: String,
    },
    /// Saves a figure or the results of a phase diagram where the user says.
    SaveDiagram {
        bytes: Vec<u8>,
        suggested_name: String,
        exported: ExportedDiagram,
    },
    /// Asks for a folder and writes raw arrays into it.
    SaveRaw(RawPlan),
    /// Asks for the folder of a training's data, beginning in this one.
    ChooseDataFolder(Option<PathBuf>),
    /// Shows another tab.
    GoTo(TabName),
    /// Asks the tab of landscapes for something.
    Landscape(LandscapeAction),
    Undo,
    Redo,
    /// Asks for a preset's file and opens it.
    OpenPreset,
    OpenBuiltIn(&'static str),
    OpenFile(PathBuf),
    /// Saves to the preset's own file; without one, asks where.
    Save,
    SaveAs,
    /// Asks for a title and a place, and saves this preset there.
    AskToSave(Box<PresetDraft>),
    TogglePresentation,
    ShowKeys,
    /// Shows what is known of an optimizer.
    ShowOptimizer(RuleKind),
    ShowAbout,
    Quit,
}

/// A request to the tab of landscapes.
#[derive(Clone, Debug, PartialEq)]
pub enum LandscapeAction {
    /// Loads a simulation into the controls, shows it and plays.
    Show(Box<LandscapePreset>),
    /// Takes these settings for those under the controls.
    Set(Box<SimulationSpec>),
    TogglePlay,
    SingleStep,
    Restart,
    /// Applies the lesson's step of this index, from 0.
    GoToStep(usize),
    /// Saves what began the session and every change since, so that it can be repeated exactly.
    SaveSession,
    OpenPictureExport,
    OpenFigureExport,
    OpenAnimationExport,
}
