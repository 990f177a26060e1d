//! Lengths that the parts of all figures share, in font sizes.

/// The margin around a figure.
pub(super) const MARGIN: f64 = 0.5;
/// Length of a labelled tick.
pub(super) const TICK: f64 = 0.35;
/// The gap between a tick and its label.
pub(super) const LABEL_GAP: f64 = 0.25;
/// Height of a line of text.
pub(super) const LINE: f64 = 1.35;
/// Width of a line's key in a legend.
pub(super) const KEY: f64 = 2.2;
/// The gap between plots beside each other.
pub(super) const GAP: f64 = 1.2;
pub(super) const NARROWEST_PANEL: f64 = 5.0;
/// The smallest height of a plot, so that its label has room.
pub(super) const LEAST_HEIGHT: f64 = 8.0;
/// The width from which plots are side by side.
pub(super) const WIDE: f64 = 46.0;
/// The width of a curve, in points.
pub(super) const CURVE_WIDTH: f64 = 1.1;
