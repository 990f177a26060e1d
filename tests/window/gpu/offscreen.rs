//! Draws into memory with the CPU's Vulkan, so that pictures are the same on every machine.

use std::f64::consts::FRAC_PI_6;
use std::sync::OnceLock;

use image::RgbaImage;
use valleyscope::gpu::{EnsembleKey, EnsembleStyle, Positions, Renderer, Scene};
use valleyscope_engine::landscape::{Landscape, LandscapeFormula, LandscapeKind, LandscapeSpec, NarrowValley};
use valleyscope_experiments::view::{Camera, Colormap, Lens, SymLog, Viewport};

pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Returns the device that all tests of a process share. Its limits are the lowest that the app supports.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let seen: Vec<_> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        let adapter = adapters
            .into_iter()
            .find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)
            .unwrap_or_else(|| {
                panic!(
                    "these tests need a Vulkan driver on the CPU, but there are only {seen:?}: install lavapipe, \
                     on Debian and Ubuntu the package mesa-vulkan-drivers"
                )
            });
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits::downlevel_webgl2_defaults(),
            ..Default::default()
        }))
        .unwrap();
        Gpu { device, queue }
    })
}

pub fn renderer(format: wgpu::TextureFormat) -> Renderer {
    Renderer::new(&gpu().device, format, 1)
}

pub const PLAIN: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Returns a plain scene: no contours, no ensembles.
pub fn scene(size_px: [u32; 2], camera: Camera) -> Scene {
    Scene {
        viewport: Viewport { camera, size_px: size_px.map(|size| size as f32) },
        landscape: Landscape::Valley(NarrowValley::new(10.0, 0.1, std::f64::consts::FRAC_PI_6)),
        scale: SymLog::symmetric(0.01, 10.0),
        colormap: Colormap::Viridis,
        contours: 0,
        pixels_per_point: 1.0,
        ensembles: Vec::new(),
        space: None,
    }
}

pub const RED: [u8; 3] = [255, 0, 0];

/// Returns the name of an optimizer's ensemble in the first session.
pub fn key(optimizer: u32) -> EnsembleKey {
    EnsembleKey { session: 0, optimizer }
}

/// Returns the style of points without trails.
pub fn points(optimizer: u32) -> EnsembleStyle {
    EnsembleStyle {
        key: key(optimizer),
        color: RED,
        opacity: 1.0,
        trail_steps: 0,
        trail_width: 1.0,
        point_radius: 4.0,
        path_width: 0.0,
        selected: None,
    }
}

pub fn push(renderer: &mut Renderer, positions: Positions<'_>) {
    renderer.push_positions(&gpu().device, &gpu().queue, positions);
}

/// Draws a scene on a clear ground and reads it back.
pub fn draw(renderer: &mut Renderer, format: wgpu::TextureFormat, scene: &Scene) -> RgbaImage {
    let Gpu { device, queue } = gpu();
    queue.submit(renderer.prepare(device, queue, scene));
    painted(format, scene.viewport.size_px.map(|size| size as u32), |pass| renderer.paint(pass))
}

/// Paints a picture on a clear ground and reads it back.
pub fn painted(
    format: wgpu::TextureFormat,
    [width, height]: [u32; 2],
    paint: impl FnOnce(&mut wgpu::RenderPass<'_>),
) -> RgbaImage {
    let Gpu { device, queue } = gpu();
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        paint(&mut pass);
    }
    let row_bytes = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row_bytes * height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row_bytes), rows_per_image: None },
        },
        texture.size(),
    );
    queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    let pixels = bytes.chunks(row_bytes as usize).flat_map(|row| row[..4 * width as usize].to_vec()).collect();
    RgbaImage::from_raw(width, height, pixels).unwrap()
}

const SIZE: [u32; 2] = [160, 120];
/// A scale symmetric about 0, one from 0 on, and one that is shorter below 0.
const SCALES: [SymLog; 3] = [
    SymLog::symmetric(0.02, 20.0),
    SymLog { linear: 0.02, min: 0.0, max: 20.0 },
    SymLog { linear: 0.02, min: -0.3, max: 20.0 },
];

fn loss_at(scene: &Scene, x_px: u32, y_px: u32) -> f64 {
    let xy = scene.viewport.xy_from_px([x_px as f32 + 0.5, y_px as f32 + 0.5]);
    scene.landscape.loss(xy)
}

pub fn difference(a: [u8; 3], b: [u8; 3]) -> u8 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).max().unwrap()
}

fn rgb(image: &RgbaImage, x: u32, y: u32) -> [u8; 3] {
    let [r, g, b, a] = image.get_pixel(x, y).0;
    assert_eq!(a, 255, "the ground is opaque");
    [r, g, b]
}

/// Compares every pixel, and returns the number of colours: a picture of one colour shows nothing.
fn assert_colors_are_right(scene: &Scene, image: &RgbaImage, what: &str) -> usize {
    let mut colors = std::collections::BTreeSet::new();
    for (x, y, _) in image.enumerate_pixels() {
        let found = rgb(image, x, y);
        let expected = scene.colormap.rgb(scene.scale.position(loss_at(scene, x, y)));
        assert!(difference(found, expected) <= 2, "{what}: {found:?} instead of {expected:?} at pixel ({x}, {y})");
        colors.insert(found);
    }
    colors.len()
}

