//! The landscape and the formulas, by their accessible names.

use std::sync::Arc;

use egui::accesskit::Role;
use egui::{Key, Modifiers, PointerButton, Pos2, Rect, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use valleyscope::draw::{PlaneMark, Projection, SpaceProjection};
use valleyscope::player::PlayerCommand;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, StartCoordinate};
use valleyscope_engine::simulation::ParticleId;
use valleyscope_experiments::view::ticks::significant;
use valleyscope_experiments::view::{Camera, HeightField, Orbit, SpaceView, SymLog, ViewProjection, Viewport};

use super::canvas_space::{Shown, Stage, advance_to, button, harness, three_optimizers, until};

fn landscape() -> Harness<'static, Stage> {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Landscape, None), [820.0, 600.0]);
    harness.state_mut().document.view.follow = false;
    advance_to(&mut harness, 100);
    harness
}

fn canvas(harness: &Harness<'_, Stage>) -> Rect {
    harness.get_by_label("Landscape").rect()
}

fn viewport(harness: &Harness<'_, Stage>) -> Viewport {
    Viewport { camera: harness.state().landscape.camera(), size_px: canvas(harness).size().into() }
}

fn on_screen(harness: &Harness<'_, Stage>, xy: [f64; 2]) -> Pos2 {
    canvas(harness).min + egui::Vec2::from(viewport(harness).px_from_xy(xy))
}

fn press(harness: &Harness<'_, Stage>, at: Pos2, pressed: bool, modifiers: Modifiers) {
    let event = egui::Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers };
    harness.event_modifiers(event, modifiers);
}

fn click(harness: &mut Harness<'_, Stage>, at: Pos2, modifiers: Modifiers) {
    harness.hover_at(at);
    harness.run_steps(1);
    press(harness, at, true, modifiers);
    press(harness, at, false, modifiers);
    harness.run_steps(2);
    // The next click must not be a double click.
    harness.run_steps(40);
}

fn drag(harness: &mut Harness<'_, Stage>, from: Pos2, by: egui::Vec2) {
    harness.hover_at(from);
    harness.run_steps(1);
    press(harness, from, true, Modifiers::NONE);
    harness.run_steps(1);
    for part in 1..=8 {
        harness.hover_at(from + by * (part as f32 / 8.0));
        harness.run_steps(1);
    }
    press(harness, from + by, false, Modifiers::NONE);
    harness.run_steps(2);
}

/// Returns the last column's particle.
fn particle(harness: &Harness<'_, Stage>, optimizer: u32, particle: usize) -> [f64; 2] {
    let view = harness.state().live.visible(0).find(|view| view.optimizer == optimizer).expect("it is shown");
    view.columns[view.columns.len() - view.particles + particle].map(f64::from)
}

#[test]
fn the_canvas_describes_its_state() {
    let harness = landscape();
    let value = harness.get_by_label("Landscape").value().expect("a summary");
    crate::says::says(&value, &["In view: x from", "Step 100, paused", "Adam: 30 particles, mean loss −"]);
}

#[test]
fn a_click_selects_the_nearest_particle_and_beside_all_deselects() {
    let mut harness = landscape();
    let at = on_screen(&harness, particle(&harness, 1, 7));
    click(&mut harness, at, Modifiers::NONE);
    let selected = harness.state().live.selected.expect("a particle was hit");
    let hit = on_screen(&harness, particle(&harness, selected.optimizer, selected.particle));
    assert!(hit.distance(at) < 1.0, "{selected:?} lies at {hit:?}, not {at:?}");
    assert!(harness.state().commands.iter().any(|command| command.starts_with("Select(Some")));
    until(&mut harness, "its step is taken apart", |stage| {
        stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 100)
    });
    let corner = canvas(&harness).right_bottom() - vec2(20.0, 20.0);
    click(&mut harness, corner, Modifiers::NONE);
    assert_eq!(harness.state().live.selected, None);
}

