//! Curves with the name and the line that they have in plots.

use valleyscope_experiments::view::Pen;

use super::names::Name;
use super::plotter::RunCurves;

/// A group of runs as it is drawn.
pub(super) struct NamedCurves<'a> {
    pub name: Name,
    pub pen: Pen,
    pub drawn: &'a RunCurves,
}
