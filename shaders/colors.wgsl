// The colours of losses, shared by the plane and the surface in space.

@group(1) @binding(1) var colormap: texture_2d<f32>;

fn loss_color(position: f32) -> vec3<f32> {
    let last = i32(textureDimensions(colormap).x) - 1;
    let place = saturate(position) * f32(last);
    let left = i32(place);
    let right = min(left + 1, last);
    let low = textureLoad(colormap, vec2<i32>(left, 0), 0).rgb;
    let high = textureLoad(colormap, vec2<i32>(right, 0), 0).rgb;
    return mix(low, high, place - f32(left));
}

// Returns a colour with a contour line of this coverage over it. The line is dark on light colours and light on dark
// ones, the same all along it: by its own position on the colour bar.
fn lined(color: vec3<f32>, position: f32, coverage: f32) -> vec3<f32> {
    let luminance = dot(loss_color(position), vec3<f32>(0.299, 0.587, 0.114));
    let ink = select(vec3<f32>(1.0), vec3<f32>(0.0), luminance > 0.45);
    return mix(color, ink, 0.3 * coverage);
}