#[test]
fn dragging_moves_the_view_and_ends_following() {
    let mut harness = landscape();
    harness.state_mut().document.view.follow = true;
    let before = viewport(&harness);
    let from = canvas(&harness).center() + vec2(100.0, 120.0);
    drag(&mut harness, from, vec2(-60.0, 30.0));
    let camera = viewport(&harness).camera;
    let scale = before.units_per_px();
    assert!((camera.center[0] - before.camera.center[0] - 60.0 * scale).abs() < 3.0 * scale, "{camera:?}");
    assert!((camera.center[1] - before.camera.center[1] - 30.0 * scale).abs() < 3.0 * scale, "{camera:?}");
    assert!(!harness.state().document.view.follow);
}

#[test]
fn the_wheel_zooms_at_the_pointer() {
    let mut harness = landscape();
    let at = canvas(&harness).center() + vec2(120.0, -80.0);
    let under = viewport(&harness).xy_from_px((at - canvas(&harness).min).into());
    harness.hover_at(at);
    harness.run_steps(1);
    harness.event(egui::Event::MouseWheel {
        source: egui::MouseWheelSource::Wheel,
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, 200.0),
        phase: egui::TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(40);
    assert!(viewport(&harness).camera.width < 0.6 * Camera::HOME.width, "{:?}", viewport(&harness).camera);
    assert!(on_screen(&harness, under).distance(at) < 1.0);
}

#[test]
fn a_double_click_and_the_button_fit_the_particles() {
    for button in [false, true] {
        let mut harness = landscape();
        let away = canvas(&harness).center() + vec2(100.0, 120.0);
        drag(&mut harness, away, vec2(250.0, -100.0));
        if button {
            harness.get_by_label("Fit").click();
        } else {
            for pressed in [true, false, true, false] {
                press(&harness, away, pressed, Modifiers::NONE);
            }
        }
        harness.run_steps(3);
        for optimizer in 0..3 {
            let at = on_screen(&harness, particle(&harness, optimizer, 0));
            assert!(canvas(&harness).contains(at), "particle of {optimizer} at {at:?}, button: {button}");
        }
    }
}

#[test]
fn fitting_before_the_first_step_shows_the_neighbourhood_of_the_landscape() {
    let mut harness = landscape();
    harness.state_mut().document.spec_mut(0).start.x = StartCoordinate::clamped(-4.0);
    until(&mut harness, "the start", |stage| {
        stage
            .live
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.step == 0 && snapshot.sessions[0].spec.start.x.get() == -4.0)
    });
    button(&mut harness, "Fit");
    for place in [[-4.0, 0.0], [0.9, 0.5], [2.3, 0.5]] {
        assert!(canvas(&harness).contains(on_screen(&harness, place)), "{place:?} is in {:?}", viewport(&harness));
    }
    harness.state_mut().document.spec_mut(0).start.x = StartCoordinate::clamped(0.0);
    until(&mut harness, "the start", |stage| {
        stage
            .live
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.step == 0 && snapshot.sessions[0].spec.start.x.get() == 0.0)
    });
    button(&mut harness, "Fit");
    assert_eq!(viewport(&harness).camera, Camera::HOME, "the home view has the start");
}

#[test]
fn the_start_is_placed_by_tool_by_shift_and_by_its_marker() {
    let mut harness = landscape();
    button(&mut harness, "Place start");
    let at = canvas(&harness).center() + vec2(-90.0, 110.0);
    let wanted = viewport(&harness).xy_from_px((at - canvas(&harness).min).into());
    click(&mut harness, at, Modifiers::NONE);
    let start = |harness: &Harness<'_, Stage>| {
        let start = harness.state().document.spec(0).start;
        [start.x.get(), start.y.get()]
    };
    assert!((0..2).all(|axis| (start(&harness)[axis] - wanted[axis]).abs() < 0.01), "{:?}", start(&harness));

    // The tool is used once.
    let placed = start(&harness);
    let other = canvas(&harness).center() + vec2(60.0, 140.0);
    click(&mut harness, other, Modifiers::NONE);
    assert_eq!(start(&harness), placed);
    button(&mut harness, "Place start");
    harness.key_press(egui::Key::Escape);
    harness.run_steps(2);
    click(&mut harness, other, Modifiers::NONE);
    assert_eq!(start(&harness), placed, "Escape gives it up");

    let wanted = viewport(&harness).xy_from_px((other - canvas(&harness).min).into());
    click(&mut harness, other, Modifiers::SHIFT);
    assert!((0..2).all(|axis| (start(&harness)[axis] - wanted[axis]).abs() < 0.01), "{:?}", start(&harness));

    let marker = on_screen(&harness, start(&harness));
    let camera = viewport(&harness).camera;
    drag(&mut harness, marker, vec2(-80.0, -40.0));
    let moved = on_screen(&harness, start(&harness));
    assert!(moved.distance(marker + vec2(-80.0, -40.0)) < 2.0, "{moved:?} after {marker:?}");
    assert_eq!(viewport(&harness).camera, camera, "the view stays");
}

