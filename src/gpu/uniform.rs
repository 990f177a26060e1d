//! Contents of the shaders' uniform blocks, byte for byte. Each struct has the name and the members of the WGSL struct
//! it is copied to; their meaning is documented there.

use bytemuck::{Pod, Zeroable};

/// `Frame` of `frame.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    pub center_hi: [f32; 2],
    pub center_lo: [f32; 2],
    pub size_px: [f32; 2],
    pub offset_per_unit: f32,
    pub padding: f32,
}

/// `Ground` of `heatmap.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Ground {
    pub center_hi: [f32; 2],
    pub center_lo: [f32; 2],
    pub first_per_px: [f32; 2],
    pub second_per_px: [f32; 2],
    pub numbers: [[f32; 4]; 4],
    pub units_per_px: f32,
    pub center_loss: f32,
    pub inv_linear: f32,
    pub inv_length: f32,
    pub zero: f32,
    pub contours: f32,
    pub lowest_contour: f32,
    pub highest_contour: f32,
    pub center_level: f32,
    pub center_gap: f32,
    pub contour_width_px: f32,
    pub padding: f32,
}

/// `Trail` of `trails.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Trail {
    pub color: [f32; 3],
    pub opacity: f32,
    pub edge_opacity: f32,
    pub edge_px: f32,
    pub half_width_px: f32,
    pub fade_steps: f32,
    pub first_age: u32,
    pub oldest_age: u32,
    pub particles: u32,
    pub piece: u32,
    pub pieces: u32,
    pub padding: [u32; 3],
}

/// `Path` of `path.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Path {
    pub color: [f32; 3],
    pub half_width_px: f32,
    pub opacity: f32,
    pub padding: [f32; 3],
}

/// `Places` of `curve.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Places {
    pub px_per_place: [f32; 2],
    pub origin_px: [f32; 2],
}

/// `Curve` of `curve.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Curve {
    pub color: [f32; 3],
    pub opacity: f32,
    pub half_width_px: f32,
    pub period_px: f32,
    pub dash_px: f32,
    pub padding: f32,
}

/// `Disc` of `points.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Disc {
    pub color: [f32; 3],
    pub radius_px: f32,
    pub edge_opacity: f32,
    pub edge_px: f32,
    pub ring_radius_px: f32,
    pub ring_half_width_px: f32,
    pub opacity: f32,
    pub padding: [f32; 3],
}

/// `Space` of `space.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Space {
    pub right: [f32; 3],
    pub distance: f32,
    pub up: [f32; 3],
    pub focal_px: f32,
    pub back: [f32; 3],
    pub lift_px: f32,
}

/// `Surface` of `surface.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Surface {
    pub light: [f32; 3],
    pub contours: f32,
    pub zero: f32,
    pub lowest_contour: f32,
    pub highest_contour: f32,
    pub contour_width_px: f32,
    pub ambient: f32,
    pub diffuse: f32,
    pub padding: [f32; 2],
}

/// Returns an sRGB colour with channels from 0 to 1, as in the shaders.
pub(super) fn rgb(color: [u8; 3]) -> [f32; 3] {
    color.map(|channel| f32::from(channel) / 255.0)
}

/// Returns a number as a sum of two floats, accurate to about 14 digits.
pub(super) fn split(value: f64) -> (f32, f32) {
    let hi = value as f32;
    (hi, (value - f64::from(hi)) as f32)
}
