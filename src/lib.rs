//! Valleyscope: see why one optimizer beats another in a narrowing valley.

// Only items that programs or tests need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

#[cfg(feature = "app")]
pub mod animation;
#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod export;
pub mod figure;
#[cfg(feature = "app")]
pub mod gpu;
pub mod lesson_page;
pub mod lesson_picture;
pub mod player;
pub mod regret;
pub mod result;
pub mod run_import;
pub mod run_table;
#[cfg_attr(not(feature = "app"), expect(dead_code, reason = "figures need a part of what the window needs"))]
mod setting_marks;
pub mod sweep_pool;
pub mod tensorboard;
