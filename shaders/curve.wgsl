// Curves of a plot: lines, solid or dashed, drawn over each other in the order of the draws.

struct Curve {
    color: vec3<f32>,
    opacity: f32,
    half_width_px: f32,
    // The period of the dashes; 0 for a solid line.
    period_px: f32,
    dash_px: f32,
}

@group(1) @binding(0) var<uniform> curve: Curve;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) from_start: vec2<f32>,
    @location(1) @interpolate(flat) along: vec2<f32>,
    @location(2) @interpolate(flat) start_cut: vec2<f32>,
    @location(3) @interpolate(flat) end_cut: vec2<f32>,
    // The length of the line from the beginning of a dash to the start and the end of the drawn part, in pixels.
    @location(4) @interpolate(flat) lengths: vec2<f32>,
}

// A point in plot coordinates, from 0 to 1 across the visible part of the plot.
fn placed_in_plot(point: vec2<f32>) -> Placed {
    return placed(offset_from_xy(point));
}

// Takes four consecutive points in plot coordinates, not finite where the line ends; the segment joins the middle two.
// `lengths` are those of the line up to the segment's ends, in pixels.
@vertex
fn curve_vertex(
    @builtin(vertex_index) corner: u32,
    @location(0) before: vec2<f32>,
    @location(1) start: vec2<f32>,
    @location(2) end: vec2<f32>,
    @location(3) after: vec2<f32>,
    @location(4) lengths: vec2<f32>,
) -> Varying {
    let reach = curve.half_width_px;
    let previous = placed_in_plot(before);
    let next = placed_in_plot(after);
    let stroke = stroke_corner(previous, placed_in_plot(start), placed_in_plot(end), next, reach, corner);
    let part = mix(lengths.xx, lengths.yy, stroke.part);
    return Varying(stroke.position, stroke.from_start, stroke.along, stroke.start_cut, stroke.end_cut, part);
}

@fragment
fn curve_fragment(in: Varying) -> @location(0) vec4<f32> {
    let pixel = stroke_pixel(in.from_start, in.along, in.start_cut, in.end_cut);
    var coverage = inside(pixel.distance_px - curve.half_width_px);
    if curve.period_px > 0.0 {
        let length_px = mix(in.lengths.x, in.lengths.y, pixel.progress);
        let from_dash = length_px - curve.period_px * floor(length_px / curve.period_px);
        // A dash extends half its length to each side of its middle; the next middle is a period further.
        let middle = 0.5 * curve.dash_px;
        let away = min(abs(from_dash - middle), curve.period_px - abs(from_dash - middle));
        coverage *= inside(away - middle);
    }
    return target_color(curve.color, coverage * curve.opacity);
}
