//! Valleyscope: see why one optimizer beats another in a narrowing valley.

// Only items that programs or tests need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod draw;
pub mod export;
#[cfg(feature = "app")]
pub mod gpu;
pub mod player;
pub mod runs;
pub mod sweep;
