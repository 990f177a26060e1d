//! The surface in space has the places, colours and light of its loss, and hides what is behind it.

use std::sync::Arc;

use image::RgbaImage;
use valleyscope::gpu::{BEHIND, EnsembleStyle, Positions, Scene, SpaceScene};
use valleyscope_experiments::view::{Camera, HeightField, Orbit, SpaceView, SymLog};

use super::offscreen::{PLAIN, RED, draw, key, points, push, renderer, scene};

const SIZE: [u32; 2] = [600, 450];
const CAMERA: Camera = Camera { center: [0.5, -0.25], width: 3.0 };

/// A ridge along y, as high as the box, with a plain to each side.
fn ridge([x, y]: [f64; 2]) -> f64 {
    20.0 * (-((x - 0.5) / 0.25).powi(2)).exp() - 1.0 + 0.2 * y
}

fn waves([x, y]: [f64; 2]) -> f64 {
    2.0 * (2.0 * x).sin() * (1.5 * y).cos()
}

fn surface(loss: impl Fn([f64; 2]) -> f64, orbit: Orbit) -> (Scene, SpaceView, Arc<HeightField>) {
    surface_by(SymLog::symmetric(0.5, 20.0), loss, orbit)
}

fn surface_by(scale: SymLog, loss: impl Fn([f64; 2]) -> f64, orbit: Orbit) -> (Scene, SpaceView, Arc<HeightField>) {
    let mut scene = scene(SIZE, CAMERA);
    scene.scale = scale;
    let heights = Arc::new(HeightField::sample(loss, CAMERA, &scene.scale));
    scene.space = Some(SpaceScene { orbit, heights: Arc::clone(&heights) });
    (scene, SpaceView { camera: CAMERA, orbit, size_px: SIZE.map(|size| size as f32) }, heights)
}

fn pixel(image: &RgbaImage, [x, y]: [f32; 2]) -> [u8; 3] {
    let [r, g, b, _] = image.get_pixel(x as u32, y as u32).0;
    [r, g, b]
}

fn difference(a: [u8; 3], b: [u8; 3]) -> u8 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).max().unwrap()
}

/// Returns the colour that the CPU computes for a point of the surface.
fn expected(scene: &Scene, view: &SpaceView, heights: &HeightField, place: [f64; 2]) -> [u8; 3] {
    let height = heights.height(place).expect("on the surface");
    let brightness = view.brightness(heights.normal(place).expect("on the surface"));
    scene.colormap.rgb(height + 0.5).map(|channel| (f64::from(channel) * brightness).round().min(255.0) as u8)
}

#[test]
fn the_surface_has_the_place_the_colour_and_the_light_of_each_point() {
    let scales = [SymLog::symmetric(0.5, 20.0), SymLog { linear: 0.5, min: -2.5, max: 20.0 }];
    let orbits = [Orbit::HOME, Orbit { azimuth: 30.0, elevation: 60.0 }, Orbit { azimuth: 160.0, elevation: 90.0 }];
    for (scale, orbit) in scales.into_iter().flat_map(|scale| orbits.map(|orbit| (scale, orbit))) {
        let (scene, view, heights) = surface_by(scale, waves, orbit);
        let image = draw(&mut renderer(PLAIN), PLAIN, &scene);
        let place = |x: f32, y: f32| heights.hit(&view.ray([x, y]));
        let mut compared = 0;
        for (x, y) in (0..SIZE[0] / 9).flat_map(|x| (0..SIZE[1] / 9).map(move |y| (9.0 * x as f32, 9.0 * y as f32))) {
            let Some([along, up]) = place(x + 0.5, y + 0.5) else { continue };
            // At an edge, a pixel has the colours of both sides.
            let beside = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
            let is_inside = beside.iter().all(|[dx, dy]| {
                place(x + 0.5 + dx, y + 0.5 + dy).is_some_and(|[a, u]| (a - along).hypot(u - up) < 0.05)
            });
            if is_inside {
                let (found, expected) = (pixel(&image, [x, y]), expected(&scene, &view, &heights, [along, up]));
                assert!(
                    difference(found, expected) <= 4,
                    "{found:?} instead of {expected:?} at {x}, {y} from {orbit:?}"
                );
                compared += 1;
            }
        }
        assert!(compared > 300, "only {compared} pixels are compared from {orbit:?}");
    }
}

#[test]
fn nothing_is_drawn_beside_the_surface_and_in_its_holes() {
    let hole = |[x, y]: [f64; 2]| if (x - 0.5).hypot(y + 0.25) < 0.5 { f64::NAN } else { 0.0 };
    let above = Orbit { azimuth: 0.0, elevation: 90.0 };
    let (scene, view, _) = surface(hole, above);
    let image = draw(&mut renderer(PLAIN), PLAIN, &scene);
    assert_eq!(pixel(&image, view.project([0.0; 3]).px), [0; 3], "in the hole");
    assert_eq!(pixel(&image, [2.0, 2.0]), [0; 3], "beside the surface");
    assert_ne!(pixel(&image, view.project([0.6, 0.6, 0.0]).px), [0; 3]);
    let (nowhere, ..) = surface(|_| f64::INFINITY, Orbit::HOME);
    let image = draw(&mut renderer(PLAIN), PLAIN, &nowhere);
    assert!(image.pixels().all(|pixel| pixel.0[..3] == [0; 3]));
}

