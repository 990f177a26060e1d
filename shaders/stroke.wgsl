// The geometry of lines: each segment is a quad, its ends are round, and at a joint each of the two
// segments draws its own half of the round end, so that translucent lines show no blobs.
// It is put in front of the shaders that draw lines.

struct Stroke {
    position: vec4<f32>,
    // The vertex and the segment's end, in centred pixels from the segment's start.
    from_start: vec2<f32>,
    along: vec2<f32>,
    // Normals of the planes that cut the ends; zero for a full round end.
    start_cut: vec2<f32>,
    end_cut: vec2<f32>,
    // The drawn part of the segment, from 0 to 1; the rest lies outside of the picture.
    part: vec2<f32>,
    is_visible: bool,
}

fn direction(from_px: vec2<f32>, to_px: vec2<f32>) -> vec2<f32> {
    let difference = to_px - from_px;
    let size = length(difference);
    return select(vec2<f32>(0.0), difference / size, size > 1e-4);
}

// Returns the plane between the segments before and after a joint.
fn joint_cut(before: vec2<f32>, joint: vec2<f32>, after: vec2<f32>) -> vec2<f32> {
    let arriving = direction(before, joint);
    let leaving = direction(joint, after);
    let sum = arriving + leaving;
    let is_joint = any(arriving != vec2<f32>(0.0)) && any(leaving != vec2<f32>(0.0)) && length(sum) > 1e-3;
    return select(vec2<f32>(0.0), normalize(sum), is_joint);
}

// Returns the part of the segment, from 0 to 1, within ±half_size; empty when the first exceeds the second.
fn part_within(start: vec2<f32>, along: vec2<f32>, half_size: vec2<f32>) -> vec2<f32> {
    var part = vec2<f32>(0.0, 1.0);
    for (var axis = 0; axis < 2; axis++) {
        if along[axis] == 0.0 {
            if abs(start[axis]) > half_size[axis] {
                return vec2<f32>(1.0, 0.0);
            }
            continue;
        }
        let low = (-half_size[axis] - start[axis]) / along[axis];
        let high = (half_size[axis] - start[axis]) / along[axis];
        part = vec2<f32>(max(part.x, min(low, high)), min(part.y, max(low, high)));
    }
    return part;
}

// Returns one of the four corners of the quad around the segment from `from_point` to `to_point`. `before` and `after`
// are the line's neighbouring points, where it has any.
fn stroke_corner(
    before: Placed, from_point: Placed, to_point: Placed, after: Placed, half_width_px: f32, corner: u32,
) -> Stroke {
    var stroke = Stroke();
    stroke.position = NOWHERE;
    if !from_point.exists || !to_point.exists {
        return stroke;
    }
    let start = from_point.px;
    let end = to_point.px;
    // A pixel is touched when its middle is within half a pixel of the line.
    let reach = half_width_px + 0.5;
    // Cut ends lie outside of the picture, with a margin for the line's width and its round ends.
    let part = part_within(start, end - start, 0.5 * frame.size_px + vec2<f32>(2.0 * reach + 16.0));
    if part.x >= part.y {
        return stroke;
    }
    let first = mix(start, end, part.x);
    let last = select(mix(start, end, part.y), end, part.y == 1.0);
    let forward = direction(first, last);
    if all(forward == vec2<f32>(0.0)) {
        return stroke;
    }
    if part.x == 0.0 && before.exists {
        stroke.start_cut = joint_cut(before.px, first, last);
    }
    if part.y == 1.0 && after.exists {
        stroke.end_cut = joint_cut(first, last, after.px);
    }
    let side = f32(corner & 1u) * 2.0 - 1.0;
    let sideways = vec2<f32>(-forward.y, forward.x) * side;
    stroke.along = last - first;
    if corner < 2u {
        stroke.from_start = (sideways - forward) * reach;
    } else {
        stroke.from_start = stroke.along + (sideways + forward) * reach;
    }
    let depth = mix(from_point.depth, to_point.depth, select(part.y, part.x, corner < 2u));
    stroke.position = clip_from_px(first + stroke.from_start, depth);
    stroke.part = part;
    stroke.is_visible = true;
    return stroke;
}

struct StrokePixel {
    // The distance from the middle of the line; very large where another segment draws.
    distance_px: f32,
    // The position along the segment, from 0 to 1.
    progress: f32,
}

fn stroke_pixel(from_start: vec2<f32>, along: vec2<f32>, start_cut: vec2<f32>, end_cut: vec2<f32>) -> StrokePixel {
    let progress = dot(from_start, along) / dot(along, along);
    // Both segments draw pixels on the plane itself, so that none is missing.
    let slack = 1e-3;
    let is_before = progress < 0.0 && dot(from_start, start_cut) < -slack;
    let is_after = progress > 1.0 && dot(from_start - along, end_cut) > slack;
    let on_line = saturate(progress);
    let distance = length(from_start - along * on_line);
    return StrokePixel(select(distance, 1e9, is_before || is_after), on_line);
}
