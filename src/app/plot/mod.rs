//! The plot that all tabs draw: its axes and marks, the gestures that move it, and what is drawn of a curve.

mod curve_item;
mod drawing;
mod frame;
mod readout;
mod zoom;

pub(super) use curve_item::{CurveItem, install as install_curves};
pub(super) use drawing::{band, error_bar, line, near_line, point};
pub(super) use frame::{PlotAxis, PlotFrame, ShownPlot};
pub(super) use readout::{LeavingCurve, readout};
pub(super) use zoom::Zoom;
