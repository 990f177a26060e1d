//! The tab without runs: starting a training, watching one's own, and an example of the curves.

use egui::{Frame, Label, RichText, TextStyle, Ui};
use valleyscope_experiments::view::Pen;
use valleyscope_runs::{Event, EventRecord, RunHistory};

use super::charts::Charts;
use super::legend::legend;
use super::names::{Name, NamedCurves};
use super::panel::TrainingPanel;
use super::plotter::RunCurves;
use super::summary::color_of_rule;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::files::Purpose;
use crate::app::widgets::form::framed;

/// The events of recorded runs, one run after another, which `assets/examples/make_runs.py` has written.
const RECORDED: &[u8] = include_bytes!("../../../assets/examples/runs.jsonl");
/// The lines that make a training of the user visible.
pub(super) const WATCH: &str = "\
import valleyscope as vs
run = vs.Run(\"My training\", config={\"lr\": 1e-3})
for step in range(1000):
    run.log(step, {\"train/loss\": train(step)})";

/// The height of the contents of a card, in points.
const CARD_HEIGHT: f32 = 138.0;

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
            if let Some(run) = runs.last_mut() {
                run.apply(record);
            }
        }
        let curves = runs.iter().map(|run| {
            let mark = run.started().map(|started| started.optimizer.clone()).unwrap_or_default();
            let pen = Pen::new(color_of_rule(&mark), 0);
            (RunCurves::of_history(run), Name { title: String::new(), mark }, pen)
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
        ui.scope(|ui| {
            ui.visuals_mut().disabled_alpha = 1.0;
            ui.disable();
            legend(ui, &groups);
            let shown = charts.shown(&groups);
            charts.grid(ui, &groups, &shown);
        });
    }
}

impl TrainingPanel {
    /// Whether the folder of runs was read and has no runs.
    pub(super) fn has_no_runs(&self) -> bool {
        self.listed.generation > 0 && self.listed.runs.is_empty()
    }

    /// Shows what to begin with, and an example of curves.
    pub(super) fn no_runs(&mut self, ui: &mut Ui, requests: &mut Requests) {
        ui.columns_const(|[start, watch]| {
            titled_card(start, "Start a training", |ui| self.start_card(ui, requests));
            titled_card(watch, "Watch your own training", |ui| watch_card(ui, requests));
        });
        self.example.get_or_insert_default().ui(ui);
    }

    fn start_card(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let training = self.editor.named();
        ui.add(Label::new(RichText::new(training.title()).strong()).truncate());
        ui.add(Label::new(training.description()).wrap());
        ui.add_space(6.0);
        let (is_ready, is_presented) = (self.worker.handshake().is_some(), self.charts.is_presented);
        if !is_presented {
            self.worker_card(ui, requests);
        }
        if is_ready || is_presented {
            // A row centres the text of its buttons.
            ui.horizontal(|ui| self.start_buttons(ui, true, requests));
        }
    }
}

fn titled_card(ui: &mut Ui, title: &str, add: impl FnOnce(&mut Ui)) {
    framed(ui, |ui| {
        ui.set_min_height(CARD_HEIGHT);
        // The columns are justified, which buttons and texts should not be.
        ui.vertical(|ui| {
            ui.label(RichText::new(title).heading().strong());
            add(ui);
        });
    });
}

/// Shows how trainings of other programs come into the list.
fn watch_card(ui: &mut Ui, requests: &mut Requests) {
    Frame::new().fill(ui.visuals().text_edit_bg_color()).corner_radius(4).inner_margin(6).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.add(Label::new(RichText::new(WATCH).text_style(TextStyle::Monospace)).selectable(true).extend());
    });
    ui.horizontal_wrapped(|ui| {
        if ui.button("Copy").accessible_name("Copy the lines of Python").clicked() {
            ui.ctx().copy_text(WATCH.to_owned());
            requests.actions.push(Action::Notify("Copied 4 lines of Python.".to_owned()));
        }
        let help = "Shows the trainings that write event files of TensorBoard into a folder, while they run";
        let follow = ui.button("Follow a folder…").on_hover_text(help);
        if follow.accessible_name("Follow a folder with own trainings").clicked() {
            requests.actions.push(Action::Choose(Box::new(Purpose::Runs { follows: true })));
        }
        ui.label(RichText::new("More: “Your own training” in the book").small().weak());
    });
}
