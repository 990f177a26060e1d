//! Drives the app like a user: tests find everything by its accessible name, and the player is the real one.

mod compared;
mod controls;
mod empty;
mod exports;
mod files;
mod form;
mod harness;
mod keyboard;
mod layout;
mod lessons;
mod library;
mod opening;
mod phase;
mod phase_changes;
mod presets;
mod recorded;
mod text_editor;
mod timeline;
mod training;
mod training_actions;
mod training_presets;
mod training_table;
mod training_triangle;
mod worker;
