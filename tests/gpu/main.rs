//! Pictures of the landscape, drawn on the CPU's Vulkan and compared with what the CPU computes.
#![cfg(feature = "app")]

mod heatmap;
mod offscreen;
mod overlays;
