//! The view along the valley, on the whole canvas and as an inset.

use egui::accesskit::Role;
use egui::{Key, Modifiers, PointerButton, Pos2, Rect, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use valleyscope::app::landscape::canvas::nearest_particle;
use valleyscope::draw::Projection;
use valleyscope_engine::quantity::StartSpread;
use valleyscope_experiments::view::{Camera, Inset, LensAxes, ViewProjection, Viewport};

use super::canvas_space::{Shown, Stage, advance_to, button, harness, three_optimizers};

fn along_the_valley() -> Harness<'static, Stage> {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Landscape, None), [820.0, 600.0]);
    harness.state_mut().document.view.projection = ViewProjection::Valley;
    advance_to(&mut harness, 100);
    settle(&mut harness);
    harness
}

/// Waits until the view has followed the particles.
fn settle(harness: &mut Harness<'_, Stage>) {
    harness.run_steps(120);
}

fn canvas(harness: &Harness<'_, Stage>) -> Rect {
    harness.get_by_role_and_label(Role::Canvas, "Landscape").rect()
}

fn camera(harness: &Harness<'_, Stage>) -> Camera {
    harness.state().landscape.camera()
}

fn viewport(harness: &Harness<'_, Stage>) -> Viewport {
    Viewport { camera: camera(harness), size_px: canvas(harness).size().into() }
}

fn press(harness: &Harness<'_, Stage>, at: Pos2, pressed: bool) {
    let modifiers = Modifiers::NONE;
    harness.event(egui::Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers });
}

fn drag(harness: &mut Harness<'_, Stage>, from: Pos2, by: Vec2) {
    harness.hover_at(from);
    harness.run_steps(1);
    press(harness, from, true);
    for part in 1..=8 {
        harness.hover_at(from + by * (part as f32 / 8.0));
        harness.run_steps(1);
    }
    press(harness, from + by, false);
    harness.run_steps(2);
}

fn newest(harness: &Harness<'_, Stage>, ensemble: usize, particle: usize) -> [f64; 2] {
    let session = harness.state().live.session(0).expect("there is one");
    let view = &session.ensembles[ensemble];
    view.columns[view.columns.len() - view.particles..][particle].map(f64::from)
}

#[test]
fn both_scales_follow_the_particles_and_the_floor_is_straight() {
    let mut harness = along_the_valley();
    let Camera { width, lens, .. } = camera(&harness);
    assert_eq!(lens.axes, LensAxes::Uv);
    assert!(width.log2().fract() == 0.0 && lens.stretch.log2().fract() == 0.0, "{width} {lens:?}");
    assert!(lens.stretch >= 4.0, "v is small: {lens:?}");
    let canvas_size = canvas(&harness).size();
    for ensemble in 0..3 {
        for particle in 0..30 {
            let at = viewport(&harness).px_from_xy(newest(&harness, ensemble, particle));
            assert!((0..2).all(|axis| at[axis] > 0.0 && at[axis] < canvas_size[axis]), "{at:?} of {canvas_size}");
        }
    }
    let landscape = harness.state().document.spec(0).landscape.landscape();
    for u in [0.0, 0.5, 2.0] {
        let [_, y] = viewport(&harness).px_from_xy(landscape.xy_from_uv([u, 0.0]));
        assert!((y - 0.5 * canvas_size.y).abs() < 0.5, "{y} at u = {u}");
    }
    advance_to(&mut harness, 400);
    settle(&mut harness);
    assert!(landscape.uv_from_xy(camera(&harness).center)[0] > 0.5, "the view follows: {:?}", camera(&harness));
}

#[test]
fn the_start_is_seen_as_wide_as_its_cloud() {
    let mut spec = three_optimizers(30);
    spec.start.spread = StartSpread::clamped(0.2);
    let mut harness = harness(Stage::new(spec, Shown::Landscape, None), [820.0, 600.0]);
    harness.state_mut().document.view.projection = ViewProjection::Valley;
    settle(&mut harness);
    let [width, height]: [f32; 2] = canvas(&harness).size().into();
    for particle in 0..30 {
        let [x, y] = viewport(&harness).px_from_xy(newest(&harness, 0, particle));
        assert!((0.0..width).contains(&x) && (0.0..height).contains(&y), "{x} {y}");
    }
}

#[test]
fn a_click_selects_the_particle_under_the_pointer() {
    let mut harness = along_the_valley();
    let xy = newest(&harness, 1, 2);
    let px = viewport(&harness).px_from_xy(xy);
    let at = canvas(&harness).min + Vec2::from(px);
    harness.hover_at(at);
    harness.run_steps(1);
    press(&harness, at, true);
    press(&harness, at, false);
    harness.run_steps(2);
    let selected = harness.state().live.selected.expect("a particle is selected");
    let expected = nearest_particle(&harness.state().live, 0, &Projection::Plane(viewport(&harness)), px, 1.0);
    assert_eq!(Some(selected), expected);
}

