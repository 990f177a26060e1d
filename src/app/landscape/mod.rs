//! The landscape with its particles, and the formulas of the selected one.

mod axes;
mod color_bar;
mod color_settings;
mod formula_panel;
mod framing;
mod glyphs;
mod interaction;
mod labels;
mod layout;
mod legend;
pub(crate) mod marker;
mod marks;
mod means;
mod motion;
mod paint;
mod panel;
mod pre_step_readout;
mod projection;
mod readout;
mod space_axes;
mod summary;
mod titles;

pub(super) use color_settings::{FIRST_SCALE, color_scale, colormap_name};
pub use formula_panel::FormulaPanel;
pub use glyphs::{Glyph, compressed_length, glyphs};
pub use interaction::{Tool, nearest_particle};
pub(super) use legend::ChosenColor;
pub use marker::line_color;
pub use motion::{Bounds, Follower, FramedEnsembles, fitted, limited, panned, zoomed};
pub use panel::LandscapePanel;
pub use projection::{Mark, Projection, SpaceProjection};
pub use readout::Readout;
