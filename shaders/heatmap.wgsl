// The loss of every pixel as a colour, with contour lines. The landscape's own part stands behind this file: the
// function `loss_at`, in `valley.wgsl` or `program.wgsl`.

struct LossMap {
    // The camera's centre in the landscape's coordinates as a sum of two floats.
    center_hi: vec2<f32>,
    center_lo: vec2<f32>,
    // Changes of the two coordinates per centred pixel, as vectors for dot products.
    first_per_px: vec2<f32>,
    second_per_px: vec2<f32>,
    // The numbers of the landscape.
    numbers: array<vec4<f32>, 4>,
    center_loss: f32,
    // 1 / linear, the inverse of the colour bar's length in logarithms, and the position of 0 on the colour bar.
    inv_linear: f32,
    inv_length: f32,
    zero: f32,
    // The number of contour intervals: lines lie at every 1 / contours of the colour bar, counted from 0; 0 for none.
    contours: f32,
    // The numbers of the lowest and of the highest contour.
    lowest_contour: f32,
    highest_contour: f32,
    // The contour nearest to the centre's loss, and how far the centre's loss is above it.
    center_level: f32,
    center_gap: f32,
    contour_width_px: f32,
}

@group(1) @binding(0) var<uniform> loss_map: LossMap;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) px: vec2<f32>,
}

@vertex
fn heatmap_vertex(@builtin(vertex_index) index: u32) -> Varying {
    let corner = covering_corner(index);
    return Varying(vec4<f32>(corner, 0.0, 1.0), 0.5 * corner * frame.size_px);
}

struct Loss {
    value: f32,
    // The gradient in the landscape's coordinates.
    gradient: vec2<f32>,
    // The loss above the centre's, more accurate than the difference of two losses where `is_relative`.
    above_center: f32,
    is_relative: bool,
}

// Compilers may assume that a number is not NaN, but not what its bits are.
fn is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}

// Returns the colour of a pixel whose loss is not a number: slanted lines.
fn hatch(pixel: vec2<f32>) -> vec3<f32> {
    let stripe = fract((pixel.x + pixel.y) / 10.0);
    return select(vec3<f32>(0.42), vec3<f32>(0.22), stripe < 0.35);
}

// Returns the position on the colour bar, not clamped to 0 and 1.
fn scale_position(loss: f32) -> f32 {
    return loss_map.zero + loss_map.inv_length * sign(loss) * log(1.0 + abs(loss) * loss_map.inv_linear);
}

struct Contour {
    // Position on the colour bar of the contour nearest to the pixel.
    position: f32,
    // The fraction of the pixel that the contour line covers.
    coverage: f32,
}

fn nearest_contour(loss: Loss, position: f32) -> Contour {
    let loss_per_px =
        length(loss.gradient.x * loss_map.first_per_px + loss.gradient.y * loss_map.second_per_px);
    let levels_per_loss =
        loss_map.contours * loss_map.inv_length * loss_map.inv_linear / (1.0 + abs(loss.value) * loss_map.inv_linear);
    let levels_per_px = max(loss_per_px * levels_per_loss, 1e-30);

    let levels = (position - loss_map.zero) * loss_map.contours;
    let level = clamp(round(levels), loss_map.lowest_contour, loss_map.highest_contour);
    var distance_px = abs(levels - level) / levels_per_px;
    if loss.is_relative && level == loss_map.center_level {
        distance_px = abs(loss_map.center_gap + loss.above_center) / max(loss_per_px, 1e-30);
    }
    // On steep walls the lines would merge into a moiré: they fade where they are close.
    let spacing_px = 1.0 / levels_per_px;
    let coverage = inside(distance_px - 0.5 * loss_map.contour_width_px) * smoothstep(3.0, 7.0, spacing_px);
    return Contour(loss_map.zero + level / loss_map.contours, coverage);
}

@fragment
fn heatmap_fragment(in: Varying) -> @location(0) vec4<f32> {
    let loss = loss_at(dot(in.px, loss_map.first_per_px), dot(in.px, loss_map.second_per_px));
    if is_nan(loss.value) {
        return target_color(hatch(in.position.xy), 1.0);
    }
    let position = scale_position(loss.value);
    var color = loss_color(position);
    if loss_map.contours > 0.0 {
        let contour = nearest_contour(loss, position);
        color = lined(color, contour.position, contour.coverage);
    }
    return target_color(color, 1.0);
}
