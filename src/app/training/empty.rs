//! The tab without runs: starting a training, watching one's own, and an example of the curves.

use egui::{Align, Frame, Label, Layout, RichText, TextStyle, Ui, Vec2, vec2};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::view::Pen;
use valleyscope_runs::{Event, EventRecord, RunHistory};

use super::charts::Charts;
use super::legend::legend;
use super::names::{Name, NamedCurves};
use super::panel::TrainingPanel;
use super::plotter::RunCurves;
use super::summary::NEUTRAL;
use super::view::NOT_READY;
use crate::app::shell::actions::{Action, Requests};
use crate::app::widgets::theme::{card, primary_button};

/// The events of recorded runs, one run after another, which `assets/examples/make_runs.py` has written.
const RECORDED: &[u8] = include_bytes!("../../../assets/examples/runs.jsonl");
/// The lines that make a training of the user visible.
pub(super) const WATCH: &str = "\
import valleyscope as vs
run = vs.Run(\"My training\", config={\"lr\": 1e-3})
for step in range(1000):
    run.log(step, {\"train/loss\": train(step)})";

/// The smallest width for which the two cards are side by side, and their height, in points.
const WIDE: f32 = 640.0;
const CARD_HEIGHT: f32 = 172.0;
/// The part of the colours that the example's plots lose.
const FADED: f32 = 0.45;

/// The curves of recorded runs, shown while there are no others.
pub(super) struct Example {
    charts: Charts,
    curves: Vec<(RunCurves, Name, Pen)>,
}

impl Default for Example {
    fn default() -> Example {
        let mut runs: Vec<RunHistory> = Vec::new();
        for record in RECORDED.split(|byte| *byte == b'\n').filter_map(|line| EventRecord::parse(line).ok()) {
            if matches!(record.event, Event::Started(_)) {
                runs.push(RunHistory::default());
            }
            runs.iter_mut().last().into_iter().for_each(|run| run.apply(record.clone()));
        }
        let curves = runs.iter().map(|run| {
            let mark = run.started().map(|started| started.optimizer.clone()).unwrap_or_default();
            let color = RuleKind::shown_as(&mark).map_or(NEUTRAL, |rule| rule.info().color);
            (RunCurves::of_history(run), Name { title: String::new(), mark }, Pen::new(color, 0))
        });
        Example { curves: curves.collect(), charts: Charts::default() }
    }
}

impl Example {
    fn ui(&mut self, ui: &mut Ui) {
        let Example { charts, curves } = self;
        let named = curves.iter().map(|(drawn, name, pen)| NamedCurves {
            name: name.clone(),
            pen: *pen,
            is_color_chosen: false,
            drawn,
        });
        let groups: Vec<NamedCurves<'_>> = named.collect();
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new("Example").strong().color(ui.visuals().hyperlink_color));
            ui.weak("What runs look like: three optimizers train a small classifier of MNIST. Recorded, not yours.");
        });
        let area = ui.available_rect_before_wrap();
        ui.scope(|ui| {
            ui.disable();
            legend(ui, &groups);
            let shown = charts.shown(&groups);
            charts.grid(ui, &groups, &shown);
        });
        // The curves are drawn by shaders, which do not fade with the widgets.
        ui.painter().rect_filled(area, 0.0, ui.visuals().panel_fill.gamma_multiply(FADED));
    }
}

impl TrainingPanel {
    /// Whether there are neither runs nor folders of which runs are awaited.
    pub(super) fn has_no_runs(&self) -> bool {
        self.listed.generation > 0 && self.listed.runs.is_empty() && self.selected.is_empty()
    }

    /// Shows what to begin with, and an example of curves.
    pub(super) fn no_runs(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let gap = ui.spacing().item_spacing;
        let width = ui.available_width();
        if width < WIDE {
            self.start_card(ui, vec2(width, 0.0));
            watch_card(ui, vec2(width, 0.0), requests);
        } else {
            ui.horizontal_top(|ui| {
                let size = vec2(0.5 * (width - gap.x), CARD_HEIGHT);
                self.start_card(ui, size);
                watch_card(ui, size, requests);
            });
        }
        ui.add_space(gap.y);
        let mut example = self.example.take().unwrap_or_default();
        example.ui(ui);
        self.example = Some(example);
    }

    fn start_card(&mut self, ui: &mut Ui, size: Vec2) {
        let (training, fault) = (self.editor.named(), self.fault());
        sized_card(ui, size, |ui| {
            ui.label(RichText::new("Start a training").heading().strong());
            ui.add(Label::new(RichText::new(training.title()).strong()).truncate());
            ui.add(Label::new(training.description()).wrap());
            ui.with_layout(Layout::bottom_up(Align::Min), |ui| self.start_or_install(ui, fault.is_none()));
        });
    }

    fn start_or_install(&mut self, ui: &mut Ui, is_sound: bool) {
        if self.worker_card.can_install(&self.worker, &self.paths) {
            let install = ui.add(primary_button(ui, "Install the worker…"));
            if install.on_hover_text("Training needs a second program, the worker, and PyTorch’s libraries").clicked()
            {
                self.worker_card.ask();
            }
            return;
        }
        let can_start = self.can_start(is_sound);
        let start = ui.add_enabled(can_start, primary_button(ui, "Start"));
        let why = if self.worker.handshake().is_none() { NOT_READY } else { "See the controls" };
        if start.on_disabled_hover_text(why).accessible_name("Start this training").clicked() {
            self.start();
        }
    }
}

fn sized_card(ui: &mut Ui, size: Vec2, add: impl FnOnce(&mut Ui)) {
    let frame = card(ui.style());
    let inside = size - frame.total_margin().sum();
    ui.allocate_ui_with_layout(size, Layout::top_down(Align::Min), |ui| {
        frame.show(ui, |ui| {
            ui.set_width(inside.x);
            ui.set_min_height(inside.y);
            add(ui);
        });
    });
}

/// Shows how trainings of other programs come into the list.
fn watch_card(ui: &mut Ui, size: Vec2, requests: &mut Requests) {
    sized_card(ui, size, |ui| {
        ui.label(RichText::new("Watch your own training").heading().strong());
        Frame::new().fill(ui.visuals().code_bg_color).corner_radius(4).inner_margin(6).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.style_mut().override_text_style = Some(TextStyle::Monospace);
            ui.add(Label::new(WATCH).selectable(true).extend());
        });
        ui.horizontal_wrapped(|ui| {
            if ui.button("Copy").accessible_name("Copy the lines of Python").clicked() {
                ui.ctx().copy_text(WATCH.to_owned());
                requests.actions.push(Action::Notify("Copied 4 lines of Python.".to_owned()));
            }
            let help = "Shows the trainings that write event files of TensorBoard into a folder, while they run";
            if ui.button("Follow a folder…").on_hover_text(help).clicked() {
                requests.actions.push(Action::ChooseRunsFolder { follows: true });
            }
            ui.label(RichText::new("More: “Your own training” in the book").small().weak());
        });
    });
}
