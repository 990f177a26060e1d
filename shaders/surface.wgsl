// The surface of the landscape in space, lit, with the colours of its loss, contour lines, and walls down to the floor of
// the box along its edges.

struct Surface {
    // The direction to the light, of length 1.
    light: vec3<f32>,
    // The number of contour intervals: lines lie at every 1 / contours of the colour bar, counted from 0; 0 for none.
    contours: f32,
    // The position of 0 on the colour bar, and the numbers of the lowest and of the highest contour.
    zero: f32,
    lowest_contour: f32,
    highest_contour: f32,
    contour_width_px: f32,
    // The brightness without light, and what full light adds to it.
    ambient: f32,
    diffuse: f32,
}

@group(1) @binding(0) var<uniform> surface: Surface;

struct Varying {
    @builtin(position) position: vec4<f32>,
    // The position on the colour bar.
    @location(0) level: f32,
    @location(1) normal: vec3<f32>,
    // More than 0 in triangles with a corner where there is no surface.
    @location(2) hole: f32,
    @location(3) @interpolate(flat) is_wall: u32,
}

const FLOOR = -0.5;

fn slope_along(point: vec2<i32>, axis: vec2<i32>) -> f32 {
    let last = vec2<i32>(grid_last());
    let from_point = clamp(point - axis, vec2<i32>(0), last);
    let to_point = clamp(point + axis, vec2<i32>(0), last);
    let here = grid_height(point);
    var low = grid_height(from_point);
    var high = grid_height(to_point);
    low = select(low, here, low >= MISSING);
    high = select(high, here, high >= MISSING);
    let cells = vec2<f32>(to_point - from_point);
    return (high - low) * 0.5 * f32(last.x) / (cells.x + cells.y);
}

// Instances below the last point of the grid are rows of cells; the four further ones are the walls. Of each pair of
// vertices, the second is in the next row, or at the top of the wall.
@vertex
fn surface_vertex(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Varying {
    let last = grid_last();
    let along = i32(index >> 1u);
    let side = i32(index & 1u);
    let wall = i32(instance) - last;
    var point = vec2<i32>(along, i32(instance) + side);
    var normal = vec3<f32>(0.0);
    if wall >= 0 {
        let across = select(0, last, wall % 2 == 1);
        point = select(vec2<i32>(across, along), vec2<i32>(along, across), wall < 2);
        let outward = select(-1.0, 1.0, wall % 2 == 1);
        normal = select(vec3<f32>(outward, 0.0, 0.0), vec3<f32>(0.0, outward, 0.0), wall < 2);
    }
    var height = grid_height(point);
    let hole = select(0.0, 1.0, height >= MISSING);
    height = select(height, 0.0, height >= MISSING);
    if wall < 0 {
        normal = normalize(vec3<f32>(-slope_along(point, vec2<i32>(1, 0)), -slope_along(point, vec2<i32>(0, 1)), 1.0));
    }
    let level = height + 0.5;
    if wall >= 0 && side == 0 {
        height = min(height, FLOOR);
    }
    let place = 2.0 * vec2<f32>(point) / f32(last) - 1.0;
    let at = seen(vec3<f32>(place, height));
    let clip = clip_from_px(px_from_seen(at), depth_of(at.z)) * at.z;
    return Varying(clip, level, normal, hole, u32(wall >= 0));
}

@fragment
fn surface_fragment(in: Varying) -> @location(0) vec4<f32> {
    let levels = (in.level - surface.zero) * surface.contours;
    let levels_per_px = max(length(vec2<f32>(dpdx(levels), dpdy(levels))), 1e-30);
    if in.hole > 0.0 {
        discard;
    }
    var color = loss_color(in.level);
    if in.is_wall == 0u && surface.contours > 0.0 {
        let line = clamp(round(levels), surface.lowest_contour, surface.highest_contour);
        let distance_px = abs(levels - line) / levels_per_px;
        let coverage = inside(distance_px - 0.5 * surface.contour_width_px) * smoothstep(3.0, 7.0, 1.0 / levels_per_px);
        color = lined(color, surface.zero + line / surface.contours, coverage);
    }
    let lit = max(dot(normalize(in.normal), surface.light), 0.0);
    let shade = surface.ambient + surface.diffuse * lit;
    // Walls are duller, so that the eye takes them for a cut.
    let dull = mix(vec3<f32>(0.5), color, 0.5);
    return target_color(min(select(color, dull, in.is_wall == 1u) * shade, vec3<f32>(1.0)), 1.0);
}
