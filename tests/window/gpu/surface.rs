//! The surface in space has the places, colours and light of its loss, and hides what is behind it.

use std::sync::Arc;

use image::RgbaImage;
use valleyscope::gpu::{
    BEHIND, CurveRenderer, CurveSet, CurveStyle, EnsembleStyle, Placement, Positions, Scene, SpaceScene,
};
use valleyscope_experiments::view::{Camera, HeightField, Orbit, SpaceView, SymLog};

use super::offscreen;
use super::offscreen::{PLAIN, RED, difference, gpu, key, painted, points, push, scene};
use super::overlays::pixel;

const SIZE: [u32; 2] = [600, 450];
const CAMERA: Camera = Camera::new([0.5, -0.25], 3.0);

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
    scene.space = Some(SpaceScene { orbit, cover: 0.0, heights: Arc::clone(&heights) });
    (scene, SpaceView { camera: CAMERA, orbit, size_px: SIZE.map(|size| size as f32), cover: 0.0 }, heights)
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
        let image = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &scene);
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
    let image = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &scene);
    assert_eq!(pixel(&image, view.project([0.0; 3]).px), [0; 3], "in the hole");
    assert_eq!(pixel(&image, [2.0, 2.0]), [0; 3], "beside the surface");
    assert_ne!(pixel(&image, view.project([0.6, 0.6, 0.0]).px), [0; 3]);
    let (nowhere, ..) = surface(|_| f64::INFINITY, Orbit::HOME);
    let image = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &nowhere);
    assert!(image.pixels().all(|pixel| pixel.0[..3] == [0; 3]));
}

/// Returns how far a pixel is from the colour without particles towards red, from 0 to 1.
fn redness(without: &RgbaImage, with: &RgbaImage, at: [f32; 2]) -> f64 {
    let ([before, ..], [after, ..]) = (pixel(without, at), pixel(with, at));
    (f64::from(after) - f64::from(before)) / (255.0 - f64::from(before))
}

fn with_points(scene: &Scene, style: EnsembleStyle, columns: &[[f32; 2]], particles: usize) -> [RgbaImage; 2] {
    let mut renderer = offscreen::renderer(PLAIN);
    let capacity = columns.len() / particles;
    let step = capacity as u64 - 1;
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles, capacity, step, columns });
    let without = offscreen::draw(&mut renderer, PLAIN, scene);
    [without, offscreen::draw(&mut renderer, PLAIN, &Scene { ensembles: vec![style], ..scene.clone() })]
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
    let plain = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &scene);
    scene.contours = 16;
    let lined = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &scene);
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
    let plain = offscreen::draw(&mut offscreen::renderer(PLAIN), PLAIN, &scene);
    let encoding = wgpu::TextureFormat::Rgba8UnormSrgb;
    let encoded = offscreen::draw(&mut offscreen::renderer(encoding), encoding, &scene);
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
    let mut renderer = offscreen::renderer(PLAIN);
    let before = offscreen::draw(&mut renderer, PLAIN, &plane);
    assert!(offscreen::draw(&mut renderer, PLAIN, &in_space) != before);
    assert!(offscreen::draw(&mut renderer, PLAIN, &plane) == before);
}

const CURVE_SIZE: [u32; 2] = [200, 100];
const WHOLE: CurveStyle = CurveStyle { color: RED, opacity: 1.0, width_px: 4.0, dash_px: None };

fn renderer() -> CurveRenderer {
    CurveRenderer::new(&gpu().device, PLAIN, 1)
}

fn set(lines: &[(CurveStyle, &[[f64; 2]])]) -> Arc<CurveSet> {
    let mut set = CurveSet::default();
    for (style, line) in lines {
        set.add(*style, CURVE_SIZE.map(f64::from), line.iter().copied());
    }
    Arc::new(set)
}

/// Returns a placement with place (0, 0) at the lower left corner and (1, 1) at the upper right one.
fn placement() -> Placement {
    let [width, height] = CURVE_SIZE.map(|size| size as f32);
    Placement { size_px: [width, height], px_per_unit: [width, height], origin_px: [-0.5 * width, -0.5 * height] }
}

fn draw(renderer: &mut CurveRenderer, id: u64, set: &Arc<CurveSet>, placement: Placement) -> RgbaImage {
    renderer.prepare(&gpu().device, &gpu().queue, id, set, placement);
    painted(PLAIN, CURVE_SIZE, |pass| renderer.paint(pass, id))
}

fn drawn(lines: &[(CurveStyle, &[[f64; 2]])]) -> RgbaImage {
    draw(&mut renderer(), 1, &set(lines), placement())
}