#[test]
fn colors_are_those_of_the_loss_for_all_maps_landscapes_and_widths() {
    let mut renderer = renderer(PLAIN);
    let landscapes = [(10.0, 0.1, FRAC_PI_6), (0.1, 0.1, 0.0), (1000.0, 0.5, -1.2), (37.0, 0.0, 2.6), (1.0, -0.3, 0.4)];
    for colormap in Colormap::ALL {
        for (sharpness, slope, rotation) in landscapes {
            for (width, center) in [(10.0, [0.3, -0.2]), (3.0, [0.9, 0.5]), (0.1, [1.3, 0.7]), (1e-3, [-0.4, 1.1])] {
                let mut scene = scene(SIZE, Camera::new(center, width));
                scene.colormap = colormap;
                scene.landscape = Landscape::Valley(NarrowValley::new(sharpness, slope, rotation));
                for scale in SCALES {
                    scene.scale = scale;
                    let image = draw(&mut renderer, PLAIN, &scene);
                    let what =
                        format!("{colormap:?}, a {sharpness}, c {slope}, φ {rotation}, width {width}, {scale:?}");
                    assert_colors_are_right(&scene, &image, &what);
                }
            }
        }
    }
}

#[test]
fn colors_through_a_lens_are_those_of_the_loss() {
    let mut renderer = renderer(PLAIN);
    let spec = LandscapeSpec::default();
    let himmelblau = LandscapeSpec::new(LandscapeKind::Himmelblau);
    let lens = Lens::along(&spec, &[], None);
    for landscape in [spec.landscape(), spec.as_program(), himmelblau.landscape()] {
        for (range, scale) in [([[1.0, 3.0], [-0.05, 0.04]], SCALES[0]), ([[-1.0, 4.0], [-3.0, -1.0]], SCALES[1])] {
            let aspect = f64::from(SIZE[0]) / f64::from(SIZE[1]);
            let mut scene = scene(SIZE, lens.framing(range, aspect, None));
            scene.landscape = landscape.clone();
            scene.scale = scale;
            let image = draw(&mut renderer, PLAIN, &scene);
            let colors = assert_colors_are_right(&scene, &image, &format!("{range:?}"));
            assert!(colors > 10, "{colors} colours in {range:?}");
        }
    }
}

#[test]
fn a_loss_that_is_not_a_number_is_hatched_whatever_is_done_with_it() {
    let mut renderer = renderer(PLAIN);
    let mut drawn = |text: &str| {
        let mut scene = scene(SIZE, Camera::new([0.3, -0.2], 10.0));
        let formula = LandscapeFormula::new("Typed", text).expect("a loss");
        scene.landscape = LandscapeSpec::new(LandscapeKind::Formula(formula)).landscape();
        let image = draw(&mut renderer, PLAIN, &scene);
        (scene, image)
    };
    let (_, hatched) = drawn("L = ln(-1 - x^2)");
    for loss in [
        "0*ln(x)",
        "0/ln(x)",
        "0/0 + x",
        "ln(x) - ln(x)",
        "max(ln(x), 1)",
        "max(1, ln(x))",
        "min(ln(x), 1)",
        "min(1, ln(x))",
        "sign(ln(x))",
        "clamp(ln(x), 0, 1)",
        "where(ln(x), 1, 2)",
        "where(0/0, 1, 2)",
        "abs(0*ln(x))",
        "1 - 0*sqrt(x)",
    ] {
        let (scene, image) = drawn(&format!("L = {loss}"));
        for (x, y, _) in image.enumerate_pixels() {
            let (found, loss_here) = (rgb(&image, x, y), loss_at(&scene, x, y));
            let expected = match loss_here.is_nan() {
                true => rgb(&hatched, x, y),
                false => scene.colormap.rgb(scene.scale.position(loss_here)),
            };
            assert!(difference(found, expected) <= 2, "{loss} = {loss_here} is {found:?} at pixel ({x}, {y})");
        }
        assert!(loss_at(&scene, 0, 0).is_nan(), "{loss}");
    }
}

/// Returns the point of the valley's wall where the loss is 0, on which a deep zoom can resolve tiny losses.
fn zero_of_loss(landscape: &Landscape, u: f64) -> [f64; 2] {
    let Landscape::Valley(NarrowValley { sharpness, slope, .. }) = landscape else { panic!("the valley") };
    let v = (2.0 * slope / (sharpness * u)).sqrt();
    landscape.xy_from_uv([u, v])
}

