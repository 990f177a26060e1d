//! The session: the state of the app that is restored at its next start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use egui::ThemePreference;
use serde::{Deserialize, Serialize};

use super::diagnostics::PlotChoices;
use super::document::Document;
use super::landscape_editor::LandscapeEditor;
use super::playback::PlaybackPace;
use super::training::TrainingMemory;
use super::window_layout::WindowLayout;
use crate::preset::{LandscapePreset, Preset};
use crate::view::Camera;

/// The key of the session in eframe's storage.
pub(super) const KEY: &str = "valleyscope.session";
/// The key of an unreadable session that was set aside.
pub(super) const UNREADABLE_KEY: &str = "valleyscope.session.unreadable";

const VERSION: u32 = 1;

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    version: u32,
    /// The preset that was opened or saved last, and the document as it was left, both as presets' text:
    /// so they are checked like any other preset when they are read.
    origin: String,
    current: String,
    file: Option<PathBuf>,
    lesson_step: usize,
    window: WindowState,
}

/// The state that is stored beside the document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WindowState {
    pub pace: PlaybackPace,
    pub layout: WindowLayout,
    pub recent: Vec<PathBuf>,
    pub theme: ThemePreference,
    pub zoom: f32,
    pub view: ViewState,
    pub sweep: Option<SweepMemory>,
    pub training: Option<TrainingMemory>,
}

/// The settings under the controls of the phase diagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepMemory {
    /// A preset's text.
    pub preset: String,
    /// The preset as last opened or saved.
    pub clean: Option<String>,
    pub file: Option<PathBuf>,
}

/// The view of the landscape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ViewState {
    pub playing: bool,
    pub camera: Option<Camera>,
    /// The selected particle: its optimizer's id, and its number from 0.
    pub selected: Option<(u32, usize)>,
    /// The optimizers that are not shown, by id.
    pub hidden: BTreeSet<u32>,
    pub plots: PlotChoices,
}

impl Default for ViewState {
    fn default() -> Self {
        ViewState {
            playing: true,
            camera: None,
            selected: None,
            hidden: BTreeSet::new(),
            plots: PlotChoices::default(),
        }
    }
}

impl Session {
    pub(super) fn new(editor: &LandscapeEditor, window: WindowState) -> Session {
        let text = |preset: LandscapePreset| Preset::Landscape(preset).to_ron();
        Session {
            version: VERSION,
            origin: text(editor.saved_state().preset.clone()),
            // Without the lesson, which belongs to the saved preset and need not fit any more.
            current: text(LandscapePreset { lesson: Vec::new(), ..editor.document_draft().preset }),
            file: editor.file().map(Path::to_owned),
            lesson_step: editor.lesson_step(),
            window,
        }
    }

    pub(super) fn to_text(&self) -> String {
        ron::ser::to_string(self).expect("a session holds no value that RON cannot express")
    }

    /// The contents of a stored text, or why it cannot be used.
    pub(super) fn restore(text: &str) -> Result<(WindowState, LandscapeEditor), String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: ron::error::SpannedError| format!("the stored text is damaged: {error}");
        let found: Versioned = ron::from_str(text).map_err(unreadable)?;
        if found.version != VERSION {
            return Err(format!("expected a session of version {VERSION}, found version {}", found.version));
        }
        let session: Session = ron::from_str(text).map_err(unreadable)?;
        let landscape = |preset| if let Preset::Landscape(preset) = preset { Some(preset) } else { None };
        let preset = |text: &str, what: &str| stored_preset(text, what, "simulation", landscape);
        let origin = preset(&session.origin, "the preset of the last session")?;
        let current = preset(&session.current, "the last session")?;
        let document = Document { spec: current.simulation, view: current.view.unwrap_or_default() };
        let editor = LandscapeEditor::restored(origin, session.file, document, session.lesson_step);
        Ok((session.window.sane(), editor))
    }
}

/// The preset that a stored text holds, if it is of the expected kind. `what` names the text.
pub(super) fn stored_preset<P>(
    text: &str,
    what: &str,
    kind: &str,
    of_kind: impl FnOnce(Preset) -> Option<P>,
) -> Result<P, String> {
    let preset = Preset::parse(text, what).map_err(|error| error.to_string())?;
    of_kind(preset).ok_or_else(|| format!("{what} is no {kind}"))
}

impl WindowState {
    /// The state with values that are valid for a window.
    fn sane(mut self) -> WindowState {
        if !self.pace.steps_per_sec.is_finite() {
            self.pace = PlaybackPace::default();
        }
        self.layout.sizes = self.layout.sizes.sane();
        self.zoom = if self.zoom.is_finite() { self.zoom.clamp(0.5, 3.0) } else { 1.0 };
        self
    }
}