#[test]
fn the_legend_hides_and_shows() {
    let mut harness = landscape();
    let row = harness.get_by_label("Show Signum");
    assert!(row.value().expect("its loss").starts_with("mean loss −"));
    row.click();
    harness.run_steps(2);
    assert!(harness.state().live.hidden.contains(&1));
    assert_eq!(harness.state().live.visible(0).count(), 2);
    button(&mut harness, "Show Signum");
    assert!(harness.state().live.hidden.is_empty());
}

#[test]
fn colours_keep_their_meaning_while_the_view_follows() {
    let mut harness = landscape();
    harness.state_mut().document.view.follow = true;
    harness.run_steps(5);
    let scale = |harness: &Harness<'_, Stage>| harness.get_by_label("Colour scale").value();
    let (before, camera) = (scale(&harness), viewport(&harness).camera);
    advance_to(&mut harness, 1500);
    harness.run_steps(200);
    assert!(viewport(&harness).camera.width > 1.2 * camera.width, "the view follows the particles");
    assert_eq!(scale(&harness), before);
}

#[test]
fn the_colour_scale_is_set_in_its_popup() {
    let mut harness = landscape();
    assert!(harness.get_by_label("Colour scale").value().expect("a summary").contains("automatic"));
    button(&mut harness, "Colour scale");
    button(&mut harness, "Automatic colour scale");
    let scale = harness.state().document.view.scale.expect("it is fixed at what was shown");
    assert!(scale.max > scale.linear && scale.linear > 0.0);
    assert!(harness.get_by_label("Colour scale").value().expect("a summary").contains("fixed"));
}

#[test]
fn the_keyboard_moves_the_view_when_the_canvas_has_the_focus() {
    let mut harness = landscape();
    harness.get_by_label("Landscape").focus();
    harness.run_steps(2);
    let before = viewport(&harness).camera;
    harness.key_press(egui::Key::ArrowRight);
    harness.run_steps(2);
    let moved = viewport(&harness).camera;
    assert!((moved.center[0] - before.center[0] - 0.1 * before.width).abs() < 1e-6, "{moved:?}");
    harness.key_press(egui::Key::Plus);
    harness.run_steps(2);
    assert!((viewport(&harness).camera.width * 1.25 - before.width).abs() < 1e-6);
}

#[test]
fn following_keeps_the_particles_in_view() {
    let mut harness = landscape();
    harness.state_mut().document.view.follow = true;
    advance_to(&mut harness, 1500);
    harness.run_steps(200);
    for optimizer in 0..3 {
        for index in 0..30 {
            let at = on_screen(&harness, particle(&harness, optimizer, index));
            assert!(canvas(&harness).contains(at), "{optimizer}/{index} at {at:?}");
        }
    }
}

/// Makes a harness of optimizers in this range: SGD, whose steps grow without bound, and others, which cannot run away.
fn with_a_runaway(optimizers: std::ops::Range<usize>) -> Harness<'static, Stage> {
    let mut spec = three_optimizers(30);
    spec.landscape.set("sharpness", 1000.0).unwrap();
    spec.optimizers[0].rule = RuleSpec::on_plane(RuleKind::Sgd).rated(LearningRate::clamped(1.0));
    spec.optimizers = spec.optimizers[optimizers].to_vec();
    let mut harness = harness(Stage::new(spec, Shown::Landscape, None), [900.0, 600.0]);
    harness.state_mut().document.view.follow = true;
    harness
}

