//! The options of the app at its start, and its state at its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use valleyscope_experiments::preset::{Library, Loaded};
use valleyscope_runs::RunFolder;

use crate::app::playback::PlaybackPace;
use crate::app::training::TrainingPaths;
use crate::result::SweepResult;

/// The options of the app at its start.
pub struct AppOptions {
    /// Opened instead of the last session's document.
    pub preset: Option<Loaded>,
    /// A result of a sweep to show.
    pub result: Option<SweepResult>,
    /// A run to show.
    pub run: Option<RunFolder>,
    /// The paths of runs and of the training worker.
    pub training: TrainingPaths,
    pub library: Library,
    /// Ask the system for its file dialogs; without it paths are typed.
    pub native_dialogs: bool,
    /// Play at once.
    pub play: bool,
    /// The speed; without it, that of the last session.
    pub pace: Option<PlaybackPace>,
    /// Something that the user must know from before the window was there: title and text.
    pub report: Option<(String, String)>,
    /// The computing time from which on a phase diagram that was not exported is not dropped without a question.
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
            native_dialogs: true,
            play: true,
            pace: None,
            report: None,
            // What is computed again in seconds is not worth one.
            worth_asking: Duration::from_secs(10),
            exit_state: ExitState::default(),
        }
    }
}

/// The state of an app that has ended.
#[derive(Clone, Default)]
pub struct ExitState(Arc<Mutex<ExitReport>>);

#[derive(Default)]
pub struct ExitReport {
    /// The session, as its stored text.
    pub session: Option<String>,
    /// Why the graphics device was lost, if it was.
    pub device_lost: Option<String>,
}

impl ExitState {
    pub fn take(&self) -> ExitReport {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn leave(&self, change: impl FnOnce(&mut ExitReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
