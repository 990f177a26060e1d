//! The interface of a tab of the window, and the options of the app, with which tabs start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use egui::{Rect, Ui, Vec2};
use ron::value::RawValue;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::{Library, Preset};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_runs::data_folder;

use super::actions::Requests;
use super::editor::{EditorStatus, HistoryStep, PresetDraft};
use super::export::{ExportKind, ExportSource};
use super::files::OpenedContent;
use super::messages::Messages;
use super::presets::PresetCatalog;
use super::session::{SessionTexts, Store};
use super::window::WindowLayout;
use crate::app::training::TrainingPaths;
use crate::player::PlaybackPace;

pub(crate) struct TabInfo {
    /// The tab's name in the menu bar.
    pub title: &'static str,
    /// The kinds of the presets that it opens.
    pub preset_kinds: &'static [&'static str],
    /// The heading of those presets in the menu.
    pub presets_heading: &'static str,
    /// The keys that act in it, and their effects.
    pub keys: &'static [(&'static str, &'static str)],
    /// The kinds of exports that it offers.
    pub exports: &'static [ExportKind],
    /// Whether the tab has plots, which the View menu shows and hides.
    pub has_plots: bool,
    /// The size, in points, in which presentations lay it out. A smaller one has larger type.
    pub presented_size: Vec2,
}

/// A tab of the window: a draft under controls, with its computations and drawings.
///
/// The menu bar, saving and opening, undo, the window's title, keys, the session and the question at the end use only
/// this interface. A method that a single other part of the program needs belongs to the tab's own type.
pub(crate) trait Tab {
    /// The preset's file, and whether saving may replace it without a question.
    fn target(&self) -> Option<(&Path, Overwrite)>;

    fn status(&self) -> EditorStatus;

    /// Makes the preset to save. Unless it is the user's own file, its title lists the changes.
    fn to_save(&self) -> PresetDraft;

    fn saved(&mut self, written: PresetDraft, file: &Path);

    fn undo_or_redo(&mut self, step: HistoryStep);

    /// Opens a preset, a result or a run that this tab shows, or returns what another tab shows. `file` is the user's
    /// own file of a preset. Undo restores the previous preset.
    fn open(
        &mut self,
        content: OpenedContent,
        file: Option<&Path>,
        requests: &mut Requests,
    ) -> Result<(), OpenedContent>;

    /// Serializes the state to restore in the next session.
    fn to_memory(&self) -> Memory;

    /// Takes updates from threads. Called in each frame, even while another tab is shown or the window is hidden.
    fn logic(&mut self, frame: TabFrame, requests: &mut Requests);

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests);

    /// The area in which its picture was last drawn.
    fn area(&self) -> Option<Rect>;

    /// Returns its content as it is now, for the sheet of exports.
    fn export_source(&mut self) -> Arc<dyn ExportSource>;
}

/// A tab that the registry can create.
pub(crate) trait RegisteredTab: Tab + Sized {
    const INFO: TabInfo;

    /// Restores the tab from the last session, or makes that of a first start.
    fn begin(start: &mut Start<'_>) -> Self;
}

/// The frame in which a tab does its background work.
#[derive(Clone, Copy)]
pub(crate) struct TabFrame {
    pub is_shown: bool,
    pub is_window_visible: bool,
}

/// The surroundings of a tab that is drawn.
pub(crate) struct TabWindow<'a> {
    pub layout: &'a mut WindowLayout,
    pub catalog: &'a PresetCatalog,
    /// The simulation under the landscape's controls.
    pub simulation: &'a SimulationSpec,
}

