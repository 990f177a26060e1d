//! The controls of a sweep: run, pause and discard, axes, fixed quantities and replicates.

use std::time::Duration;

use egui::{Button, ComboBox, Label, ProgressBar, RichText, TextStyle, Ui};
use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::axis_keys;
use valleyscope_engine::quantity::{Dimension, PointCount, Range};
use valleyscope_engine::setting::{self, Extent, SettingInfo, SettingValue};
use valleyscope_engine::spec_error::{MessagePart, SpecError};
use valleyscope_engine::sweep::{Adaptive, Average, Axis, Metric, Quantity, Sampling, Spacing, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use super::PhasePanel;
use super::optimizer_controls::{count, log_switch, optimizers, optimizers_with, unswept_note};
use crate::app::landscape::controls::{LandscapeChange, landscape_choice, landscape_editor, noise_choice};
use crate::app::shell::actions::Requests;
use crate::app::shell::editor::change_mark;
use crate::app::widgets::form::check_box;
use crate::app::widgets::number::TypedField;
use crate::app::widgets::text_editor::TextTab;
use crate::app::widgets::{form, number};
use crate::sweep::pool::Progress;
use crate::sweep::titles::{axis_label, axis_meanings};

/// The height of the progress bar, in points.
const BAR: f32 = 6.0;

/// The relation of the settings under the controls to the computed ones.
struct SettingsStatus {
    /// True if the settings differ from the newest diagram's.
    is_other: bool,
    /// True if the settings wait for Run.
    waits: bool,
    is_complete: bool,
    is_begun: bool,
}

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
        let SettingsStatus { is_other, waits, .. } = self.settings_status(fault);
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
                None if is_other && (waits || !self.diagrams.is_running()) => {
                    progress_lines(ui, 0.0, ["Changed".to_owned(), self.to_compute()]);
                }
                None => self.progress(ui),
            }
        });
    }

    fn settings_status(&self, fault: Option<&SpecError>) -> SettingsStatus {
        let diagram = &self.diagrams.newest().diagram;
        let is_other = **diagram.spec() != self.editor.draft.sweep;
        SettingsStatus {
            is_other,
            // Followed changes are computed automatically, and invalid settings wait for a correction.
            waits: is_other && !self.follow_changes && fault.is_none(),
            is_complete: diagram.is_complete() && !is_other,
            is_begun: diagram.known_near([0, 0]).is_some() && !diagram.is_complete(),
        }
    }

    fn run_buttons(&mut self, ui: &mut Ui, fault: Option<&SpecError>) {
        let SettingsStatus { is_other, waits, is_complete, is_begun } = self.settings_status(fault);
        if self.diagrams.is_running() && !waits {
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
pub(super) fn show(ui: &mut Ui, spec: &mut SweepSpec, fault: Option<&SpecError>, requests: &mut Requests) {
    let about = |part: &str| fault.filter(|fault| fault.path.starts_with(part));
    heading(ui, "Axes");
    let shown = spec.clone();
    axis(ui, "Rows", &shown, &mut spec.rows);
    show_fault(ui, about("rows"));
    ui.add_space(6.0);
    axis(ui, "Columns", &shown, &mut spec.columns);
    show_fault(ui, about("columns"));
    heading(ui, "Everywhere");
    fixed_quantities(ui, spec, requests);
    heading(ui, "Runs");
    runs(ui, spec);
    show_fault(
        ui,
        fault.filter(|fault| !["rows", "columns", "optimizers"].iter().any(|it| fault.path.starts_with(it))),
    );
    heading(ui, "Optimizers");
    show_fault(ui, about("optimizers"));
    optimizers(ui, spec);
}

fn show_fault(ui: &mut Ui, fault: Option<&SpecError>) {
    if let Some(fault) = fault {
        let color = ui.visuals().error_fg_color;
        ui.add(Label::new(RichText::new(describe_fault(fault)).color(color)).wrap());
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

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 8.0, text);
    ui.add_space(2.0);
}

/// Shows the fields of settings whose paths are `shown` and that no axis varies.
fn fields(ui: &mut Ui, spec: &mut SweepSpec, is_shown: impl Fn(&str) -> bool) {
    for SettingValue { path, info, value, .. } in spec.settings() {
        let is_axis = [&spec.rows, &spec.columns].iter().any(|axis| axis.of.is_at(None, &path.path));
        if is_shown(&path.path)
            && !is_axis
            && let Some(number) = number_field(ui, info, value)
        {
            spec.set(&path.path, number).expect("it was brought into the range");
        }
    }
}

/// Shows the field of a setting, dragged or typed; returns a new value within the range.
fn number_field(ui: &mut Ui, of: &SettingInfo, mut value: f64) -> Option<f64> {
    let (help, mut is_changed) = (of.explanation(), false);
    let Range { min, max, .. } = of.range()?;
    form::line(ui, of.label, &help, |ui| {
        let drag = number::drag(&mut value).speed(of.drag_step).range(min..=max);
        is_changed = ui.add(drag).on_hover_text(&help).accessible_name(of.label).changed();
    });
    is_changed.then(|| of.nearest(value))
}

/// Shows the quantities that are the same in all pixels. A quantity of an axis has no value here.
fn fixed_quantities(ui: &mut Ui, spec: &mut SweepSpec, requests: &mut Requests) {
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
    fields(ui, spec, |path| path.starts_with("landscape."));
    noise_choice(ui, TextTab::Sweep, &mut spec.noise);
    let landscape = spec.landscape;
    keep_axes(spec, &landscape);
    fields(ui, spec, |path| path.starts_with(setting::NOISE.key));
    let is_dimension_axis = [&spec.rows.of, &spec.columns.of].contains(&&Quantity::Dimension);
    fields(ui, spec, |path| {
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

fn runs(ui: &mut Ui, spec: &mut SweepSpec) {
    fields(ui, spec, |path| path == setting::REPLICATES.key);
    sampling(ui, &mut spec.sampling);
    fields(ui, spec, |path| path.starts_with("sampling."));
    form::line(ui, "Seed", "A different seed gives different noise.", |ui| {
        let field = TypedField { name: "Seed of the sweep", width: 84.0 };
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

/// Shows the controls of an axis: the quantity that varies, its ends, and the number of its values.
pub(super) fn axis(ui: &mut Ui, name: &str, spec: &SweepSpec, axis: &mut Axis) {
    let spread = (axis.to - axis.from).abs();
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).weak());
        let combo = ComboBox::from_id_salt(name).selected_text(axis_label(spec, axis)).truncate().height(500.0);
        let combo = combo.width(ui.available_width() - 8.0);
        let shown = combo.show_ui(ui, |ui| {
            let against = if *axis == spec.rows { &spec.columns } else { &spec.rows };
            for of in choices(spec) {
                if of != axis.of && of.overlaps(&against.of) {
                    continue;
                }
                let other = Axis { of: of.clone(), ..axis.clone() };
                if ui.selectable_label(axis.of == of, axis_label(spec, &other)).clicked() {
                    *axis = axis_of(&spec.landscape, of, axis.count);
                }
            }
        });
        let response = shown.response.accessible_name(format!("{name}: what varies"));
        if let Some(meanings) = axis_meanings(spec, axis) {
            response.on_hover_text(meanings);
        }
    });
    if let Some(unswept_note) = unswept_note(spec, axis) {
        ui.add(Label::new(RichText::new(unswept_note).small().weak()).wrap());
    }
    ui.horizontal(|ui| {
        for (end, value) in [("from", &mut axis.from), ("to", &mut axis.to)] {
            ui.label(end);
            let name = format!("{name} {end}");
            let field = match axis.spacing {
                Spacing::Linear => ui.add(number::drag(value).speed((0.005 * spread).max(1e-6))),
                Spacing::Log => {
                    let speed = (0.01 * value.abs()).max(1e-6);
                    ui.add(number::drag(value).speed(speed))
                }
                Spacing::LogComplement => number::spaced_drag(ui, value, axis.spacing),
            };
            field.accessible_name(name);
        }
    });
    ui.horizontal(|ui| {
        count(ui, &mut axis.count, &format!("{name}: how many"));
        let usual = axis.of.info(&spec.landscape).axis.spacing;
        log_switch(ui, &mut axis.spacing, usual, &format!("{name}: logarithmic"));
    });
}

/// Returns an axis of a quantity over its initial extent; that of a parameter of the landscape is the landscape's own.
pub(super) fn axis_of(landscape: &LandscapeSpec, of: Quantity, count: PointCount) -> Axis {
    let Extent { low, high, spacing } = of.info(landscape).axis;
    Axis { of, from: low, to: high, spacing, count }
}

fn choices(spec: &SweepSpec) -> Vec<Quantity> {
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