/// Returns the share of red from 0 to 1, at a pixel counted from the lower left corner.
fn red(image: &RgbaImage, [x, y]: [u32; 2]) -> f64 {
    f64::from(image.get_pixel(x, CURVE_SIZE[1] - 1 - y).0[0]) / 255.0
}

#[test]
fn a_line_covers_its_width_and_nothing_else() {
    let image = drawn(&[(WHOLE, &[[0.25, 0.5], [0.75, 0.5]])]);
    for x in 52..148 {
        let column: Vec<bool> = (0..CURVE_SIZE[1]).map(|y| red(&image, [x, y]) == 1.0).collect();
        let expected: Vec<bool> = (0..CURVE_SIZE[1]).map(|y| (48..52).contains(&y)).collect();
        assert_eq!(column, expected, "column {x}");
    }
    let far = image.enumerate_pixels().filter(|(x, ..)| *x < 47 || *x > 152);
    assert!(far.into_iter().all(|(_, _, pixel)| pixel.0[0] == 0), "it ends where its points do");
}

#[test]
fn lines_have_gaps_where_points_are_not_finite_and_points_of_their_own_are_no_line() {
    let nan = [f64::NAN; 2];
    let line = [[0.0, 0.5], [0.3, 0.5], nan, [0.5, 0.5], nan, [0.7, 0.5], [1.0, 0.5]];
    let image = drawn(&[(WHOLE, &line), (WHOLE, &[[0.5, 0.2]]), (WHOLE, &[])]);
    let there = [30, 160].map(|x| red(&image, [x, 50]));
    let gaps = [[70, 50], [100, 50], [130, 50], [100, 20]].map(|at| red(&image, at));
    assert_eq!((there, gaps), ([1.0; 2], [0.0; 4]));
}

#[test]
fn dashes_go_on_from_segment_to_segment() {
    let dashed = CurveStyle { dash_px: Some([12.0, 20.0]), ..WHOLE };
    // Segments of 7 pixels, so that dashes begin and end within them.
    let line: Vec<[f64; 2]> = (0..29).map(|index| [7.0 * f64::from(index) / 200.0, 0.5]).collect();
    let image = drawn(&[(dashed, &line)]);
    let wrong: Vec<u32> = (4..190)
        .filter(|x| {
            let from_dash = (f64::from(*x) + 0.5) % 20.0;
            let expected = if from_dash < 12.0 { 1.0 } else { 0.0 };
            // At a dash's ends pixels are covered in part.
            let is_end = [0.0, 12.0, 20.0].iter().any(|end: &f64| (from_dash - end).abs() < 1.0);
            !is_end && (red(&image, [*x, 50]) - expected).abs() > 0.02
        })
        .collect();
    assert_eq!(wrong, Vec::<u32>::new());
}

#[test]
fn a_pale_line_is_as_pale_at_its_joints() {
    let pale = CurveStyle { opacity: 0.4, ..WHOLE };
    let line: Vec<[f64; 2]> = (0..=20).map(|index| [f64::from(index) / 20.0, 0.5]).collect();
    let image = drawn(&[(pale, &line)]);
    let wrong: Vec<u32> = (4..196).filter(|x| (red(&image, [*x, 50]) - 0.4).abs() > 0.02).collect();
    assert_eq!(wrong, Vec::<u32>::new());
}

#[test]
fn unchanged_curves_move_with_their_plot() {
    let mut renderer = renderer();
    let set = set(&[(WHOLE, &[[0.0, 0.5], [1.0, 0.5]])]);
    let before = draw(&mut renderer, 1, &set, placement());
    let moved = Placement { origin_px: [-100.0, -80.0], ..placement() };
    let after = draw(&mut renderer, 1, &set, moved);
    assert_eq!([red(&before, [100, 50]), red(&before, [100, 20])], [1.0, 0.0]);
    assert_eq!([red(&after, [100, 50]), red(&after, [100, 20])], [0.0, 1.0]);
}

#[test]
fn each_plot_has_its_own_curves_until_their_set_is_dropped() {
    let mut renderer = renderer();
    let [low, high] = [0.2, 0.8].map(|y| set(&[(WHOLE, &[[0.0, y], [1.0, y]])]));
    draw(&mut renderer, 1, &low, placement());
    draw(&mut renderer, 2, &high, placement());
    let image = painted(PLAIN, CURVE_SIZE, |pass| renderer.paint(pass, 1));
    assert_eq!([red(&image, [100, 20]), red(&image, [100, 80])], [1.0, 0.0]);
    drop(low);
    renderer.forget();
    let image = painted(PLAIN, CURVE_SIZE, |pass| renderer.paint(pass, 1));
    assert_eq!(red(&image, [100, 20]), 0.0);
    let image = painted(PLAIN, CURVE_SIZE, |pass| renderer.paint(pass, 2));
    assert_eq!(red(&image, [100, 80]), 1.0);
}