/// Returns how far a pixel is from the colour without particles towards red, from 0 to 1.
fn redness(without: &RgbaImage, with: &RgbaImage, at: [f32; 2]) -> f64 {
    let ([before, ..], [after, ..]) = (pixel(without, at), pixel(with, at));
    (f64::from(after) - f64::from(before)) / (255.0 - f64::from(before))
}

fn with_points(scene: &Scene, style: EnsembleStyle, columns: &[[f32; 2]], particles: usize) -> [RgbaImage; 2] {
    let mut renderer = renderer(PLAIN);
    let capacity = columns.len() / particles;
    let step = capacity as u64 - 1;
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles, capacity, step, columns });
    let without = draw(&mut renderer, PLAIN, scene);
    [without, draw(&mut renderer, PLAIN, &Scene { ensembles: vec![style], ..scene.clone() })]
}

#[test]
fn a_particle_in_front_of_a_hill_is_full_and_one_behind_it_faint() {
    let (scene, view, heights) = surface(ridge, Orbit { azimuth: 0.0, elevation: 15.0 });
    let [front, behind, away] = [[1.4, -0.2], [0.0, -0.2], [-0.8, -0.2]];
    let columns = [front, behind, [1.4, 9.0], [f32::NAN, 0.0]];
    let point = |xy: [f32; 2]| heights.point(view.box_from_xy(xy.map(f64::from))).expect("on the surface");
    assert!(heights.hides(&view, point(behind)) && !heights.hides(&view, point(front)));
    let [without, with] = with_points(&scene, points(1), &columns, 4);
    let [at_front, at_behind, at_away] = [front, behind, away].map(|xy| view.project(point(xy)).px);
    assert_eq!(pixel(&with, at_front), RED);
    let faint = redness(&without, &with, at_behind);
    assert!((faint - f64::from(BEHIND)).abs() < 0.02, "{faint}");
    assert_eq!(pixel(&with, at_away), pixel(&without, at_away));
    let changed = with.pixels().zip(without.pixels()).filter(|(one, other)| one != other).count();
    assert!((100..220).contains(&changed), "two discs, not {changed} pixels: the others are beside the surface");
}

#[test]
fn a_long_step_of_a_trail_lies_on_the_surface() {
    let (scene, view, heights) = surface(ridge, Orbit { azimuth: -90.0, elevation: 20.0 });
    let trail = EnsembleStyle { trail_steps: 1, trail_width: 3.0, point_radius: 0.0, ..points(1) };
    let [from, to] = [[-0.8_f32, -1.4], [1.8, -1.4]];
    let [without, with] = with_points(&scene, trail, &[from, to], 1);
    // Over the ridge; its straight line would cut through it.
    let at = |part: f64| {
        let xy = [f64::from(from[0]) + part * f64::from(to[0] - from[0]), -1.4];
        view.project(heights.point(view.box_from_xy(xy)).expect("on the surface")).px
    };
    for part in [0.1, 0.4, 0.5, 0.6, 0.7, 0.9] {
        let [x, y] = at(part);
        let near = (-3..=3).map(|dy| redness(&without, &with, [x, y + dy as f32])).fold(0.0, f64::max);
        // The trail fades towards its older end.
        assert!(near > 0.6 * part, "{near} at {part}");
    }
}

#[test]
fn contours_are_at_the_values_of_the_scale() {
    let (mut scene, view, heights) = surface(|[x, _]| x, Orbit { azimuth: -90.0, elevation: 60.0 });
    let plain = draw(&mut renderer(PLAIN), PLAIN, &scene);
    scene.contours = 16;
    let lined = draw(&mut renderer(PLAIN), PLAIN, &scene);
    let change = |x: f64| {
        let px = view.project(heights.point(view.box_from_xy([x, -0.25])).expect("on the surface")).px;
        difference(pixel(&lined, px), pixel(&plain, px))
    };
    let levels: Vec<f64> = (5..=11).map(|level| scene.scale.value(f64::from(level) / 16.0)).collect();
    for pair in levels.windows(2).filter(|pair| pair[0] > -0.9 && pair[1] < 1.9) {
        assert!(change(pair[0]) > 5, "no line at {}", pair[0]);
        assert_eq!(change(0.5 * (pair[0] + pair[1])), 0, "a line between {pair:?}");
    }
}

#[test]
fn an_srgb_target_shows_the_same_surface() {
    let (scene, ..) = surface(waves, Orbit::HOME);
    let plain = draw(&mut renderer(PLAIN), PLAIN, &scene);
    let encoding = wgpu::TextureFormat::Rgba8UnormSrgb;
    let encoded = draw(&mut renderer(encoding), encoding, &scene);
    // At the edges, samples are averaged before and after the encoding.
    let differ = plain
        .pixels()
        .zip(encoded.pixels())
        .filter(|(one, other)| difference([one.0[0], one.0[1], one.0[2]], [other.0[0], other.0[1], other.0[2]]) > 1);
    let share = differ.count() as f64 / f64::from(SIZE[0] * SIZE[1]);
    assert!(share < 0.02, "{share}");
}

#[test]
fn the_plane_returns_after_the_surface() {
    let (in_space, ..) = surface(waves, Orbit::HOME);
    let plane = Scene { space: None, ..in_space.clone() };
    let mut renderer = renderer(PLAIN);
    let before = draw(&mut renderer, PLAIN, &plane);
    assert!(draw(&mut renderer, PLAIN, &in_space) != before);
    assert!(draw(&mut renderer, PLAIN, &plane) == before);
}
