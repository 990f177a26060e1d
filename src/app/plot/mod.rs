//! The plot that all tabs draw: its axes and ticks, its gestures, and the drawing of curves.
//!
//! A [`PlotFrame`] has two axes, draws grid, labels and the pointer's line, and returns the gestures; a [`Zoom`]
//! applies them to all plots that share a horizontal axis. A tab adds its metrics, curves, legends, and the text for
//! screen readers.

mod curve_item;
mod dashed_line;
mod drawing;
mod frame;
mod readout;
mod zoom;

pub(super) use curve_item::{CurveItem, install as install_curves};
pub(super) use dashed_line::sample as dash_sample;
pub(super) use drawing::{band, dashed, dashes, error_bar, line, near_line, point};
pub(super) use frame::{PlotAxis, PlotFrame, ShownPlot};
pub(super) use readout::{LeavingCurve, beyond, readout};
pub(super) use zoom::Zoom;