#[test]
fn scales_by_hand_stay_until_the_view_follows_again() {
    let mut harness = along_the_valley();
    let before = camera(&harness);
    let middle = canvas(&harness).center() + vec2(0.0, 120.0);
    drag(&mut harness, middle, vec2(60.0, 30.0));
    let moved = camera(&harness);
    assert!(!harness.state().document.view.follow && moved.center != before.center);
    assert_eq!((moved.width, moved.lens), (before.width, before.lens));
    let grabbed = Viewport { camera: before, size_px: viewport(&harness).size_px }.xy_from_px([100.0, 100.0]);
    let now = viewport(&harness).px_from_xy(grabbed);
    assert!((now[0] - 160.0).abs() < 0.5 && (now[1] - 130.0).abs() < 0.5, "{now:?}");
    harness.get_by_role_and_label(Role::Canvas, "Landscape").focus();
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowUp);
    harness.run_steps(2);
    assert_eq!(camera(&harness).lens.stretch, 2.0 * before.lens.stretch);
    advance_to(&mut harness, 300);
    harness.run_steps(20);
    assert_eq!(camera(&harness).lens.stretch, 2.0 * before.lens.stretch, "the scales hold");
    harness.state_mut().document.view.follow = true;
    settle(&mut harness);
    let landscape = harness.state().document.spec(0).landscape.landscape();
    assert!(landscape.uv_from_xy(camera(&harness).center)[1].abs() < 1e-6, "the floor is in the middle again");
}

#[test]
fn the_summary_names_the_coordinates_and_the_stretch() {
    let harness = along_the_valley();
    let value = harness.get_by_role_and_label(Role::Canvas, "Landscape").value().expect("a summary");
    assert!(value.contains("u from") && value.contains("v from") && value.contains("stretched"), "{value}");
}

#[test]
fn the_inset_avoids_the_way_down_the_valley() {
    for (degrees, is_right) in [(30.0, true), (-30.0, false)] {
        let mut spec = three_optimizers(3);
        spec.landscape.set("rotation_degrees", degrees).unwrap();
        let mut harness = harness(Stage::new(spec, Shown::Landscape, None), [820.0, 600.0]);
        harness.state_mut().document.view.inset = Some(Inset::default());
        harness.run_steps(3);
        let inset = harness.get_by_role_and_label(Role::Canvas, "Landscape along the valley").rect();
        assert_eq!(inset.center().x > canvas(&harness).center().x, is_right, "{degrees}°");
        assert_eq!(harness.state().document.view.inset, Some(Inset::default()), "the document does not change");
    }
}

#[test]
fn the_inset_covers_no_particle_that_it_magnifies() {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Landscape, None), [560.0, 420.0]);
    harness.state_mut().document.view.inset = Some(Inset::default());
    for step in [20, 100, 400] {
        advance_to(&mut harness, step);
        settle(&mut harness);
        let inset = harness.get_by_role_and_label(Role::Canvas, "Landscape along the valley").rect();
        for (ensemble, particle) in (0..3).flat_map(|ensemble| (0..30).map(move |particle| (ensemble, particle))) {
            let px = viewport(&harness).px_from_xy(newest(&harness, ensemble, particle));
            assert!(!inset.contains(canvas(&harness).min + Vec2::from(px)), "{px:?} in step {step}");
        }
    }
}

#[test]
fn the_inset_is_dragged_resized_closed_and_shown_again() {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Landscape, None), [820.0, 600.0]);
    harness.state_mut().document.view.inset = Some(Inset::default());
    advance_to(&mut harness, 100);
    settle(&mut harness);
    let inset = |harness: &Harness<'_, Stage>| harness.state().document.view.inset;
    let area =
        |harness: &Harness<'_, Stage>| harness.get_by_role_and_label(Role::Canvas, "Landscape along the valley").rect();
    let (plane, before) = (camera(&harness), area(&harness));
    assert!(plane.lens.is_none() && canvas(&harness).contains_rect(before));
    drag(&mut harness, before.left_top() + vec2(30.0, -15.0), vec2(-120.0, -80.0));
    let moved = area(&harness);
    assert!((moved.min - before.min - vec2(-120.0, -80.0)).length() < 3.0, "{before:?} {moved:?}");
    let at = inset(&harness).expect("it is shown");
    let bottom = canvas(&harness).min + (Vec2::from(at.at) + Vec2::from(at.size)) * canvas(&harness).size();
    drag(&mut harness, bottom - vec2(5.0, 5.0), vec2(40.0, 30.0));
    let resized = area(&harness);
    assert!((resized.size() - moved.size() - vec2(40.0, 30.0)).length() < 3.0, "{moved:?} {resized:?}");
    assert_eq!(camera(&harness), plane, "the plane stays where it is");
    harness.get_by_label("Close the inset").click();
    harness.run_steps(2);
    assert_eq!(inset(&harness), None);
    harness.state_mut().document.view.inset = Some(Inset::default());
    button(&mut harness, "Valley");
    settle(&mut harness);
    assert!(!camera(&harness).lens.is_none());
    assert!(harness.query_by_label("Landscape along the valley").is_none(), "not twice");
}
