//! The buttons that run, pause and discard a sweep, and its progress.

use std::time::Duration;

use egui::{Button, Label, ProgressBar, RichText, TextStyle, Ui};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_experiments::preset::SweepPreset;

use super::panel::PhasePanel;
use crate::app::boxes::check_box;
use crate::app::editor::change_mark;
use crate::sweep_pool::Progress;

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

    fn to_compute(&self) -> String {
        format!("{} steps to compute", count(self.editor.draft.sweep.total_steps()))
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
    format!("{} steps/s{left}", count(progress.rate()))
}

/// Formats the steps and the time of a complete sweep.
fn steps_and_time(progress: &Progress) -> String {
    let (steps, rate) = (count(progress.steps as f64), count(progress.rate()));
    format!("{steps} steps in {} ({rate} steps/s)", time(progress.elapsed))
}

/// Formats a large number in words.
fn count(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1} billion", n / 1e9),
        n if n >= 1e7 => format!("{:.0} million", n / 1e6),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n => format!("{n:.0}"),
    }
}

/// Formats a duration in words, rounded up.
pub(super) fn time(span: Duration) -> String {
    let secs = span.as_secs() + 1;
    match secs {
        0..100 => format!("{secs} s"),
        100..6000 => format!("{} min", secs.div_ceil(60)),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}
