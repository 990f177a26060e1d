//! The phase diagram tab: choose axes and optimizers, watch the diagram become finer, and go from a pixel to its
//! landscape and back.

mod axes;
mod axis_controls;
mod card_words;
mod comparison;
mod controls;
mod diagram_store;
mod differences;
mod export;
mod kept;
mod map_options;
mod map_view;
mod maps;
mod optimizer_controls;
mod panel;
mod picture;
mod pixel_landscape;
mod pixels;
mod raw;
mod readout;
mod run_bar;
mod score_curve;
mod score_table;
mod strip;
mod tab;
mod titled_diagram;
mod tune_controls;

pub(super) use panel::PhasePanel;
pub(super) use pixel_landscape::position_of;
pub(super) use titled_diagram::ExportedDiagram;
