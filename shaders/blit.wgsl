// Copies a drawn picture of the same size onto the canvas.

@group(1) @binding(0) var picture: texture_2d<f32>;

struct Varying {
    @builtin(position) position: vec4<f32>,
    // Pixels from the top left.
    @location(0) px: vec2<f32>,
}

// One triangle that covers the whole canvas.
@vertex
fn blit_vertex(@builtin(vertex_index) index: u32) -> Varying {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    let size = vec2<f32>(textureDimensions(picture));
    return Varying(vec4<f32>(corner, 0.0, 1.0), 0.5 * (corner * vec2<f32>(1.0, -1.0) + 1.0) * size);
}

@fragment
fn blit_fragment(in: Varying) -> @location(0) vec4<f32> {
    let last = vec2<i32>(textureDimensions(picture)) - 1;
    return textureLoad(picture, clamp(vec2<i32>(in.px), vec2<i32>(0), last), 0);
}
