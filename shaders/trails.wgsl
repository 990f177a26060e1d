// Trails of the particles of an ensemble: one quad for every segment of every trail, fading with age.

struct Trail {
    color: vec3<f32>,
    opacity: f32,
    // The opacity of a dark edge, which keeps trails visible on a background of their own colour.
    edge_opacity: f32,
    edge_px: f32,
    half_width_px: f32,
    // The number of steps over which a trail fades to nothing.
    fade_steps: f32,
    // The numbers of steps since the start of the draw's first segment, and since the oldest stored point.
    first_age: u32,
    oldest_age: u32,
    particles: u32,
    // The piece of each segment that the draw draws, and the largest number of pieces.
    piece: u32,
    pieces: u32,
}

@group(1) @binding(0) var<uniform> trail: Trail;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) from_start: vec2<f32>,
    @location(1) @interpolate(flat) along: vec2<f32>,
    @location(2) @interpolate(flat) start_cut: vec2<f32>,
    @location(3) @interpolate(flat) end_cut: vec2<f32>,
    // The numbers of steps since the start and the end of the drawn part.
    @location(4) @interpolate(flat) ages: vec2<f32>,
}

// The four points are one particle's positions at consecutive steps; the segment is the middle two. Before the oldest
// and after the newest step they are stale and ignored.
@vertex
fn trail_vertex(
    @builtin(vertex_index) corner: u32,
    @builtin(instance_index) instance: u32,
    @location(0) before: vec2<f32>,
    @location(1) start: vec2<f32>,
    @location(2) end: vec2<f32>,
    @location(3) after: vec2<f32>,
) -> Varying {
    let age = trail.first_age - instance / trail.particles;
    var stroke = Stroke();
    stroke.position = NOWHERE;
    let first = offset_from_xy(start);
    let last = offset_from_xy(end);
    let part = piece_of(first, last, trail.piece, trail.pieces);
    if part.x < part.y {
        // A piece between others is joined to them.
        let along = last - first;
        let from_point = placed(select(first, first + part.x * along, part.x > 0.0));
        let to_point = placed(select(last, first + part.y * along, part.y < 1.0));
        var previous = placed(select(offset_from_xy(before), first + (2.0 * part.x - part.y) * along, part.x > 0.0));
        previous.exists = previous.exists && (part.x > 0.0 || age != trail.oldest_age);
        var next = placed(select(offset_from_xy(after), first + (2.0 * part.y - part.x) * along, part.y < 1.0));
        next.exists = next.exists && (part.y < 1.0 || age != 1u);
        let reach = max(trail.half_width_px, 0.5) + trail.edge_px;
        stroke = stroke_corner(previous, from_point, to_point, next, reach, corner);
    }
    let ages = vec2<f32>(f32(age)) - (part.x + (part.y - part.x) * stroke.part);
    return Varying(stroke.position, stroke.from_start, stroke.along, stroke.start_cut, stroke.end_cut, ages);
}

@fragment
fn trail_fragment(in: Varying) -> @location(0) vec4<f32> {
    let pixel = stroke_pixel(in.from_start, in.along, in.start_cut, in.end_cut);
    let fade = saturate(1.0 - mix(in.ages.x, in.ages.y, pixel.progress) / trail.fade_steps);
    // Lines thinner than a pixel are drawn a pixel wide and paler.
    let half_width = max(trail.half_width_px, 0.5);
    let thinness = min(2.0 * trail.half_width_px, 1.0);
    let core = inside(pixel.distance_px - half_width);
    let edge = inside(pixel.distance_px - half_width - trail.edge_px) - core;
    let line = target_color(trail.color, core * trail.opacity);
    return (line + target_color(vec3<f32>(0.0), edge * trail.edge_opacity)) * thinness * fade * visibility;
}
