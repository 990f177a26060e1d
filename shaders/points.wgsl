// The particles of an ensemble as discs with a thin dark edge; a selected one has a ring around it.

struct Disc {
    color: vec3<f32>,
    radius_px: f32,
    edge_opacity: f32,
    edge_px: f32,
    // The ring's radius to the middle of its line; 0 for no ring.
    ring_radius_px: f32,
    ring_half_width_px: f32,
    opacity: f32,
}

@group(1) @binding(0) var<uniform> disc: Disc;

struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) from_center: vec2<f32>,
}

@vertex
fn point_vertex(@builtin(vertex_index) corner: u32, @location(0) xy: vec2<f32>) -> Varying {
    let center = placed(offset_from_xy(xy));
    if !center.exists {
        return Varying(NOWHERE, vec2<f32>(0.0));
    }
    let reach = max(disc.radius_px, disc.ring_radius_px + disc.ring_half_width_px) + disc.edge_px + 0.5;
    let from_center = (vec2<f32>(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * reach;
    return Varying(clip_from_px(center.px + from_center, center.depth), from_center);
}

@fragment
fn point_fragment(in: Varying) -> @location(0) vec4<f32> {
    let distance = length(in.from_center);
    let dark = target_color(vec3<f32>(0.0), disc.edge_opacity);
    var color = dark * inside(distance - disc.radius_px - disc.edge_px);
    color = over(target_color(disc.color, inside(distance - disc.radius_px)), color);
    if disc.ring_radius_px > 0.0 {
        let from_ring = abs(distance - disc.ring_radius_px) - disc.ring_half_width_px;
        color = over(dark * inside(from_ring - disc.edge_px), color);
        color = over(target_color(vec3<f32>(1.0), inside(from_ring)), color);
    }
    return disc.opacity * visibility * color;
}
