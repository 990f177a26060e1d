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

// The paths of modules before they moved, which the phase diagram, the trainings and the command line use.
pub(crate) use landscape::animation_export as animation;
pub(crate) use landscape::controls;
pub(crate) use landscape::figure_export as figure_layout;
pub(crate) use landscape::picture;
pub(crate) use landscape::plots as diagnostics;
pub(crate) use shell::jobs as exports;
pub(crate) use shell::jobs as pending_exports;
pub(crate) use shell::jobs as wake;
pub(crate) use shell::{editor, files as opened, presets as preset_catalog, presets as save_preset, tabs as tab};
pub(crate) use shell::{messages as question, window as side_panel, window as window_layout};
pub(crate) use widgets::form as boxes;
pub(crate) use widgets::number as typed;
pub(crate) use widgets::{form, icons, number, plot, text_editor, theme};
pub(crate) mod live {
    pub(crate) use super::landscape::live::LandscapeAction;
    pub(crate) use super::shell::actions::{Action, Requests};
}
pub(crate) mod dialog {
    pub(crate) use super::shell::messages::show_modal as show;
}

pub use landscape::editor::Document;
pub use landscape::live::{LandscapeAction, Live};
pub use landscape::transport::PlaybackPace;
pub use shell::Valleyscope;
pub use shell::actions::{Action, Requests};
pub use shell::launch::{AppOptions, ExitState, Graphics, Opened, run};
pub use shell::menu::shortcuts;
pub use training::{InstallCommand, TrainingPanel, TrainingPaths, WorkerState};
