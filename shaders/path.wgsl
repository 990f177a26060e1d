// A line through an ensemble's mean positions, drawn twice: wide and dark, then narrow in colour.

struct Path {
    color: vec3<f32>,
    half_width_px: f32,
    opacity: f32,
}

@group(1) @binding(0) var<uniform> path: Path;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) from_start: vec2<f32>,
    @location(1) @interpolate(flat) along: vec2<f32>,
    @location(2) @interpolate(flat) start_cut: vec2<f32>,
    @location(3) @interpolate(flat) end_cut: vec2<f32>,
}

// Takes four consecutive points as offsets, not finite where the line ends; the segment joins the middle two.
@vertex
fn path_vertex(
    @builtin(vertex_index) corner: u32,
    @location(0) before: vec2<f32>,
    @location(1) start: vec2<f32>,
    @location(2) end: vec2<f32>,
    @location(3) after: vec2<f32>,
) -> Varying {
    let reach = path.half_width_px;
    let stroke = stroke_corner(placed(before), placed(start), placed(end), placed(after), reach, corner);
    return Varying(stroke.position, stroke.from_start, stroke.along, stroke.start_cut, stroke.end_cut);
}

@fragment
fn path_fragment(in: Varying) -> @location(0) vec4<f32> {
    let pixel = stroke_pixel(in.from_start, in.along, in.start_cut, in.end_cut);
    return target_color(path.color, path.opacity * visibility * inside(pixel.distance_px - path.half_width_px));
}
