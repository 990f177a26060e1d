// The loss L = (a/2) u² v² − c u of every pixel as a colour, with contour lines.

struct Ground {
    // The camera's centre (u₀, v₀) as a sum of two floats.
    uv_hi: vec2<f32>,
    uv_lo: vec2<f32>,
    // Changes of u and of v per centred pixel, as vectors for dot products.
    u_per_px: vec2<f32>,
    v_per_px: vec2<f32>,
    units_per_px: f32,
    sharpness: f32,
    slope: f32,
    // The product u₀ v₀ and the loss at the camera's centre.
    center_uv: f32,
    center_loss: f32,
    // 1 / linear, and ½ / ln(1 + max / linear), of the symmetric logarithm.
    inv_linear: f32,
    half_inv_log: f32,
    // The number of contour intervals: lines lie at every 1 / contours of the colour bar; 0 for none.
    contours: f32,
    // The contour nearest to the centre's loss, and how far the centre's loss is above it.
    center_level: f32,
    center_gap: f32,
    contour_width_px: f32,
}

@group(1) @binding(0) var<uniform> ground: Ground;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) px: vec2<f32>,
}

// One triangle that covers the whole canvas.
@vertex
fn heatmap_vertex(@builtin(vertex_index) index: u32) -> Varying {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return Varying(vec4<f32>(corner, 0.0, 1.0), 0.5 * corner * frame.size_px);
}

struct Loss {
    value: f32,
    // The gradient in u and v.
    gradient: vec2<f32>,
    // The loss above the centre's, more accurate than the difference of two losses where `is_relative`.
    above_center: f32,
    is_relative: bool,
}

// Evaluates the loss at the camera's centre plus (du, dv).
//
// At a wide view the formula itself is best. At a deep zoom its rounding would exceed the differences between pixels;
// there the loss is the centre's plus the change due to du and dv, the same polynomial in another order. Each pixel
// takes the form whose terms, and so whose rounding errors, are smaller; the second is preferred when they are about
// equal, because it is smooth over the whole view.
fn loss_at(du: f32, dv: f32) -> Loss {
    let u = ground.uv_hi.x + (ground.uv_lo.x + du);
    let v = ground.uv_hi.y + (ground.uv_lo.y + dv);
    let gradient = vec2<f32>(ground.sharpness * u * v * v - ground.slope, ground.sharpness * u * u * v);

    let wall = 0.5 * ground.sharpness * (u * v) * (u * v);
    let descent = ground.slope * u;
    let direct_size = wall + abs(descent);

    // u v = u₀ v₀ + grown
    let grown = ground.uv_hi.x * dv + v * du;
    let tilt = ground.sharpness * ground.center_uv * grown;
    let bend = 0.5 * ground.sharpness * grown * grown;
    let fall = ground.slope * du;
    let relative_size = abs(ground.center_loss) + abs(tilt) + bend + abs(fall);

    let above_center = tilt + bend - fall;
    let is_relative = relative_size < 4.0 * direct_size;
    let value = select(wall - descent, ground.center_loss + above_center, is_relative);
    return Loss(value, gradient, above_center, is_relative);
}

// Returns the position on the colour bar, not clamped to 0 and 1.
fn scale_position(loss: f32) -> f32 {
    return 0.5 + ground.half_inv_log * sign(loss) * log(1.0 + abs(loss) * ground.inv_linear);
}

struct Contour {
    // Position on the colour bar of the contour nearest to the pixel.
    position: f32,
    // The fraction of the pixel that the contour line covers.
    coverage: f32,
}

fn nearest_contour(loss: Loss, position: f32) -> Contour {
    let loss_per_px = length(loss.gradient) * ground.units_per_px;
    let levels_per_loss =
        ground.contours * ground.half_inv_log * ground.inv_linear / (1.0 + abs(loss.value) * ground.inv_linear);
    let levels_per_px = max(loss_per_px * levels_per_loss, 1e-30);

    let levels = position * ground.contours;
    let level = clamp(round(levels), 0.0, ground.contours);
    var distance_px = abs(levels - level) / levels_per_px;
    if loss.is_relative && level == ground.center_level {
        distance_px = abs(ground.center_gap + loss.above_center) / max(loss_per_px, 1e-30);
    }
    // On steep walls the lines would merge into a moiré: they fade where they are close.
    let spacing_px = 1.0 / levels_per_px;
    let coverage = inside(distance_px - 0.5 * ground.contour_width_px) * smoothstep(3.0, 7.0, spacing_px);
    return Contour(level / ground.contours, coverage);
}

@fragment
fn heatmap_fragment(in: Varying) -> @location(0) vec4<f32> {
    let loss = loss_at(dot(in.px, ground.u_per_px), dot(in.px, ground.v_per_px));
    let position = scale_position(loss.value);
    var color = ground_color(position);
    if ground.contours > 0.0 {
        let contour = nearest_contour(loss, position);
        color = lined(color, contour.position, contour.coverage);
    }
    return target_color(color, 1.0);
}
