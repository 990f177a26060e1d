//! Particles, trails and mean paths are at the positions of the viewport, and nowhere else.

use image::RgbaImage;
use valleyscope::gpu::{EnsembleKey, EnsembleStyle, Positions, Renderer, Scene};
use valleyscope_experiments::view::{Camera, Colormap, SymLog};

use super::offscreen::{PLAIN, RED, draw, gpu, key, points, push, renderer, scene};

/// Returns a flat ground of one colour, so that every change is an overlay's. Units are 100 pixels.
fn flat() -> Scene {
    let mut scene = scene([400, 300], Camera::new([2.0, 1.5], 4.0));
    scene.scale = SymLog::symmetric(1e9, 1e12);
    scene
}

fn ground() -> [u8; 3] {
    Colormap::Viridis.rgb(0.5)
}

pub fn pixel(image: &RgbaImage, [x, y]: [f32; 2]) -> [u8; 3] {
    let [r, g, b, _] = image.get_pixel(x as u32, y as u32).0;
    [r, g, b]
}

/// Returns how far a pixel is from the ground towards red, from 0 to 1.
fn redness(image: &RgbaImage, px: [f32; 2]) -> f64 {
    let [r, ..] = pixel(image, px);
    (f64::from(r) - f64::from(ground()[0])) / (255.0 - f64::from(ground()[0]))
}

fn changed_pixels(image: &RgbaImage) -> Vec<(u32, u32)> {
    image
        .enumerate_pixels()
        .filter(|(_, _, pixel)| (0..3).any(|channel| pixel.0[channel].abs_diff(ground()[channel]) > 2))
        .map(|(x, y, _)| (x, y))
        .collect()
}

/// Adds a particle that moves along `xs` at height `y`, one place a step, ending at `step`.
fn walk(renderer: &mut Renderer, run: u64, capacity: usize, step: u64, y: f32, xs: &[f32]) {
    let columns: Vec<_> = xs.iter().map(|x| [*x, y]).collect();
    push(renderer, Positions { run, ensemble: key(1), particles: 1, capacity, step, columns: &columns });
}

/// Returns the style of a trail without its particle.
fn trail(steps: u32) -> EnsembleStyle {
    EnsembleStyle { trail_steps: steps, trail_width: 3.0, point_radius: 0.0, ..points(1) }
}

fn with(styles: &[EnsembleStyle]) -> Scene {
    Scene { ensembles: styles.to_vec(), ..flat() }
}

#[test]
fn points_are_discs_at_their_pixels() {
    let mut renderer = renderer(PLAIN);
    let columns = [[0.505, 0.505], [3.005, 2.405], [f32::NAN, 1.0], [1.0, f32::INFINITY], [2.0, 9.0]];
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles: 5, capacity: 1, step: 0, columns: &columns });
    let scene = with(&[points(1)]);
    let image = draw(&mut renderer, PLAIN, &scene);
    let centers: Vec<_> = columns[..2].iter().map(|xy| scene.viewport.px_from_xy(xy.map(f64::from))).collect();
    for center in &centers {
        assert_eq!(pixel(&image, *center), RED);
    }
    let distance = |(x, y): (u32, u32)| {
        let from = |[cx, cy]: [f32; 2]| (x as f32 + 0.5 - cx).hypot(y as f32 + 0.5 - cy);
        centers.iter().copied().map(from).fold(f32::INFINITY, f32::min)
    };
    let changed = changed_pixels(&image);
    assert!(changed.iter().all(|px| distance(*px) < 5.5), "a disc of radius 4 and its edge, nothing else");
    assert!((100..220).contains(&changed.len()), "two discs, not {} pixels", changed.len());
}

#[test]
fn the_selected_particle_has_a_ring() {
    let mut renderer = renderer(PLAIN);
    let columns = [[1.005, 1.005], [3.005, 1.005]];
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles: 2, capacity: 1, step: 0, columns: &columns });
    let plain = draw(&mut renderer, PLAIN, &with(&[points(1)]));
    let missing = draw(&mut renderer, PLAIN, &with(&[EnsembleStyle { selected: Some(2), ..points(1) }]));
    assert!(plain == missing, "there is no particle of that number");
    let ringed = draw(&mut renderer, PLAIN, &with(&[EnsembleStyle { selected: Some(1), ..points(1) }]));
    let around = changed_pixels(&ringed).len() - changed_pixels(&plain).len();
    assert!(around > 60);
    // The ring's line, 6.75 px from the particle; the other particle is as before.
    assert!(pixel(&ringed, [300.5 + 6.75, 199.5]).iter().all(|channel| *channel > 200));
    assert_eq!(pixel(&ringed, [100.5 + 6.75, 199.5]), ground());
}

