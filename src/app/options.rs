//! The app's start options, and its state at exit.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use valleyscope_experiments::preset::{Library, Loaded};
use valleyscope_runs::{RunFolder, data_folder};

use super::playback::PlaybackPace;
use super::store::{SessionTexts, Store};
use super::training::TrainingPaths;
use crate::result::SweepResult;

/// The app's start options.
pub struct AppOptions {
    /// A preset to open instead of the last session's document.
    pub preset: Option<Loaded>,
    /// A sweep's result to show.
    pub result: Option<SweepResult>,
    /// A run to show.
    pub run: Option<RunFolder>,
    /// The paths of runs and of the training worker.
    pub training: TrainingPaths,
    pub library: Library,
    /// The folder of kept phase diagrams; without it, they are kept in memory only.
    pub diagrams: Option<PathBuf>,
    /// Uses the system's file dialogs if true; else paths are typed.
    pub native_dialogs: bool,
    /// Plays at once if true.
    pub play: bool,
    /// The speed; `None` for that of the last session.
    pub pace: Option<PlaybackPace>,
    /// The last session, to restore.
    pub session: SessionTexts,
    /// The file that keeps the session; without it, the next start cannot restore it.
    pub store: Option<Store>,
    /// A message from before the window opened: title and text.
    pub report: Option<(String, String)>,
    /// The computing time from which dropping a phase diagram that was not exported needs a question.
    pub worth_asking: Duration,
    /// The place for the session when the app ends in any way.
    pub exit_state: ExitState,
}

impl Default for AppOptions {
    fn default() -> Self {
        AppOptions {
            preset: None,
            result: None,
            run: None,
            training: TrainingPaths::of_user(),
            library: Library::open(),
            diagrams: data_folder().map(|folder| folder.join("diagrams")),
            native_dialogs: true,
            play: true,
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

/// The state of an app that has ended.
#[derive(Clone, Default)]
pub struct ExitState(Arc<Mutex<ExitReport>>);

pub struct ExitReport {
    /// Whether the session was saved.
    pub saved: io::Result<()>,
    /// The reason why the graphics device was lost, if it was.
    pub device_lost: Option<String>,
}

impl Default for ExitReport {
    fn default() -> ExitReport {
        ExitReport { saved: Ok(()), device_lost: None }
    }
}

impl ExitState {
    pub fn take(&self) -> ExitReport {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn leave(&self, change: impl FnOnce(&mut ExitReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
