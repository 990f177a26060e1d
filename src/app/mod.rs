//! The desktop app: panels with small states over one document and one running simulation.
//!
//! Panels change the [`Document`] in place and request anything else through [`Requests`]. At the end of a frame the
//! app sends the player the changes; at the start of the next it takes the player's snapshots. Nothing here blocks on
//! the player, a disk or a dialog.

pub mod landscape;
mod phase;
pub mod shell;
mod training;
mod widgets;

pub use crate::player::PlaybackPace;
pub use landscape::editor::Document;
pub use landscape::live::Live;
pub use shell::Valleyscope;
pub use shell::actions::{Action, LandscapeAction, Requests};
pub use shell::files::OpenedContent;
pub use shell::graphics::Graphics;
pub use shell::launch::run;
pub use shell::menu::shortcuts;
pub use shell::tab::{AppOptions, ExitState};
pub use training::{InstallCommand, TrainingPanel, TrainingPaths, WorkerState};
