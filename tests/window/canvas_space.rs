//! The panels over a real simulation, without the rest of the window.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, wgpu};
use egui::mutex::RwLock;
use egui::{FontData, FontDefinitions, FontFamily, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use proptest::prelude::*;
use valleyscope::app::landscape::canvas::{FormulaPanel, LandscapePanel};
use valleyscope::app::landscape::plots::DiagnosticsPanel;
use valleyscope::app::{Action, Document, Live, Requests};
use valleyscope::player::{Playback, Player, PlayerCommand};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount};
use valleyscope_engine::simulation::{OptimizerSpec, Record, SimulationSpec, StartSpec};
use valleyscope_experiments::view::{
    Camera, HeightField, Orbit, SpaceView, SymLog, ViewAxes, ViewProjection, ViewSettings,
};

use super::session_store;

/// The panels on the screen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Landscape,
    Formulas,
    Diagnostics,
}

pub struct Stage {
    pub shown: Shown,
    pub document: Document,
    pub live: Live,
    pub requests: Requests,
    pub landscape: LandscapePanel,
    pub formula: FormulaPanel,
    pub diagnostics: DiagnosticsPanel,
    pub player: Player,
    running: SimulationSpec,
    pub actions: Vec<Action>,
    /// The commands that the panels have sent, as text.
    pub commands: Vec<String>,
}

impl Stage {
    pub fn new(spec: SimulationSpec, shown: Shown, render_state: Option<&RenderState>) -> Self {
        Stage {
            shown,
            live: Live::default(),
            requests: Requests::default(),
            landscape: LandscapePanel::new(render_state),
            formula: FormulaPanel::default(),
            diagnostics: DiagnosticsPanel::default(),
            player: Player::spawn(spec.clone(), || {}),
            running: spec.clone(),
            document: Document::new(spec, ViewSettings::default()),
            actions: Vec::new(),
            commands: Vec::new(),
        }
    }

    pub fn frame(&mut self, ui: &mut egui::Ui) {
        while let Some(snapshot) = self.player.try_snapshot() {
            self.landscape.absorb(&snapshot);
            self.live.take(snapshot);
        }
        let Stage { document, live, requests, .. } = self;
        match self.shown {
            Shown::Landscape => self.landscape.ui(ui, document, live, requests),
            Shown::Formulas => self.formula.ui(ui, document, live, requests),
            Shown::Diagnostics => self.diagnostics.ui(ui, document, live, requests),
        }
        self.handle_requests();
    }

    fn handle_requests(&mut self) {
        let Requests { commands, actions } = std::mem::take(&mut self.requests);
        for command in commands {
            self.commands.push(format!("{command:?}"));
            self.player.send(command);
        }
        self.actions.extend(actions);
        match self.running.settings_to(self.document.spec(0)) {
            Some(settings) => settings.into_iter().for_each(|setting| self.player.send(PlayerCommand::Set(0, setting))),
            None => {
                let record = Record { spec: self.document.spec(0).clone(), changes: Vec::new() };
                self.player.send(PlayerCommand::Load(vec![record]));
            }
        }
        self.running = self.document.spec(0).clone();
    }
}

/// Returns the device that all pictures share, with a renderer of its own for each.
pub fn render_state() -> RenderState {
    static STATE: OnceLock<RenderState> = OnceLock::new();
    let state = STATE.get_or_init(|| create_render_state(default_wgpu_setup(), RendererOptions::PREDICTABLE));
    let adapter = state.adapter.get_info();
    assert_eq!(
        (adapter.device_type, adapter.backend),
        (wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan),
        "pictures are compared with those of Mesa's Vulkan driver for the processor, on Debian and Ubuntu the \
         package mesa-vulkan-drivers; found {}",
        adapter.name
    );
    let renderer = Renderer::new(&state.device, state.target_format, RendererOptions::PREDICTABLE);
    RenderState { renderer: Arc::new(RwLock::new(renderer)), ..state.clone() }
}

/// Returns Adam, Signum and FOCUS on the paper's landscape.
pub fn three_optimizers(particles: u64) -> SimulationSpec {
    let optimizer = |id, kind| {
        let rule = RuleSpec::on_plane(kind).rated(LearningRate::clamped(0.01));
        OptimizerSpec { id, name: None, color: None, enabled: true, rule }
    };
    SimulationSpec {
        landscape: Default::default(),
        noise: Noise::clamped(1.0).into(),
        seed: 7,
        steps: None,
        particles: ParticleCount::new(particles).expect("within the range"),
        start: StartSpec::default(),
        temperature: None,
        optimizers: vec![optimizer(0, RuleKind::Adam), optimizer(1, RuleKind::Signum), optimizer(2, RuleKind::Focus)],
    }
}

