//! Pictures of the landscape and of plots' curves, drawn by the CPU's Vulkan and compared with the CPU's values.

mod offscreen;
mod overlays;
mod surface;
