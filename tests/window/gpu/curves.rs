//! The lines of plots have the requested positions, widths, opacities and dashes.

use std::sync::Arc;

use image::RgbaImage;
use valleyscope::gpu::{CurveRenderer, CurveSet, CurveStyle, Placement};

use super::offscreen::{PLAIN, RED, gpu, painted};

const SIZE: [u32; 2] = [200, 100];
const WHOLE: CurveStyle = CurveStyle { color: RED, opacity: 1.0, width_px: 4.0, dash_px: None };

fn renderer() -> CurveRenderer {
    CurveRenderer::new(&gpu().device, PLAIN, 1)
}

fn set(lines: &[(CurveStyle, &[[f64; 2]])]) -> Arc<CurveSet> {
    let mut set = CurveSet::default();
    for (style, line) in lines {
        set.add(*style, SIZE.map(f64::from), line.iter().copied());
    }
    Arc::new(set)
}

/// Returns a placement with place (0, 0) at the lower left corner and (1, 1) at the upper right one.
fn placement() -> Placement {
    let [width, height] = SIZE.map(|size| size as f32);
    Placement { size_px: [width, height], px_per_place: [width, height], origin_px: [-0.5 * width, -0.5 * height] }
}

fn draw(renderer: &mut CurveRenderer, id: u64, set: &Arc<CurveSet>, placement: Placement) -> RgbaImage {
    renderer.prepare(&gpu().device, &gpu().queue, id, set, placement);
    painted(PLAIN, SIZE, |pass| renderer.paint(pass, id))
}

fn drawn(lines: &[(CurveStyle, &[[f64; 2]])]) -> RgbaImage {
    draw(&mut renderer(), 1, &set(lines), placement())
}

/// Returns the share of red from 0 to 1, at a pixel counted from the lower left corner.
fn red(image: &RgbaImage, [x, y]: [u32; 2]) -> f64 {
    f64::from(image.get_pixel(x, SIZE[1] - 1 - y).0[0]) / 255.0
}

#[test]
fn a_line_covers_its_width_and_nothing_else() {
    let image = drawn(&[(WHOLE, &[[0.25, 0.5], [0.75, 0.5]])]);
    for x in 52..148 {
        let column: Vec<bool> = (0..SIZE[1]).map(|y| red(&image, [x, y]) == 1.0).collect();
        let expected: Vec<bool> = (0..SIZE[1]).map(|y| (48..52).contains(&y)).collect();
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
    let image = painted(PLAIN, SIZE, |pass| renderer.paint(pass, 1));
    assert_eq!([red(&image, [100, 20]), red(&image, [100, 80])], [1.0, 0.0]);
    drop(low);
    renderer.forget();
    let image = painted(PLAIN, SIZE, |pass| renderer.paint(pass, 1));
    assert_eq!(red(&image, [100, 20]), 0.0);
    let image = painted(PLAIN, SIZE, |pass| renderer.paint(pass, 2));
    assert_eq!(red(&image, [100, 80]), 1.0);
}