#[test]
fn trails_fade_with_age() {
    let mut renderer = renderer(PLAIN);
    walk(&mut renderer, 1, 5, 4, 1.505, &[0.5, 1.2, 1.9, 2.6, 3.3]);
    let image = draw(&mut renderer, PLAIN, &with(&[trail(4)]));
    let along: Vec<_> = [0.55, 1.0, 1.7, 2.4, 3.25].map(|x: f32| redness(&image, [100.0 * x, 149.5])).into();
    assert!(along.is_sorted() && along[0] < 0.05 && along[4] > 0.9, "{along:?}");
    // The line has the requested width and end.
    assert!(redness(&image, [300.0, 149.5 - 1.0]) > 0.8 && redness(&image, [300.0, 149.5 - 4.0]).abs() < 0.02);
    assert!(redness(&image, [100.0 * 3.3 + 5.0, 149.5]).abs() < 0.02);

    let shorter = draw(&mut renderer, PLAIN, &with(&[trail(2)]));
    assert!(redness(&shorter, [150.0, 149.5]).abs() < 0.02 && redness(&shorter, [320.0, 149.5]) > 0.8);
    let none = draw(&mut renderer, PLAIN, &with(&[trail(0)]));
    assert!(redness(&none, [320.0, 149.5]).abs() < 0.02);
}

/// Checks that translucent trails have no blobs where their segments meet, however short these are.
#[test]
fn a_trail_of_many_pieces_looks_like_one_of_few() {
    let mut pieces = renderer(PLAIN);
    let xs: Vec<_> = (0..=700).map(|index| 0.5 + index as f32 * 0.004).collect();
    walk(&mut pieces, 1, 1000, 700, 1.505, &xs);
    let image = draw(&mut pieces, PLAIN, &with(&[trail(700)]));
    for x in 60..320 {
        let expected = (x as f64 - 50.0) / 280.0;
        let found = redness(&image, [x as f32, 149.5]);
        assert!((found - expected).abs() < 0.03, "{found} instead of {expected} at {x}");
    }
}

#[test]
fn a_ring_that_wraps_draws_the_same_as_one_upload() {
    let xs: Vec<f32> = (0..23).map(|index| 0.3 + 0.15 * index as f32).collect();
    let capacity = 6;
    let scene = with(&[EnsembleStyle { point_radius: 3.0, ..trail(5) }]);
    for chunk in [1, 2, 3, 4, 5, 7, 11] {
        let mut piecewise = renderer(PLAIN);
        let mut step = 0;
        for columns in xs.chunks(chunk) {
            step += columns.len() as u64;
            walk(&mut piecewise, 1, capacity, step - 1, 1.5, columns);
            let mut at_once = renderer(PLAIN);
            let newest = &xs[(step as usize).saturating_sub(capacity)..step as usize];
            walk(&mut at_once, 1, capacity, step - 1, 1.5, newest);
            let expected = draw(&mut at_once, PLAIN, &scene);
            assert!(draw(&mut piecewise, PLAIN, &scene) == expected, "pieces of {chunk}, step {step}");
        }
    }
}

#[test]
fn a_larger_capacity_keeps_the_trails() {
    let xs: Vec<f32> = (0..20).map(|index| 0.3 + 0.15 * index as f32).collect();
    let scene = with(&[trail(19)]);
    let mut growing = renderer(PLAIN);
    walk(&mut growing, 1, 4, 2, 1.5, &xs[..3]);
    (3..20).for_each(|step| walk(&mut growing, 1, 3 + step, step as u64, 1.5, &xs[step..=step]));
    let mut at_once = renderer(PLAIN);
    walk(&mut at_once, 1, 20, 19, 1.5, &xs);
    let expected = draw(&mut at_once, PLAIN, &scene);
    assert!(draw(&mut growing, PLAIN, &scene) == expected);

    walk(&mut growing, 1, 5, 19, 1.5, &xs[19..]);
    let mut short = renderer(PLAIN);
    walk(&mut short, 1, 5, 19, 1.5, &xs[15..]);
    assert!(draw(&mut growing, PLAIN, &scene) == draw(&mut short, PLAIN, &scene), "a shorter one forgets");
}

#[test]
fn a_restart_is_not_joined_to_the_previous_trail() {
    let between = [200.0, 149.5];
    let scene = with(&[trail(4)]);
    let joined = |run: u64, step: u64, columns: &[f32]| {
        let mut renderer = renderer(PLAIN);
        walk(&mut renderer, 1, 9, 1, 1.505, &[0.5, 1.0]);
        walk(&mut renderer, run, 9, step, 1.505, columns);
        redness(&draw(&mut renderer, PLAIN, &scene), between)
    };
    assert!(joined(1, 2, &[3.0]) > 0.5, "the next step of the same run");
    assert!(joined(2, 2, &[3.0]).abs() < 0.02, "another run");
    assert!(joined(1, 3, &[3.0]).abs() < 0.02, "a step is missing");
    assert!(joined(1, 0, &[3.0]).abs() < 0.02, "back in time");
    assert!(joined(1, 1, &[3.0]) > 0.5, "the newest step again, elsewhere");
    assert!(joined(1, 1, &[0.5, 1.0]).abs() < 0.02, "the newest steps again, unchanged");
}