pub fn install_font(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::default();
    let font = FontData::from_static(include_bytes!("../../assets/fonts/ValleyscopeSans.otf"));
    fonts.font_data.insert("Valleyscope Sans".to_owned(), Arc::new(font));
    for family in [FontFamily::Proportional, FontFamily::Monospace] {
        fonts.families.entry(family).or_default().insert(0, "Valleyscope Sans".to_owned());
    }
    ctx.set_fonts(fonts);
}

pub fn harness(stage: Stage, size: [f32; 2]) -> Harness<'static, Stage> {
    Harness::builder()
        .with_size(size)
        .with_context_setup(install_font)
        .build_ui_state(|ui: &mut egui::Ui, stage: &mut Stage| stage.frame(ui), stage)
}

pub fn until(harness: &mut Harness<'_, Stage>, what: &str, is_so: impl Fn(&Stage) -> bool) {
    let begin = Instant::now();
    while !is_so(harness.state()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    // Draws changes that appear one frame later.
    harness.run_steps(2);
}

pub fn button(harness: &mut Harness<'_, Stage>, name: &str) {
    harness.get_by_label(name).click();
    harness.run_steps(3);
}

/// Advances the simulation to a step and draws it.
pub fn advance_to(harness: &mut Harness<'_, Stage>, step: u64) {
    until(harness, "there is a snapshot", |stage| stage.live.snapshot.is_some());
    let now = harness.state().live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
    harness.state().player.send(PlayerCommand::Advance(step - now));
    until(harness, "the step is reached", |stage| {
        let snapshot = stage.live.snapshot.as_ref().expect("there was one");
        snapshot.step == step && snapshot.playback != Playback::Playing
    });
}

const SCALE: SymLog = SymLog::symmetric(0.5, 10.0);
const CAMERA: Camera = Camera::new([0.5, -0.25], 3.0);

fn waves([x, y]: [f64; 2]) -> f64 {
    3.0 * (2.0 * x).sin() * (1.5 * y).cos() + x
}

fn view(orbit: Orbit) -> SpaceView {
    SpaceView { camera: CAMERA, orbit, size_px: [800.0, 600.0], cover: 0.0 }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn views() -> impl Strategy<Value = SpaceView> {
    let camera = ([-5.0..5.0, -5.0..5.0], -6.0..4.0)
        .prop_map(|(center, exponent): ([f64; 2], f64)| Camera::new(center, 10_f64.powf(exponent)));
    let orbit = (-180.0..180.0, 5.0..=90.0).prop_map(|(azimuth, elevation)| Orbit { azimuth, elevation });
    let size = [100.0_f32..2000.0, 100.0_f32..2000.0];
    (camera, orbit, size).prop_map(|(camera, orbit, size_px)| SpaceView { camera, orbit, size_px, cover: 0.0 })
}

fn points() -> impl Strategy<Value = [f64; 3]> {
    [-1.0..1.0, -1.0..1.0, -0.5..0.5]
}

proptest! {
    #[test]
    fn a_turn_keeps_the_distance_of_the_eye(view in views(), turn in [-1e3..1e3, -1e3..1e3]) {
        let turned = SpaceView { orbit: view.orbit.turned(turn), ..view };
        let eye = turned.eye();
        prop_assert!((dot(eye, eye).sqrt() - SpaceView::DISTANCE).abs() < 1e-9);
        prop_assert!(Orbit::ELEVATIONS.contains(&turned.orbit.elevation));
        prop_assert!((-180.0..=180.0).contains(&turned.orbit.azimuth));
    }

    #[test]
    fn the_axes_of_the_picture_are_at_right_angles(view in views()) {
        let ViewAxes { right, up, back } = view.axes();
        for (one, other) in [(right, up), (up, back), (back, right)] {
            prop_assert!(dot(one, other).abs() < 1e-12);
        }
        for axis in [right, up, back] {
            prop_assert!((dot(axis, axis) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_ray_through_a_projected_point_hits_it(view in views(), point in points()) {
        let ray = view.ray(view.project(point).px);
        let to_point = [0, 1, 2].map(|axis| point[axis] - ray.origin[axis]);
        let along = dot(to_point, ray.direction);
        let missed = [0, 1, 2].map(|axis| to_point[axis] - along * ray.direction[axis]);
        prop_assert!(dot(missed, missed).sqrt() < 1e-3, "missed by {missed:?}");
    }

    #[test]
    fn places_of_the_plane_return(view in views(), place in [-1.0..1.0, -1.0..1.0]) {
        let back = view.box_from_xy(view.xy_from_box(place));
        // A narrow view far from the origin has few digits left.
        prop_assert!((0..2).all(|axis| (back[axis] - place[axis]).abs() < 1e-8), "{back:?}");
    }

    #[test]
    fn a_drag_moves_the_middle_of_the_plane_along(view in views(), delta in [-3.0_f32..3.0, -3.0_f32..3.0]) {
        prop_assume!(view.orbit.elevation > 20.0);
        let panned = SpaceView { camera: view.panned(delta), ..view };
        let [x, y] = panned.box_from_xy(view.camera.center);
        let [before, after] = [[0.0; 3], [x, y, 0.0]].map(|point| view.project(point).px);
        for axis in 0..2 {
            prop_assert!((after[axis] - before[axis] - delta[axis]).abs() < 0.3, "{before:?} {after:?} {delta:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_point_under_the_pointer_is_the_one_drawn_there(
        place in [-0.98..0.98, -0.98..0.98],
        azimuth in -180.0..180.0,
        elevation in 10.0..=90.0,
    ) {
        let (field, view) = (HeightField::sample(waves, CAMERA, &SCALE), view(Orbit { azimuth, elevation }));
        let point = field.point(place).expect("the waves are finite");
        let hit = field.hit(&view.ray(view.project(point).px));
        if field.hides(&view, point) {
            // A point in front of it, or the side of the box.
            let distance = |place| view.project(field.point(place).expect("on the surface")).distance;
            prop_assert!(hit.is_none_or(|hit| distance(hit) < distance(place)));
        } else if let Some(hit) = hit {
            let px = |place| view.project(field.point(place).expect("on the surface")).px;
            let [one, other] = [px(hit), px(place)];
            prop_assert!((one[0] - other[0]).hypot(one[1] - other[1]) < 0.5, "{hit:?} instead of {place:?}");
        }
    }

    #[test]
    fn from_above_nothing_is_hidden(place in [-1.0..1.0, -1.0..1.0]) {
        let (field, view) = (HeightField::sample(waves, CAMERA, &SCALE), view(Orbit { azimuth: 0.0, elevation: 90.0 }));
        let point = field.point(place).expect("the waves are finite");
        // The eye is not infinitely far, so that a steep slope near the edge may turn away from it.
        prop_assume!(place.iter().all(|part| part.abs() < 0.3));
        prop_assert!(!field.hides(&view, point));
        let hit = field.hit(&view.ray(view.project(point).px)).expect("the surface is there");
        prop_assert!((0..2).all(|axis| (hit[axis] - place[axis]).abs() < 1e-3));
    }
}

#[test]
fn an_old_future_is_drawn_until_it_is_removed() {
    for projection in [ViewProjection::Plane, ViewProjection::Space] {
        let mut harness = session_store::harness(Shown::Landscape, Theme::Dark, [560.0, 420.0]);
        harness.state_mut().document.view.projection = projection;
        advance_to(&mut harness, 120);
        harness.state().player.send(PlayerCommand::Seek(30));
        until(&mut harness, "the past is shown", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 30)
        });
        harness.state_mut().document.spec_mut(0).noise = Noise::clamped(4.0).into();
        until(&mut harness, "there is an old future", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.branches.len() == 1)
        });
        advance_to(&mut harness, 120);
        let with = harness.render().expect("it is drawn");
        let id = harness.state().live.snapshot.as_ref().expect("there is one").branches[0].id;
        harness.state().player.send(PlayerCommand::Remove(id));
        until(&mut harness, "it is removed", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.branches.is_empty())
        });
        let without = harness.render().expect("it is drawn");
        // Left of the legend, which has an entry for it.
        let left = 300;
        let pixels = with.enumerate_pixels().filter(|(x, ..)| *x < left);
        let distance = |a: &image::Rgba<u8>, b: &image::Rgba<u8>| {
            (0..3).map(|channel| u32::from(a.0[channel].abs_diff(b.0[channel]))).max().unwrap_or(0)
        };
        let differing: Vec<u32> = pixels
            .map(|(x, y, pixel)| distance(pixel, without.get_pixel(x, y)))
            .filter(|distance| *distance > 12)
            .collect();
        assert!(differing.len() > 100, "{} pixels, {projection:?}", differing.len());
    }
}
