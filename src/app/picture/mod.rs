//! Pictures of a run at a step, for saved pictures and animations.
//!
//! A [`PictureSubject`] is a recorded session with its view, [`PictureOptions`] are what a picture shows of it, and a
//! [`PictureStage`] draws it with a simulation and a graphics device of its own, so that the window is not involved.

mod caption;
mod options;
mod stage;

pub use options::{PictureContent, PictureOptions};
pub use stage::{PictureStage, PictureSubject, View};