#[test]
fn deep_zooms_are_smooth() {
    let mut renderer = renderer(PLAIN);
    for sharpness in [0.1, 10.0, 1000.0] {
        for width in [1e-2, 1e-4, 1e-5, 1e-6] {
            let landscape = Landscape::Valley(NarrowValley::new(sharpness, 0.1, FRAC_PI_6));
            let center = zero_of_loss(&landscape, 3.0);
            let [dx, dy] = landscape.gradient(center);
            let highest = 0.5 * width * dx.hypot(dy);
            let mut scene = scene(SIZE, Camera::new(center, width));
            scene.landscape = landscape;
            scene.scale = SymLog::symmetric(0.1 * highest, highest);
            let image = draw(&mut renderer, PLAIN, &scene);
            let colors = assert_colors_are_right(&scene, &image, &format!("a {sharpness}, width {width}"));
            assert!(colors > 100, "{colors} colours at width {width}");
        }
    }
}

/// Checks that views with squares that overflow 32 bits, far out and steep, have the end colour.
#[test]
fn extreme_views_have_colors() {
    let mut renderer = renderer(PLAIN);
    for (sharpness, width) in [(1000.0, 1e12), (1000.0, 1e20), (0.1, 1e15)] {
        let mut scene = scene(SIZE, Camera::new([0.1, 0.2], width));
        scene.landscape = Landscape::Valley(NarrowValley::new(sharpness, 0.1, FRAC_PI_6));
        let image = draw(&mut renderer, PLAIN, &scene);
        assert_eq!(rgb(&image, 3, 5), Colormap::Viridis.rgb(1.0), "a {sharpness}, width {width}");
    }
}

/// Returns the distance in pixels from the nearest contour, by a search along the gradient.
fn contour_distance_px(scene: &Scene, x: u32, y: u32) -> f64 {
    let xy = scene.viewport.xy_from_px([x as f32 + 0.5, y as f32 + 0.5]);
    let [dx, dy] = scene.landscape.gradient(xy);
    let [lowest, highest] = scene.scale.contour_range(scene.contours);
    let above_zero = scene.scale.position(scene.landscape.loss(xy)) - scene.scale.position(0.0);
    let level = ((above_zero * f64::from(scene.contours)).round() as i32).clamp(lowest, highest);
    let gap = scene.landscape.loss(xy) - scene.scale.contour_value(scene.contours, level);
    (gap / dx.hypot(dy)).abs() / scene.viewport.units_per_px()
}

/// Checks that a line changes the pixels whose middle is on it, and none beyond its edge.
fn assert_contours_are_right(scene: &Scene) {
    let mut renderer = renderer(PLAIN);
    let lined = draw(&mut renderer, PLAIN, scene);
    let plain = draw(&mut renderer, PLAIN, &Scene { contours: 0, ..scene.clone() });
    let (mut on, mut off) = (0, 0);
    for (x, y, _) in lined.enumerate_pixels() {
        let change = difference(rgb(&lined, x, y), rgb(&plain, x, y));
        let distance = contour_distance_px(scene, x, y);
        if distance < 0.3 {
            assert!(change > 10, "no line at pixel ({x}, {y}), {distance} px from a contour");
            on += 1;
        } else if distance > 1.2 {
            assert_eq!(change, 0, "a line at pixel ({x}, {y}), {distance} px from any contour");
            off += 1;
        }
    }
    assert!(on > 50 && off > 1000, "{on} pixels on lines, {off} beside");
}

#[test]
fn contours_are_at_the_values_of_the_scale() {
    let mut scene = scene([300, 200], Camera::new([0.2, 0.1], 1.0));
    scene.contours = 16;
    for min in [-2.0, -0.1, 0.0] {
        scene.scale = SymLog { linear: 0.05, min, max: 2.0 };
        assert_contours_are_right(&scene);
    }
}

#[test]
fn contours_are_sharp_at_deep_zooms() {
    // The scale spans everything, so that neighbouring pixels differ by a millionth of a contour's step.
    for width in [1e-4, 1e-6] {
        let landscape = Landscape::Valley(NarrowValley::new(10.0, 0.1, FRAC_PI_6));
        let mut scene = scene(SIZE, Camera::new(zero_of_loss(&landscape, 3.0), width));
        scene.contours = 16;
        scene.scale = SymLog::symmetric(0.05, 20.0);
        assert_contours_are_right(&scene);
    }
}

#[test]
fn contours_fade_where_they_would_crowd() {
    let mut scene = scene(SIZE, Camera::new([3.0, 3.0], 4.0));
    scene.landscape = Landscape::Valley(NarrowValley::new(1000.0, 0.1, FRAC_PI_6));
    scene.scale = SymLog::symmetric(0.01, 1e6);
    let mut renderer = renderer(PLAIN);
    let plain = draw(&mut renderer, PLAIN, &scene);
    scene.contours = 2000;
    assert!(draw(&mut renderer, PLAIN, &scene) == plain);
}

#[test]
fn an_srgb_target_shows_the_same_ground() {
    let mut scene = scene(SIZE, Camera::HOME);
    scene.contours = 12;
    let plain = draw(&mut renderer(PLAIN), PLAIN, &scene);
    let encoding = wgpu::TextureFormat::Rgba8UnormSrgb;
    let encoded = draw(&mut renderer(encoding), encoding, &scene);
    for (x, y, _) in plain.enumerate_pixels() {
        assert!(difference(rgb(&plain, x, y), rgb(&encoded, x, y)) <= 1, "pixel ({x}, {y})");
    }
}
