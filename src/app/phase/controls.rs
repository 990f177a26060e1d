//! The controls of a sweep: run, pause and discard, axes, fixed quantities and replicates.

use std::time::Duration;

use egui::{Button, Label, ProgressBar, RichText, TextStyle, Ui};
use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::axis_keys;
use valleyscope_engine::quantity::{Dimension, PointCount};
use valleyscope_engine::setting::{self, Extent, SettingValue};
use valleyscope_engine::spec_error::{MessagePart, SpecError};
use valleyscope_engine::sweep::{Adaptive, Average, Axis, Metric, Quantity, Sampling, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use super::PhasePanel;
use super::optimizer_controls::{of_rule, optimizers, optimizers_with, unswept_note};
use super::vary;
use crate::app::landscape::controls::{LandscapeChange, landscape_choice, landscape_editor, noise_choice};
use crate::app::shell::actions::Requests;
use crate::app::shell::editor::change_mark;
use crate::app::widgets::form::{check_box, scrolled_list};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::setting::{Pins, Values, pinned_card, unpinned_row};
use crate::app::widgets::text_editor::TextTab;
use crate::app::widgets::{form, number};
use crate::sweep::pool::Progress;
use crate::sweep::titles::{axis_label, axis_meanings};

/// The height of the progress bar, in points.
const BAR: f32 = 6.0;

impl PhasePanel {
    /// Shows the buttons, and the progress below them.
    pub(super) fn run_bar(&mut self, ui: &mut Ui, fault: Option<&SpecError>) {
        ui.add_space(4.0);
        let SweepPreset { title, description, .. } = self.named();
        let changed = change_mark(&title, self.is_dirty());
        let title = ui.add(Label::new(RichText::new(format!("{title}{changed}")).strong()).truncate());
        if !description.is_empty() {
            title.on_hover_text(description);
        }
        ui.horizontal_wrapped(|ui| self.run_buttons(ui, fault));
        let height = BAR + 2.0 * (ui.text_style_height(&TextStyle::Small) + ui.spacing().item_spacing.y);
        ui.scope(|ui| {
            // The parts below do not move when the message changes.
            ui.set_min_height(height);
            match fault {
                Some(_) => {
                    let text = "A setting below can't be used. The diagram stays as it is.";
                    ui.add(Label::new(RichText::new(text).small().color(ui.visuals().error_fg_color)).wrap());
                    if self.diagrams.is_running() {
                        self.progress(ui);
                    }
                }
                None if self.is_other() && (self.waits(fault) || !self.diagrams.is_running()) => {
                    progress_lines(ui, 0.0, ["Changed".to_owned(), self.to_compute()]);
                }
                None => self.progress(ui),
            }
        });
    }

    /// Whether the settings differ from the newest diagram's.
    fn is_other(&self) -> bool {
        **self.diagrams.newest().spec() != self.editor.draft.sweep
    }

    /// Whether changed settings wait for Run: followed ones are computed at once, and invalid ones wait for a correction.
    fn waits(&self, fault: Option<&SpecError>) -> bool {
        self.is_other() && !self.follow_changes && fault.is_none()
    }

    fn run_buttons(&mut self, ui: &mut Ui, fault: Option<&SpecError>) {
        if !self.offers_run() {
            self.run_or_stop(ui, fault);
        }
        let hint = "A smaller version, done in seconds: at most 24 × 25 pixels and 10 replicates. Undo brings the \
                    whole back.";
        let quick = self.editor.draft.sweep.quick();
        let can_be_smaller = fault.is_none() && quick != self.editor.draft.sweep;
        let smaller = ui.add_enabled(can_be_smaller, Button::new("Quick")).on_hover_text(hint);
        let why_not = if fault.is_some() { "A setting can't be used" } else { "The diagram is already this small" };
        if smaller.on_disabled_hover_text(why_not).accessible_name("Quick version").clicked() {
            self.editor.draft.sweep = quick;
            self.run(false);
        }
        let help = "Start a new diagram at each change of a setting";
        check_box(ui, &mut self.follow_changes, "Live").on_hover_text(help);
    }

    fn run_or_stop(&mut self, ui: &mut Ui, fault: Option<&SpecError>) {
        let (diagram, is_other) = (&self.diagrams.newest().diagram, self.is_other());
        let is_begun = diagram.known_near([0, 0]).is_some() && !diagram.is_complete();
        let is_complete = diagram.is_complete() && !is_other;
        if self.diagrams.is_running() && !self.waits(fault) {
            if ui.button("Pause").on_hover_text("Pause; computed pixels stay").clicked() {
                self.diagrams.stop();
            }
        } else {
            let label = if is_begun && !is_other { "Continue" } else { "Run" };
            let button = ui.add_enabled(fault.is_none() && !is_complete, Button::new(label));
            if button.on_disabled_hover_text(why_not(fault)).accessible_name("Run the sweep").clicked() {
                self.run(false);
            }
        }
        let cancel = ui.add_enabled(is_begun || self.diagrams.is_running(), Button::new("Cancel"));
        let help = "Stop and start over. A diagram that took long to compute stays among the kept ones.";
        if cancel.on_hover_text(help).clicked() {
            self.diagrams.discard();
        }
    }

    /// Shows the progress of the newest diagram.
    fn progress(&self, ui: &mut Ui) {
        let diagram = &self.diagrams.newest().diagram;
        let (complete, all) = (diagram.complete(), diagram.cell_count());
        let (state, detail) = match self.diagrams.progress() {
            _ if self.diagrams.is_recalling() => ("", "reading the kept diagram".to_owned()),
            Some(progress) if self.diagrams.is_running() => ("", rate_and_time_left(&progress)),
            Some(progress) if diagram.is_complete() => (", complete", steps_and_time(&progress)),
            _ if diagram.is_complete() => (", complete", String::new()),
            Some(_) => (", stopped", String::new()),
            None => ("", self.to_compute()),
        };
        let pixels = if all == 1 { "pixel" } else { "pixels" };
        progress_lines(ui, complete as f32 / all as f32, [format!("{complete} of {all} {pixels}{state}"), detail]);
    }

    pub(super) fn to_compute(&self) -> String {
        format!("{} steps to compute", formatted_count(self.editor.draft.sweep.total_steps()))
    }
}

/// Shows a bar and two lines, even if empty.
fn progress_lines(ui: &mut Ui, part: f32, lines: [String; 2]) {
    ui.add(ProgressBar::new(part).desired_height(BAR));
    for line in lines {
        // An empty line keeps its height.
        let line = if line.is_empty() { " " } else { &line };
        ui.add(Label::new(RichText::new(line).small().weak()).truncate());
    }
}

fn why_not(fault: Option<&SpecError>) -> &'static str {
    if fault.is_some() { "A setting can't be used" } else { "The diagram is complete" }
}

