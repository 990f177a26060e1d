//! The phase diagram tab: choose axes and optimizers, watch the diagram become finer, and go from a pixel to its
//! landscape and back.

mod axes;
mod axis_controls;
mod bridge;
mod controls;
mod diagram_store;
mod export;
mod map_options;
mod map_view;
mod maps;
mod metric_names;
mod optimizer_controls;
mod panel;
mod picture;
mod raw;
mod readout;
mod run_bar;
mod tab;
mod titled;

pub(super) use panel::PhasePanel;
pub(super) use titled::ExportedDiagram;
