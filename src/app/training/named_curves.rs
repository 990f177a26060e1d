//! Curves with their names and pens in plots.

use valleyscope_experiments::view::Pen;

use super::names::Name;
use super::plotter::RunCurves;

/// A group of runs with its name and its pen.
pub(super) struct NamedCurves<'a> {
    pub name: Name,
    pub pen: Pen,
    /// Whether the colour was chosen for the run.
    pub is_color_chosen: bool,
    pub drawn: &'a RunCurves,
}
