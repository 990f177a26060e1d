// Places overlays on the surface in space. An offset is a point of the box, from -1 to 1 in x and y.

struct Space {
    // The directions of the picture in the box: to the right, up, and from the box to the eye.
    right: vec3<f32>,
    // The distance from the middle of the box to the eye.
    distance: f32,
    up: vec3<f32>,
    // Pixels per unit of the box, times the distance at which it has that size.
    focal_px: f32,
    back: vec3<f32>,
    // The height of the middle of the box above that of the picture, in pixels.
    lift_px: f32,
}

@group(2) @binding(0) var<uniform> space: Space;
// The surface's heights in the box at the points of a grid, row by row from the smallest y; MISSING or more for none.
@group(2) @binding(1) var heights: texture_2d<f32>;

const MISSING = 1e30;
// How much nearer to the eye overlays are than the surface on which they lie.
const ABOVE = 0.03;
// The number of pieces of a segment across half the box, each of which is straight.
const PIECES_PER_OFFSET = 64.0;

fn grid_last() -> i32 {
    return i32(textureDimensions(heights).x) - 1;
}

fn grid_height(point: vec2<i32>) -> f32 {
    return textureLoad(heights, point, 0).r;
}

// Returns the height at a place of the box, between the points of the grid; MISSING or more where there is none.
fn height_at(place: vec2<f32>) -> f32 {
    let last = grid_last();
    let at = 0.5 * (place + 1.0) * f32(last);
    let cell = clamp(vec2<i32>(at), vec2<i32>(0), vec2<i32>(last - 1));
    let part = at - vec2<f32>(cell);
    let corners = vec4<f32>(
        grid_height(cell), grid_height(cell + vec2<i32>(1, 0)),
        grid_height(cell + vec2<i32>(0, 1)), grid_height(cell + vec2<i32>(1, 1)),
    );
    if any(corners >= vec4<f32>(MISSING)) || any(abs(place) > vec2<f32>(1.0)) {
        return MISSING;
    }
    return mix(mix(corners.x, corners.y, part.x), mix(corners.z, corners.w, part.x), part.y);
}

// Returns the position of a point of the box as seen from the eye: to the right, up, and the distance.
fn seen(point: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(dot(space.right, point), dot(space.up, point), space.distance - dot(space.back, point));
}

// Returns the depth of a distance, which is linear over the picture.
fn depth_of(distance: f32) -> f32 {
    let near = space.distance - 2.0;
    let far = space.distance + 2.0;
    return (1.0 / near - 1.0 / distance) / (1.0 / near - 1.0 / far);
}

fn px_from_seen(point: vec3<f32>) -> vec2<f32> {
    return space.focal_px * point.xy / point.z + vec2<f32>(0.0, space.lift_px);
}

fn placed(offset: vec2<f32>) -> Placed {
    if !is_finite(offset) {
        return Placed(vec2<f32>(0.0), 0.0, false);
    }
    let height = height_at(offset);
    if height >= MISSING {
        return Placed(vec2<f32>(0.0), 0.0, false);
    }
    let point = seen(vec3<f32>(offset, height));
    return Placed(px_from_seen(point), depth_of(point.z - ABOVE), true);
}

// Returns the part of a segment, from 0 to 1, that the draw with this index draws as one piece, so that long segments
// follow the surface; empty where the first exceeds the second.
fn piece_of(start: vec2<f32>, end: vec2<f32>, index: u32, most: u32) -> vec2<f32> {
    let pieces = clamp(ceil(length(end - start) * PIECES_PER_OFFSET), 1.0, f32(most));
    let inside = part_within(start, end - start, vec2<f32>(1.0));
    return vec2<f32>(max(f32(index) / pieces, inside.x), min((f32(index) + 1.0) / pieces, inside.y));
}
