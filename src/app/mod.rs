//! The desktop app: panels with small states over one document and one running simulation.
//!
//! Panels change the [`Document`] in place and request anything else through [`Requests`]. At the end of a frame the
//! app sends the player the changes; at the start of the next it takes the player's snapshots. Nothing here blocks on
//! the player, a disk or a dialog.

pub mod animation;
mod branch_list;
mod branches;
mod controls;
pub mod diagnostics;
mod dialog;
mod document;
mod editor;
mod figure_export;
mod figure_layout;
mod files;
mod form;
mod graphics;
mod help;
mod history;
mod icons;
mod keyboard;
mod keys;
pub mod landscape;
mod landscape_tab;
mod launch;
mod lesson;
mod live;
mod mark_menu;
mod menu;
mod menu_item;
mod messages;
mod native_dialog;
mod number;
mod offscreen;
mod opened;
mod options;
mod pending_exports;
mod phase;
mod picture_export;
mod playback;
mod player_link;
mod plot;
mod presentation;
mod preset_catalog;
mod question;
mod quit;
mod save_preset;
mod saved_states;
mod screenshot;
mod session;
mod setting_animation;
mod setting_marks;
mod shell;
mod side_panel;
pub mod store;
mod tab;
mod tabs;
mod text_editor;
mod theme;
mod timeline;
mod training;
mod transport;
mod typed;
mod wake;
mod window_layout;

pub use document::Document;
pub use keyboard::shortcuts;
pub use launch::{Opened, run};
pub use live::{Action, LandscapeAction, Live, Requests};
pub use offscreen::{Offscreen, PictureExtent, PictureSize};
pub use options::{AppOptions, ExitState};
pub use playback::PlaybackPace;
pub use shell::Valleyscope;
pub use training::{InstallCommand, TrainingPanel, TrainingPaths, WorkerState};