/// Returns whether the first ensemble is far off but still finite.
fn far_off(harness: &mut Harness<'_, Stage>) -> bool {
    let live = &harness.state().live;
    let view = &live.snapshot.as_ref().expect("there is a snapshot").sessions[0].ensembles[0];
    view.columns.iter().any(|[x, _]| x.is_finite() && *x > 1e5)
}

#[test]
fn an_optimizer_that_runs_away_does_not_take_the_view_along() {
    let mut harness = with_a_runaway(0..2);
    let mut was_far_off = false;
    for step in 1..400 {
        advance_to(&mut harness, step);
        assert!(viewport(&harness).camera.width < 1000.0, "step {step}: {:?}", viewport(&harness).camera);
        if far_off(&mut harness) && !was_far_off {
            was_far_off = true;
            crate::says::says(
                harness.get_by_label("Landscape").value().unwrap_or_default(),
                &["run away and not followed"],
            );
        }
    }
    assert!(was_far_off, "SGD runs away in this test");
    harness.run_steps(200);
    for index in 0..30 {
        let at = on_screen(&harness, particle(&harness, 1, index));
        assert!(canvas(&harness).contains(at), "the others are followed: {at:?}");
    }
    button(&mut harness, "Fit");
    assert!(viewport(&harness).camera.width < 1000.0, "{:?}", viewport(&harness).camera);
}

#[test]
fn the_view_stays_in_reach_if_all_optimizers_run_away() {
    let mut harness = with_a_runaway(0..1);
    for step in 1..400 {
        advance_to(&mut harness, step);
        assert!(viewport(&harness).camera.width < 1e5, "step {step}: {:?}", viewport(&harness).camera);
    }
    assert!(harness.state().live.snapshot.as_ref().is_some_and(|s| s.sessions[0].ensembles[0].sample.diverged > 0));
    button(&mut harness, "Fit");
    assert!(viewport(&harness).camera.width < 10.0, "the start is shown: {:?}", viewport(&harness).camera);
}

#[test]
fn following_goes_back_to_the_start_of_a_new_run() {
    let mut harness = landscape();
    harness.state_mut().document.view.follow = true;
    let first = viewport(&harness).camera;
    advance_to(&mut harness, 1500);
    harness.run_steps(200);
    assert_ne!(viewport(&harness).camera, first);
    let run = harness.state().live.snapshot.as_ref().map(|snapshot| snapshot.run);
    harness.state_mut().document.spec_mut(0).seed += 1;
    until(&mut harness, "another run has begun", |stage| stage.live.snapshot.as_ref().map(|s| s.run) > run);
    harness.run_steps(200);
    assert_eq!(viewport(&harness).camera, first);
}

#[test]
fn tiny_and_odd_windows_are_drawn() {
    for size in [[40.0, 30.0], [120.0, 500.0], [300.0, 220.0], [1900.0, 90.0]] {
        let mut harness = harness(Stage::new(three_optimizers(3), Shown::Landscape, None), size);
        advance_to(&mut harness, 20);
        harness.run_steps(3);
    }
}

#[test]
fn a_newly_selected_particle_shows_its_position_and_gradient() {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Formulas, None), [500.0, 700.0]);
    advance_to(&mut harness, 20);
    button(&mut harness, "Show");
    assert!(harness.query_by_label_contains("Press → for this particle’s next step").is_some());
    assert!(harness.query_by_label_contains("∂L/∂y = ").is_some());
    let [x, _] = particle(&harness, 0, 0);
    let shown = format!("x = {}", significant(x, 4));
    assert!(harness.query_by_label(&shown).is_some(), "{shown}");
    advance_to(&mut harness, 21);
    assert!(harness.query_by_label_contains("Press → for").is_none(), "its step is taken apart");
}

/// Returns whether a text among the shapes, or shapes of shapes, contains this part.
fn says(shapes: &[egui::epaint::ClippedShape], part: &str) -> bool {
    fn in_shape(shape: &egui::Shape, part: &str) -> bool {
        match shape {
            egui::Shape::Vec(shapes) => shapes.iter().any(|shape| in_shape(shape, part)),
            egui::Shape::Text(text) => text.galley.text().contains(part),
            _ => false,
        }
    }
    shapes.iter().any(|clipped| in_shape(&clipped.shape, part))
}

