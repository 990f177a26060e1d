//! The colour of every pixel is that of its loss, for all landscapes, colours and zooms.

use std::f64::consts::FRAC_PI_6;

use image::RgbaImage;
use valleyscope::gpu::Scene;
use valleyscope_engine::landscape::{Landscape, LandscapeFormula, LandscapeKind, LandscapeSpec, NarrowValley, Uv};
use valleyscope_experiments::view::{Camera, Colormap, SymLog};

use super::offscreen::{PLAIN, draw, renderer, scene};

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

fn difference(a: [u8; 3], b: [u8; 3]) -> u8 {
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
                let mut scene = scene(SIZE, Camera { center, width });
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
fn a_loss_that_is_not_a_number_is_hatched_whatever_is_done_with_it() {
    let mut renderer = renderer(PLAIN);
    let mut drawn = |text: &str| {
        let mut scene = scene(SIZE, Camera { center: [0.3, -0.2], width: 10.0 });
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
    landscape.xy_from_uv(Uv { u, v })
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
            let mut scene = scene(SIZE, Camera { center, width });
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
        let mut scene = scene(SIZE, Camera { center: [0.1, 0.2], width });
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
    let mut scene = scene([300, 200], Camera { center: [0.2, 0.1], width: 1.0 });
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
        let mut scene = scene(SIZE, Camera { center: zero_of_loss(&landscape, 3.0), width });
        scene.contours = 16;
        scene.scale = SymLog::symmetric(0.05, 20.0);
        assert_contours_are_right(&scene);
    }
}

#[test]
fn contours_fade_where_they_would_crowd() {
    let mut scene = scene(SIZE, Camera { center: [3.0, 3.0], width: 4.0 });
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
