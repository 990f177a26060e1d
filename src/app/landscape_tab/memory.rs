//! The state of the tab that the next start restores.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{Beside, LandscapePreset, LessonDraft, LessonStep, Preset};
use valleyscope_experiments::view::{Camera, Orbit, ViewSettings};

use super::editor::LandscapeEditor;
use crate::app::controls::Pins;
use crate::app::diagnostics::PlotChoices;
use crate::app::document::Document;
use crate::app::playback::PlaybackPace;
use crate::app::tab::stored_preset;

/// The document, its view, and the speed of the run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LandscapeMemory {
    /// The preset that was opened or saved last, and the present document, both as presets' text, so that reading
    /// checks them like any preset.
    origin: String,
    current: String,
    file: Option<PathBuf>,
    /// The lesson, if it was edited. It need not be valid yet.
    #[serde(default)]
    lesson: Option<EditedLesson>,
    lesson_step: usize,
    pace: PlaybackPace,
    view: ViewState,
}

/// A lesson with unsaved changes, and what its steps change.
#[derive(Debug, Serialize, Deserialize)]
struct EditedLesson {
    simulation: SimulationSpec,
    view: Option<ViewSettings>,
    #[serde(default)]
    beside: Vec<Beside>,
    steps: Vec<LessonStep>,
}

/// The view of the landscape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ViewState {
    pub playing: bool,
    pub camera: Option<Camera>,
    /// The direction from which the surface in space is seen.
    pub orbit: Orbit,
    /// The selected particle: its optimizer's id, and its number from 0.
    pub selected: Option<(u32, usize)>,
    /// The ids of hidden optimizers.
    pub hidden: BTreeSet<u32>,
    /// The place of the simulation that the controls set.
    #[serde(default)]
    pub chosen: usize,
    /// Whether landscapes side by side have cameras of their own.
    #[serde(default)]
    pub has_own_cameras: bool,
    pub plots: PlotChoices,
    /// The sliders that presentations show.
    #[serde(default)]
    pub pins: Pins,
}

/// The restored state of the tab.
pub(super) struct Restored {
    pub editor: LandscapeEditor,
    pub pace: PlaybackPace,
    pub view: ViewState,
}

impl LandscapeMemory {
    pub(super) fn new(editor: &LandscapeEditor, pace: PlaybackPace, view: ViewState) -> LandscapeMemory {
        let text = |preset: LandscapePreset| Preset::Landscape(preset).to_ron();
        let saved = &editor.saved_state().preset;
        let lesson = (editor.draft.lesson.steps != saved.lesson).then(|| {
            let LessonDraft { simulation, view, beside, steps } = editor.draft.lesson.clone();
            EditedLesson { simulation, view, beside, steps }
        });
        LandscapeMemory {
            origin: text(saved.clone()),
            // Without the lesson, which need not be valid.
            current: text(editor.present_preset()),
            file: editor.file().map(Path::to_owned),
            lesson,
            lesson_step: editor.lesson_step(),
            pace,
            view,
        }
    }

    /// Restores the tab's state, or returns why it cannot be used.
    pub(super) fn restore(self) -> Result<Restored, String> {
        let landscape = |preset| if let Preset::Landscape(preset) = preset { Some(preset) } else { None };
        let preset = |text: &str, what: &str| stored_preset(text, what, "simulation", landscape);
        let origin = preset(&self.origin, "the preset of the last session")?;
        let current = preset(&self.current, "the last session")?;
        let beside = current.beside_at(0, &current.simulation).map_err(|error| error.to_string())?;
        let document = Document { spec: current.simulation, view: current.view.unwrap_or_default(), beside };
        let lesson = self.lesson.map(|EditedLesson { simulation, view, beside, steps }| LessonDraft {
            simulation,
            view,
            beside,
            steps,
        });
        let editor = LandscapeEditor::restored(origin, self.file, document, lesson, self.lesson_step);
        let pace = if self.pace.steps_per_sec.is_finite() { self.pace } else { PlaybackPace::default() };
        Ok(Restored { editor, pace, view: self.view })
    }
}
