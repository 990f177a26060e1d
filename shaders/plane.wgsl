// Places overlays on the plane: an offset is a position in centred pixels.

fn placed(offset: vec2<f32>) -> Placed {
    return Placed(offset, 0.0, is_finite(offset));
}

// Returns the part of a segment, from 0 to 1, that a draw draws as one piece: all of it.
fn piece_of(start: vec2<f32>, end: vec2<f32>, index: u32, most: u32) -> vec2<f32> {
    return vec2<f32>(0.0, 1.0);
}