/// The app's start options.
pub struct AppOptions {
    /// The contents to open in the tabs in place of those of the last session, each with its file if it is a preset of
    /// the user.
    pub opened: Vec<(OpenedContent, Option<PathBuf>)>,
    /// The paths of runs and of the training worker.
    pub training: TrainingPaths,
    pub library: Library,
    /// The folder of saved phase diagrams; without it, they stay in memory only.
    pub diagrams: Option<PathBuf>,
    /// Uses the system's file dialogs if true; else paths are typed.
    pub native_dialogs: bool,
    /// Plays at once if true, unless the last session was paused.
    pub play: bool,
    /// Shows the opening of a first start if true, unless something else is to be opened.
    pub opening: bool,
    /// The speed; `None` for that of the last session.
    pub pace: Option<PlaybackPace>,
    /// The last session, to restore.
    pub session: SessionTexts,
    /// The file that stores the session; without it, the next start cannot restore it.
    pub store: Option<Store>,
    /// A message from before the window opened: title and text.
    pub report: Option<(String, String)>,
    /// The computing time from which dropping a phase diagram needs a question.
    pub worth_asking: Duration,
    /// Shared storage for the session when the app ends in any way.
    pub exit_state: ExitState,
}

impl Default for AppOptions {
    fn default() -> Self {
        AppOptions {
            opened: Vec::new(),
            training: TrainingPaths::of_user(),
            library: Library::open(),
            diagrams: data_folder().map(|folder| folder.join("diagrams")),
            native_dialogs: true,
            play: true,
            opening: false,
            pace: None,
            session: SessionTexts::new(),
            store: None,
            report: None,
            // A diagram that is computed again in seconds needs no question.
            worth_asking: Duration::from_secs(10),
            exit_state: ExitState::default(),
        }
    }
}

#[derive(Clone, Default)]
pub struct ExitState(Arc<Mutex<ExitReport>>);

#[derive(Default)]
pub struct ExitReport {
    /// The reason why the session could not be saved, if it could not.
    pub unsaved: Option<io::Error>,
    /// The reason why the graphics device was lost, if it was.
    pub device_lost: Option<String>,
}

impl ExitState {
    pub fn take(&self) -> ExitReport {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn leave(&self, change: impl FnOnce(&mut ExitReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The conditions of a tab's start.
pub(crate) struct Start<'a> {
    pub cc: &'a eframe::CreationContext<'a>,
    pub options: &'a AppOptions,
    pub messages: &'a mut Messages,
    /// The state in the last session of the tab being created.
    pub memory: Option<Memory>,
    /// True if a tab could not use its state.
    pub has_refused: bool,
}

impl Start<'_> {
    /// Restores the tab by `restore` from its state in the last session, if there is one. Reports an unusable state
    /// under this title.
    pub(crate) fn restore_memory<M: DeserializeOwned, T>(
        &mut self,
        title: &str,
        restore: impl FnOnce(M) -> Result<T, String>,
    ) -> Option<T> {
        let memory = self.memory.take()?;
        match memory.read().and_then(restore) {
            Ok(restored) => Some(restored),
            Err(reason) => {
                self.has_refused = true;
                let text = format!(
                    "{reason}\n\nIt was set aside, and the tab starts with a built-in preset.\n\n{}",
                    memory.0.get_ron()
                );
                self.messages.report(title, text);
                None
            }
        }
    }
}

/// The state of a tab in a session's file, as text that only the tab reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Memory(Box<RawValue>);

impl Memory {
    pub(crate) fn new(state: &impl Serialize) -> Memory {
        Memory(RawValue::from_rust(state).expect("a session holds no value that RON cannot express"))
    }

    fn read<M: DeserializeOwned>(&self) -> Result<M, String> {
        self.0.into_rust().map_err(|error| format!("the stored text is damaged: {error}"))
    }
}

/// Parses a stored preset of the expected kind. `what` names it in the error.
pub(crate) fn stored_preset<P>(
    text: &str,
    what: &str,
    kind: &str,
    of_kind: impl FnOnce(Preset) -> Option<P>,
) -> Result<P, String> {
    let preset = Preset::parse(text, what).map_err(|error| error.to_string())?;
    of_kind(preset).ok_or_else(|| format!("{what} is no {kind}"))
}