#[test]
fn a_picture_has_no_interaction_hints() {
    let mut harness = landscape();
    let particle = ParticleId { optimizer: 0, particle: 4 };
    harness.state_mut().live.selected = Some(particle);
    harness.state().player.send(PlayerCommand::Select(Some(particle)));
    advance_to(&mut harness, 101);
    // So far away that the step is too short to be visible.
    let far = Camera::new([0.0, 0.0], 1e4);
    let document = harness.state().document.clone();
    harness.state_mut().landscape.restore_view(&document, far, Orbit::HOME);
    harness.run_steps(3);
    assert!(says(&harness.output().shapes, "zoom in to see"), "the window has room for the hint");
    let context = egui::Context::default();
    let size = egui::RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(820.0, 600.0))),
        ..egui::RawInput::default()
    };
    let Stage { landscape, document, live, .. } = harness.state_mut();
    let mut output = context.run_ui(size, |ui| landscape.picture(ui, document, live, true));
    output.textures_delta.clear();
    assert!(says(&output.shapes, "Lengths are logarithmic"));
    assert!(!says(&output.shapes, "zoom in"));
}

#[test]
fn formulas_are_not_cut_off_and_do_not_cover_each_other() {
    for width in [200.0, 300.0, 403.0, 700.0] {
        let mut harness = harness(Stage::new(three_optimizers(30), Shown::Formulas, None), [width, 1400.0]);
        advance_to(&mut harness, 3);
        for optimizer in 0..3 {
            let particle = ParticleId { optimizer, particle: 4 };
            harness.state_mut().live.selected = Some(particle);
            harness.state().player.send(PlayerCommand::Select(Some(particle)));
            let first = harness.state().live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
            for step in first + 1..first + 12 {
                advance_to(&mut harness, step);
                let labels: Vec<(String, Rect)> = harness
                    .query_all_by_role(Role::Label)
                    .map(|label| (label.value().unwrap_or_default(), label.rect()))
                    .collect();
                assert!(labels.len() > 20, "the formulas of {particle:?} are shown");
                for (text, rect) in &labels {
                    assert!(rect.left() >= 0.0 && rect.right() <= width, "“{text}” at {rect:?} in {width}");
                }
                // The rectangle of a text that continues in another row includes the space before it in its first row.
                let in_one_row: Vec<_> = labels.iter().filter(|(_, rect)| rect.height() < 24.0).collect();
                for (index, (text, rect)) in in_one_row.iter().enumerate() {
                    for (other, place) in &in_one_row[..index] {
                        let common = rect.shrink(0.5).intersect(place.shrink(0.5));
                        assert!(!common.is_positive(), "“{text}” at {rect:?} covers “{other}” at {place:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_formula_panel_chooses_particles_and_shows_each_line() {
    let mut harness = harness(Stage::new(three_optimizers(30), Shown::Formulas, None), [420.0, 640.0]);
    advance_to(&mut harness, 3);
    button(&mut harness, "Show");
    harness.get_by_label_contains("Press → for");
    advance_to(&mut harness, 4);
    until(&mut harness, "the step is there", |stage| stage.live.step_trace(0).is_some());
    assert_eq!(harness.state().live.selected, Some(ParticleId { optimizer: 0, particle: 0 }));
    harness.get_by_label("m̂ = m / (1 − β₁ᵗ)");
    harness.get_by_label("θ ← θ − η (d + ω θ)");
    harness.get_by_label("Number of the selected particle");
    button(&mut harness, "Deselect");
    assert_eq!(harness.state().live.selected, None);
}

/// Returns the landscape as a surface in space, seen from above at an angle.
fn in_space() -> Harness<'static, Stage> {
    let mut harness = landscape();
    harness.state_mut().document.view.projection = ViewProjection::Space;
    harness.state_mut().document.view.follow = false;
    harness.run_steps(3);
    harness
}

/// Returns the view, and the surface of the document's landscape in it.
fn surface(harness: &Harness<'_, Stage>) -> SpaceProjection {
    let Stage { landscape, document, .. } = harness.state();
    let canvas = canvas(harness);
    let view =
        SpaceView { camera: landscape.camera(), orbit: landscape.orbit(), size_px: canvas.size().into(), cover: 0.0 };
    let valley = document.spec(0).landscape.landscape();
    let scale = document.view.scale.expect("the test has a fixed scale");
    let loss = |xy| valley.loss(xy);
    SpaceProjection { view, heights: Arc::new(HeightField::sample(loss, view.camera, &scale)) }
}

fn on_surface(harness: &Harness<'_, Stage>, xy: [f64; 2]) -> PlaneMark {
    Projection::Space(surface(harness)).mark(xy).expect("on the surface")
}

#[test]
fn a_drag_in_space_turns_the_surface_and_other_buttons_move_it() {
    let mut harness = in_space();
    let (camera, orbit) = (harness.state().landscape.camera(), harness.state().landscape.orbit());
    let middle = canvas(&harness).center() + vec2(0.0, 120.0);
    drag(&mut harness, middle, vec2(-50.0, 20.0));
    let turned = harness.state().landscape.orbit();
    assert!(turned.azimuth > orbit.azimuth + 5.0 && turned.elevation > orbit.elevation + 2.0, "{turned:?}");
    assert_eq!(harness.state().landscape.camera(), camera);
    harness.get_by_role_and_label(Role::Canvas, "Landscape").focus();
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::ArrowUp);
    harness.run_steps(2);
    assert_ne!(harness.state().landscape.camera().center, camera.center);
    harness.key_press_modifiers(Modifiers::NONE, Key::Plus);
    harness.run_steps(2);
    assert!(harness.state().landscape.camera().width < camera.width);
    harness.key_press_modifiers(Modifiers::NONE, Key::ArrowDown);
    harness.run_steps(2);
    assert!((harness.state().landscape.orbit().elevation - (turned.elevation - 5.0)).abs() < 1e-9);
}

#[test]
fn a_click_in_space_selects_the_particle_there_and_places_the_start_on_the_surface() {
    let mut harness = in_space();
    harness.state_mut().document.view.scale = Some(SymLog::symmetric(0.05, 10.0));
    advance_to(&mut harness, 130);
    let xy = particle(&harness, 1, 2);
    let mark = on_surface(&harness, xy);
    let at = canvas(&harness).min + Vec2::from(mark.px);
    click(&mut harness, at, Modifiers::NONE);
    let selected = harness.state().live.selected.expect("a particle is selected");
    let found = on_surface(&harness, particle(&harness, selected.optimizer, selected.particle));
    assert!((found.px[0] - mark.px[0]).hypot(found.px[1] - mark.px[1]) < 2.0, "{selected:?}");

    let wanted = [0.4, 0.3];
    let mark = on_surface(&harness, wanted);
    assert!(!mark.is_hidden);
    let at = canvas(&harness).min + Vec2::from(mark.px);
    click(&mut harness, at, Modifiers::SHIFT);
    let start = &harness.state().document.spec(0).start;
    assert!((start.x.get() - wanted[0]).abs() < 0.02 && (start.y.get() - wanted[1]).abs() < 0.02, "{start:?}");
}

#[test]
fn the_wheel_in_space_keeps_the_point_under_the_pointer() {
    let mut harness = in_space();
    harness.state_mut().document.view.scale = Some(SymLog::symmetric(0.05, 10.0));
    harness.run_steps(2);
    let xy = [0.4, 0.3];
    let at = canvas(&harness).min + Vec2::from(on_surface(&harness, xy).px);
    let place = |harness: &Harness<'_, Stage>| surface(harness).view.box_from_xy(xy);
    let (before, width) = (place(&harness), harness.state().landscape.camera().width);
    harness.hover_at(at);
    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, 60.0),
        phase: egui::TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: egui::MouseWheelSource::Unknown,
    });
    harness.run_steps(30);
    let after = place(&harness);
    assert!(harness.state().landscape.camera().width < 0.95 * width);
    assert!((0..2).all(|axis| (after[axis] - before[axis]).abs() < 0.02), "{before:?} {after:?}");
}
