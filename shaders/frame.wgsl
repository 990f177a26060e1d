// Declarations about the picture that are shared by all shaders, put in front of each of them.
//
// "Centred pixels" are measured from the middle of the canvas, x to the right and y up. An "offset" is a
// point's difference from the camera's centre in a unit of the surface: pixels on the plane, half the width of the square
// in view for a surface in space. `plane.wgsl` and `space.wgsl` place offsets in the picture.

struct Frame {
    // The offset of a point is the product of its difference from the centre with the first and the last two of these.
    offset_per_unit: vec4<f32>,
    // The camera's centre as a sum of two floats, to about 14 digits.
    center_hi: vec2<f32>,
    center_lo: vec2<f32>,
    size_px: vec2<f32>,
}

@group(0) @binding(0) var<uniform> frame: Frame;

// Whether the target itself encodes to sRGB, and so needs linear values.
override target_encodes: bool = false;
// The factor of the opacity of overlays, less than 1 where they lie behind the surface.
override visibility: f32 = 1.0;

// Near the centre the first difference is exact, so a deep zoom loses no precision.
fn offset_from_xy(xy: vec2<f32>) -> vec2<f32> {
    let from_center = (xy - frame.center_hi) - frame.center_lo;
    return vec2<f32>(dot(from_center, frame.offset_per_unit.xy), dot(from_center, frame.offset_per_unit.zw));
}

// A point in the picture, in centred pixels; `exists` is false where nothing is drawn.
struct Placed {
    px: vec2<f32>,
    // From 0 at the eye to 1 far away; 0 on the plane.
    depth: f32,
    exists: bool,
}

fn clip_from_px(px: vec2<f32>, depth: f32) -> vec4<f32> {
    return vec4<f32>(2.0 * px / frame.size_px, depth, 1.0);
}

// A vertex outside of the picture; a shape with all its vertices here draws nothing.
const NOWHERE = vec4<f32>(2.0, 2.0, 2.0, 1.0);

// Tests the bits, because compilers may assume that there are no NaNs.
fn is_finite(p: vec2<f32>) -> bool {
    let exponents = bitcast<vec2<u32>>(p) & vec2<u32>(0x7f800000u);
    return all(exponents != vec2<u32>(0x7f800000u));
}

// Returns the target's value for an sRGB colour and its opacity: premultiplied by the opacity.
fn target_color(rgb: vec3<f32>, opacity: f32) -> vec4<f32> {
    if target_encodes {
        let linear = select(pow((rgb + 0.055) / 1.055, vec3<f32>(2.4)), rgb / 12.92, rgb <= vec3<f32>(0.04045));
        return vec4<f32>(linear * opacity, opacity);
    }
    return vec4<f32>(rgb * opacity, opacity);
}

// Puts one premultiplied colour over another.
fn over(top: vec4<f32>, bottom: vec4<f32>) -> vec4<f32> {
    return top + (1.0 - top.a) * bottom;
}

// Returns the fraction of a pixel that lies inside an edge at this signed distance (negative is inside).
fn inside(distance_px: f32) -> f32 {
    return saturate(0.5 - distance_px);
}

// Returns a corner of one triangle that covers the whole canvas.
fn covering_corner(index: u32) -> vec2<f32> {
    return vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
}
