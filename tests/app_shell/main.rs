//! The app as a person uses it: everything is found by its accessible name, and the engine is the real one.

mod controls;
mod files;
mod harness;
mod keyboard;
mod layout;
mod phase;
mod presets;
#[cfg(target_os = "linux")]
mod queue;
mod raw;
mod session;
mod training;
mod training_exports;
mod worker;