/// Formats the rate of a sweep, and the remaining time.
fn rate_and_time_left(progress: &Progress) -> String {
    if progress.steps == 0 {
        return "starting".to_owned();
    }
    let left = progress.left().map(|left| format!(", {} left", time(left))).unwrap_or_default();
    format!("{} steps/s{left}", formatted_count(progress.rate()))
}

/// Formats the steps and the time of a complete sweep.
fn steps_and_time(progress: &Progress) -> String {
    let (steps, rate) = (formatted_count(progress.steps as f64), formatted_count(progress.rate()));
    format!("{steps} steps in {} ({rate} steps/s)", time(progress.elapsed))
}

/// Formats a large number as text.
fn formatted_count(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1} billion", n / 1e9),
        n if n >= 1e7 => format!("{:.0} million", n / 1e6),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n => format!("{n:.0}"),
    }
}

/// Formats a duration as text, rounded up.
pub(super) fn time(span: Duration) -> String {
    let secs = span.as_secs() + 1;
    match secs {
        0..100 => format!("{secs} s"),
        100..6000 => format!("{} min", secs.div_ceil(60)),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

/// Shows the controls of a sweep, and a fault beside its field.
pub(super) fn show(
    ui: &mut Ui,
    spec: &mut SweepSpec,
    pins: &mut Pins,
    fault: Option<&SpecError>,
    requests: &mut Requests,
) {
    let about = |part: &str| fault.filter(|fault| fault.path.starts_with(part));
    pinned(ui, spec, pins);
    form::card(ui, "Axes", |ui| {
        let shown = spec.clone();
        axis(ui, "Rows", &shown, &mut spec.rows);
        show_fault(ui, about("rows"));
        ui.add_space(4.0);
        axis(ui, "Columns", &shown, &mut spec.columns);
        show_fault(ui, about("columns"));
    });
    form::card(ui, "Landscape", |ui| fixed_quantities(ui, spec, pins, requests));
    form::card(ui, "Runs", |ui| {
        runs(ui, spec, pins);
        let others = ["rows", "columns", "optimizers"];
        show_fault(ui, fault.filter(|fault| !others.iter().any(|it| fault.path.starts_with(it))));
    });
    show_fault(ui, about("optimizers"));
    optimizers(ui, spec, pins, requests);
    vary::take(ui.ctx(), spec);
}

/// Shows the pinned settings that do not vary.
fn pinned(ui: &mut Ui, spec: &mut SweepSpec, pins: &mut Pins) {
    let mut settings: Vec<(String, SettingValue)> = spec.settings().into_iter().map(|it| (String::new(), it)).collect();
    settings.extend(spec.optimizers.iter().flat_map(|it| of_rule(it).map(|setting| (it.label().to_owned(), setting))));
    settings.retain(|(_, it)| vary::varies_along(spec, &it.path).is_none());
    let shown = spec.clone();
    pinned_card(
        ui,
        pins,
        settings,
        |it| vary::actions(&shown, &it.path),
        |path, value| {
            let optimizer = spec.optimizers.iter_mut().find(|it| Some(it.id) == path.optimizer);
            match (optimizer, path.path.strip_prefix("rule.")) {
                (Some(optimizer), Some(key)) => optimizer.rule.set(key, value),
                _ => spec.set(&path.path, value),
            }
            .expect("the control keeps to the range");
        },
    );
}

fn show_fault(ui: &mut Ui, fault: Option<&SpecError>) {
    if let Some(fault) = fault {
        form::fault(ui, &describe_fault(fault));
    }
}

/// Describes a fault by the labels of the window in place of a preset file's paths.
fn describe_fault(fault: &SpecError) -> String {
    let text = fault.parts().map(|part| match part {
        MessagePart::Text(text) => text.to_owned(),
        MessagePart::InFile("spacing: Linear") => "linear spacing".to_owned(),
        MessagePart::InFile(path) => path.split('.').filter_map(label).collect::<Vec<_>>().join(": "),
    });
    let text: String = text.collect();
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// Returns the label of the field at a path. A quantity that varies along an axis has no label of its own.
fn label(field: &str) -> Option<String> {
    match field {
        "of" => None,
        "count" => Some("how many".to_owned()),
        "learning_rates" => Some("learning rates".to_owned()),
        _ => match field.strip_prefix("optimizers[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok()) {
            Some(index) => Some(format!("optimizer {}", index + 1)),
            None if field.starts_with("tune[") => Some("tuned values".to_owned()),
            None => Some(field.to_owned()),
        },
    }
}

/// Shows the rows of settings whose paths are `shown`.
fn fields(ui: &mut Ui, spec: &mut SweepSpec, pins: &mut Pins, is_shown: impl Fn(&str) -> bool) {
    for it in spec.settings().into_iter().filter(|it| is_shown(&it.path.path)) {
        match vary::varies_along(spec, &it.path) {
            Some(text) => form::line(ui, it.info.label, it.info.help, |ui| drop(ui.weak(text))),
            None => {
                if let Some(value) = unpinned_row(ui, "", &it, pins, &vary::actions(spec, &it.path)) {
                    spec.set(&it.path.path, value).expect("the control keeps to the range");
                }
            }
        }
    }
}

/// Shows the quantities that are the same in all pixels. A quantity of an axis has no value here.
fn fixed_quantities(ui: &mut Ui, spec: &mut SweepSpec, pins: &mut Pins, requests: &mut Requests) {
    let before = spec.landscape;
    match landscape_choice(ui, TextTab::Sweep, &mut spec.landscape, requests) {
        Some(LandscapeChange::Chosen) => {
            spec.start = None;
            keep_axes(spec, &before);
        }
        Some(LandscapeChange::Copied) => {
            spec.start = spec.start.or(Some(before.start())).filter(|start| *start != spec.landscape.start());
            keep_axes(spec, &before);
        }
        None => {}
    }
    // The axis of a parameter that a new text lacks stays until the text has it again.
    landscape_editor(ui.ctx(), TextTab::Sweep, &mut spec.landscape);
    if !spec.metric.is_of(&spec.landscape) {
        spec.metric = Metric::default();
    }
    fields(ui, spec, pins, |path| path.starts_with("landscape."));
    noise_choice(ui, TextTab::Sweep, &mut spec.noise);
    let landscape = spec.landscape;
    keep_axes(spec, &landscape);
    fields(ui, spec, pins, |path| path.starts_with(setting::NOISE.key));
    let is_dimension_axis = [&spec.rows.of, &spec.columns.of].contains(&&Quantity::Dimension);
    fields(ui, spec, pins, |path| {
        let of_start = path.starts_with("start.") && !is_dimension_axis;
        of_start || [setting::DIMENSION.key, setting::STEPS.key].contains(&path)
    });
}

/// Replaces the axes of parameters that only the landscape before had or that the noise lacks, and the dimension that
/// only the valley has.
fn keep_axes(spec: &mut SweepSpec, before: &LandscapeSpec) {
    if spec.landscape.kind() != LandscapeKind::Valley {
        spec.dimension = Dimension::of::<2>();
    }
    let (landscape, noise) = (spec.landscape, spec.noise);
    let others = [spec.columns.of.clone(), spec.rows.of.clone()];
    for (axis, other) in [&mut spec.rows, &mut spec.columns].into_iter().zip(others) {
        let is_lost = match &axis.of {
            Quantity::Landscape(key) => before.get(key).is_some() && landscape.get(key).is_none(),
            Quantity::NoiseParameter(key) => noise.get(key).is_none(),
            Quantity::Dimension => landscape.kind() != LandscapeKind::Valley,
            _ => false,
        };
        let free = Quantity::of_all(&landscape, &noise).into_iter().find(|of| !of.overlaps(&other));
        if let (true, Some(of)) = (is_lost, free) {
            *axis = axis_of(&landscape, of, axis.count);
        }
    }
}

/// Shows how replicates are spent.
fn sampling(ui: &mut Ui, sampling: &mut Sampling) {
    let help = "Uniform: all learning rates and tuned values have the same replicates, as in the paper. Adaptive: a few \
                replicates for all, then more where it is open who wins, until the winner is certain or the budget is \
                used up. The diagram is refined where it is uncertain.";
    form::line(ui, "Sampling", help, |ui| {
        ui.selectable_value(sampling, Sampling::Uniform, "uniform").on_hover_text(help);
        let is_adaptive = !sampling.is_uniform();
        if ui.selectable_label(is_adaptive, "adaptive").on_hover_text(help).clicked() && !is_adaptive {
            *sampling = Sampling::Adaptive(Adaptive::default());
        }
    });
}

fn runs(ui: &mut Ui, spec: &mut SweepSpec, pins: &mut Pins) {
    fields(ui, spec, pins, |path| path == setting::REPLICATES.key);
    sampling(ui, &mut spec.sampling);
    fields(ui, spec, pins, |path| path.starts_with("sampling."));
    form::line(ui, "Seed", "A different seed gives different noise.", |ui| {
        let field = TypedField { name: "Seed of the sweep", width: form::FIELD_WIDTH };
        if let Some(entered) = field.show(ui, &spec.seed.to_string(), number::read_whole).entered {
            spec.seed = entered;
        }
    });
    form::line(
        ui,
        "Average",
        "How runs are averaged before optimizers are compared. The paper takes the mean.",
        |ui| {
            ui.selectable_value(&mut spec.average, Average::Mean, "mean");
            ui.selectable_value(&mut spec.average, Average::Median, "median");
        },
    );
    check_box(ui, &mut spec.common_random_numbers, "Common random numbers").on_hover_text(
        "The same noise for all optimizers, learning rates and tuned values of a pixel: removes most of the chance from the \
         comparison, and is faster with uniform sampling.",
    );
}

/// Shows the rows of an axis: the quantity that varies, and its values.
fn axis(ui: &mut Ui, name: &str, spec: &SweepSpec, axis: &mut Axis) {
    ui.horizontal(|ui| {
        let help = "The setting that varies along the axis.";
        let shown = form::list_field(ui, name, help, name, &axis_label(spec, axis), 0.0, |ui| {
            let against = if *axis == spec.rows { &spec.columns } else { &spec.rows };
            let is_free = |of: &Quantity| *of == axis.of || !of.overlaps(&against.of);
            let free: Vec<Quantity> = choices(spec).into_iter().filter(is_free).collect();
            scrolled_list(ui, |ui| {
                for of in free {
                    let other = Axis { of: of.clone(), ..axis.clone() };
                    if ui.selectable_label(axis.of == of, axis_label(spec, &other)).clicked() {
                        *axis = axis_of(&spec.landscape, of, axis.count);
                    }
                }
            });
        });
        let shown = shown.accessible_name(format!("{name}: what varies"));
        if let Some(meanings) = axis_meanings(spec, axis) {
            shown.on_hover_text(meanings);
        }
    });
    if let Some(unswept_note) = unswept_note(spec, axis) {
        ui.add(Label::new(RichText::new(unswept_note).small().weak()).wrap());
    }
    let usual = axis.of.info(&spec.landscape).axis.spacing;
    let Axis { from, to, count, spacing, .. } = axis;
    Values { ends: [from, to], count, spacing, usual: Some(usual) }.show(ui, "", "", name, false);
}

/// Returns an axis of a quantity over its initial extent; that of a parameter of the landscape is the landscape's own.
pub(super) fn axis_of(landscape: &LandscapeSpec, of: Quantity, count: PointCount) -> Axis {
    let Extent { low, high, spacing } = of.info(landscape).axis;
    Axis { of, from: low, to: high, spacing, count }
}

pub(super) fn choices(spec: &SweepSpec) -> Vec<Quantity> {
    let mut choices = Quantity::of_all(&spec.landscape, &spec.noise);
    for key in axis_keys() {
        let ids: Vec<u32> = optimizers_with(spec, key).map(|optimizer| optimizer.id).collect();
        if ids.len() > 1 {
            choices.push(Quantity::Of(key, ids.clone()));
        }
        // Also for one optimizer alone, so that adam.beta2 and focus.beta2 can be the two axes.
        choices.extend(ids.into_iter().map(|id| Quantity::Of(key, vec![id])));
    }
    choices
}
