//! The panels over a real simulation, without the rest of the window.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions, wgpu};
use egui::mutex::RwLock;
use egui::{FontData, FontDefinitions, FontFamily};
use egui_kittest::Harness;
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use valleyscope::app::landscape::canvas::{FormulaPanel, LandscapePanel};
use valleyscope::app::landscape::plots::DiagnosticsPanel;
use valleyscope::app::{Action, Document, Live, Requests};
use valleyscope::player::{Playback, Player, PlayerCommand};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, StartSpec};
use valleyscope_experiments::view::ViewSettings;

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
    /// The actions that the panels have requested so far.
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
            None => self.player.send(PlayerCommand::load(self.document.spec(0).clone())),
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

/// Draws frames until `is_so` is true.
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
