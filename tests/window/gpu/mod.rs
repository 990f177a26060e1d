//! Pictures of the landscape and of plots' curves, drawn on the CPU's Vulkan and compared with what the CPU computes.

mod curves;
mod heatmap;
mod offscreen;
mod overlays;