#[test]
fn a_new_number_of_particles_clears_the_trails() {
    let mut renderer = renderer(PLAIN);
    walk(&mut renderer, 1, 9, 1, 1.505, &[0.5, 3.0]);
    let columns = [[1.0, 0.5], [1.0, 2.5]];
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles: 2, capacity: 9, step: 2, columns: &columns });
    assert!(redness(&draw(&mut renderer, PLAIN, &with(&[trail(4)])), [200.0, 149.5]).abs() < 0.02);
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles: 0, capacity: 9, step: 3, columns: &[] });
    assert_eq!(changed_pixels(&draw(&mut renderer, PLAIN, &with(&[points(1)]))), []);
}

#[test]
fn segments_to_diverged_positions_are_dropped() {
    let mut renderer = renderer(PLAIN);
    walk(&mut renderer, 1, 9, 4, 1.505, &[0.5, 1.0, f32::NAN, 2.0, 2.5]);
    let image = draw(&mut renderer, PLAIN, &with(&[trail(100)]));
    let is_drawn = [0.75, 1.2, 1.5, 1.8, 2.25].map(|x: f32| redness(&image, [100.0 * x, 149.5]) > 0.5);
    assert_eq!(is_drawn, [true, false, false, false, true]);

    walk(&mut renderer, 2, 9, 3, 1.5, &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38]);
    assert_eq!(
        changed_pixels(&draw(&mut renderer, PLAIN, &with(&[EnsembleStyle { trail_steps: 100, ..points(1) }]))),
        []
    );
}

#[test]
fn long_segments_pass_through_the_picture() {
    let mut renderer = renderer(PLAIN);
    let mut scene = with(&[trail(100)]);
    walk(&mut renderer, 1, 9, 1, 1.5, &[-3e3, 3e3]);
    assert!(redness(&draw(&mut renderer, PLAIN, &scene), [200.0, 150.0]) > 0.7);
    // A usual step at the deepest zoom: ten thousand times as long as the picture is wide.
    walk(&mut renderer, 2, 9, 1, 1.5, &[1.995, 2.005]);
    scene.viewport.camera.width = 1e-6;
    assert!(redness(&draw(&mut renderer, PLAIN, &scene), [200.0, 150.0]) > 0.7);
}

#[test]
fn every_particle_has_its_own_trail() {
    let particles = 10_000;
    let mut renderer = renderer(PLAIN);
    let height = |particle: usize| 3.0 * particle as f32 / particles as f32;
    let columns: Vec<_> =
        [1.0, 2.0, 3.0].iter().flat_map(|x| (0..particles).map(move |particle| [*x, height(particle)])).collect();
    push(&mut renderer, Positions { run: 1, ensemble: key(1), particles, capacity: 3, step: 2, columns: &columns });
    let image = draw(&mut renderer, PLAIN, &with(&[trail(100)]));
    for y in [5.0, 100.0, 150.0, 295.0] {
        let row: Vec<_> = [50.0, 150.0, 250.0, 350.0].iter().map(|x| redness(&image, [*x, y]) > 0.5).collect();
        assert_eq!(row, [false, true, true, false], "row {y}");
    }
}

#[test]
fn more_columns_than_the_device_holds_are_not_kept() {
    let mut renderer = renderer(PLAIN);
    let columns = [[[0.5, 1.505]; 10_000], [[3.0, 1.505]; 10_000]].concat();
    let capacity = usize::MAX;
    push(
        &mut renderer,
        Positions { run: 1, ensemble: key(1), particles: 10_000, capacity, step: 1, columns: &columns },
    );
    assert!(redness(&draw(&mut renderer, PLAIN, &with(&[trail(100)])), [200.0, 149.5]) > 0.9);
}

