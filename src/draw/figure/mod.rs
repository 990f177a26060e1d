//! Figures for publication: maps of phase diagrams, plots of grids, curves of trainings and landscapes with
//! trajectories, with titles and legends.
//!
//! A [`Figure`] has one content, which is laid out at a width and drawn on paper. Every file has title, program
//! version, seed and spec as metadata, and no time: equal results give equal bytes.

mod curves;
mod grid;
mod landscape;
mod maps;
mod page;
mod trajectories;
mod triangle;

pub use curves::{CurveMark, Curves, RunPlots, TimeAxis, TrainedRun};
pub use landscape::small_picture;
pub use maps::Compared;
pub use page::{COLUMN_MM, Figure, Options, PAGE_MM};
pub use trajectories::{Trajectories, TrajectoriesError};
