//! Drives the app like a user: tests find everything by its accessible name, and the player is the real one.

mod branches;
mod clipboard;
mod colors;
mod compared_diagrams;
mod controls;
mod differences;
mod figure_export;
mod files;
mod harness;
mod help;
mod kept_diagrams;
mod keyboard;
mod landscape_text;
mod layout;
mod legibility;
mod lesson_editor;
mod phase;
mod phase_changes;
mod phase_drags;
mod presentation;
mod presets;
#[cfg(target_os = "linux")]
mod queue;
mod raw;
mod rule_text;
mod session;
mod setting_animation;
mod side_by_side;
mod timeline;
mod training;
mod training_change;
mod training_exports;
mod training_faults;
#[cfg(target_os = "linux")]
mod training_fork;
mod training_presets;
#[cfg(target_os = "linux")]
mod training_tab;
mod training_table;
mod training_watch;
mod undo;
mod worker;