#[test]
fn the_mean_path_is_a_line_with_a_dark_casing() {
    let mut renderer = renderer(PLAIN);
    let path: Vec<_> = (0..500).map(|index| [0.5 + 0.004 * index as f32, 1.505]).collect();
    renderer.set_mean_path(key(1), &path);
    push(
        &mut renderer,
        Positions { run: 1, ensemble: key(1), particles: 1, capacity: 1, step: 0, columns: &[[9.0, 9.0]] },
    );
    assert_eq!(changed_pixels(&draw(&mut renderer, PLAIN, &with(&[points(1)]))), [], "it is not asked for");

    let mut scene = with(&[EnsembleStyle { path_width: 2.0, ..points(1) }]);
    scene.pixels_per_point = 2.0;
    let image = draw(&mut renderer, PLAIN, &scene);
    for x in [52.0, 100.0, 200.0, 248.0] {
        assert_eq!(pixel(&image, [x, 149.5]), RED);
        assert_eq!(pixel(&image, [x, 149.5 + 3.0]), [0; 3]);
        assert_eq!(pixel(&image, [x, 149.5 + 5.0]), ground());
    }
    assert!(changed_pixels(&image).iter().all(|(x, _)| (45..255).contains(x)));

    renderer.set_mean_path(key(1), &[[0.5, 1.505], [f32::NAN, 1.5], [2.0, 1.505], [3.0, 1.505]]);
    let broken = draw(&mut renderer, PLAIN, &scene);
    assert_eq!((pixel(&broken, [100.0, 149.5]), pixel(&broken, [250.0, 149.5])), (ground(), RED));
}

#[test]
fn sessions_have_ensembles_of_their_own_and_pale_ones_keep_their_hue() {
    let mut renderer = renderer(PLAIN);
    let other = EnsembleKey { session: 7, optimizer: 1 };
    push(
        &mut renderer,
        Positions { run: 1, ensemble: key(1), particles: 1, capacity: 1, step: 0, columns: &[[1.0, 1.0]] },
    );
    push(
        &mut renderer,
        Positions { run: 1, ensemble: other, particles: 1, capacity: 1, step: 0, columns: &[[3.0, 1.0]] },
    );
    renderer.set_mean_path(other, &[[0.5, 2.005], [3.5, 2.005]]);
    let pale = EnsembleStyle { key: other, opacity: 0.5, path_width: 2.0, ..points(1) };
    let image = draw(&mut renderer, PLAIN, &with(&[pale, points(1)]));
    let [own, others, path] = [[100.0, 199.5], [300.0, 199.5], [200.0, 99.0]].map(|px| redness(&image, px));
    assert!(own > 0.95, "{own}");
    assert!((0.4..0.65).contains(&others), "{others}");
    assert!((0.4..0.65).contains(&path), "{path}");
    let edge = pixel(&image, [200.0, 101.0]);
    assert!(edge.iter().zip(ground()).all(|(edge, ground)| edge.abs_diff(ground) < 20), "a pale casing: {edge:?}");
}

#[test]
fn forgotten_ensembles_are_not_drawn() {
    let mut renderer = renderer(PLAIN);
    let styles = [points(1), EnsembleStyle { path_width: 2.0, ..points(2) }];
    push(
        &mut renderer,
        Positions { run: 1, ensemble: key(1), particles: 1, capacity: 1, step: 0, columns: &[[1.0, 1.0]] },
    );
    push(
        &mut renderer,
        Positions { run: 1, ensemble: key(2), particles: 1, capacity: 1, step: 0, columns: &[[3.0, 1.0]] },
    );
    renderer.set_mean_path(key(2), &[[1.0, 2.0], [3.0, 2.0]]);
    renderer.retain(&[key(1)]);
    let left = changed_pixels(&draw(&mut renderer, PLAIN, &with(&styles)));
    assert!(!left.is_empty() && left.iter().all(|(x, y)| (90..110).contains(x) && (190..210).contains(y)));
}

#[test]
fn an_srgb_target_shows_the_same_discs() {
    let encoding = wgpu::TextureFormat::Rgba8UnormSrgb;
    let color = [128, 166, 226];
    let scene = with(&[EnsembleStyle { color, ..points(1) }]);
    for format in [PLAIN, encoding] {
        let mut renderer = renderer(format);
        walk(&mut renderer, 1, 1, 0, 1.505, &[1.505]);
        let found = pixel(&draw(&mut renderer, format, &scene), [150.5, 149.5]);
        assert!(found.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 1), "{found:?} on {format:?}");
    }
}

#[test]
fn an_empty_canvas_draws_nothing() {
    let mut renderer = renderer(PLAIN);
    walk(&mut renderer, 1, 3, 1, 1.5, &[0.5, 1.0]);
    draw(&mut renderer, PLAIN, &with(&[trail(5)]));
    let mut empty = with(&[trail(5)]);
    empty.viewport.size_px = [0.0, 300.0];
    assert!(renderer.prepare(&gpu().device, &gpu().queue, &empty).is_none());
    empty.viewport.size_px = [f32::NAN, f32::NAN];
    assert!(renderer.prepare(&gpu().device, &gpu().queue, &empty).is_none());
}
