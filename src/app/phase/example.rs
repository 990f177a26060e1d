//! The shipped diagram that the tab shows until the user computes one, and the view of a diagram without pixels.

use std::io::Cursor;
use std::time::Duration;

use egui::{Align, Label, Layout, Rect, RichText, Ui, UiBuilder, Vec2, vec2};
use valleyscope_experiments::preset::{Preset, built_ins};

use super::PhasePanel;
use super::controls::time;
use super::pixels::PanelPixel;
use crate::app::widgets::theme::{card, large_primary_button};
use crate::sweep::result::SweepResult;
use crate::sweep::titles::over_axes;

/// The shipped diagram, which `assets/examples/make_diagram.py` has made by [`COMMAND`].
const EXAMPLE: &[u8] = include_bytes!("../../../assets/examples/fig2a.npz");
/// The command that computes the shipped diagram.
const COMMAND: &str = "valleyscope sweep fig2a --grid 24x25 --replicates 10 --lrs 7 --measured";

/// The pixel of the shipped diagram whose scores are shown at first: FOCUS wins clearly.
const CHOSEN: [usize; 2] = [8, 17];

const NOTE_HEIGHT: f32 = 54.0;
const EMPTY_SIZE: Vec2 = vec2(440.0, 172.0);

impl PhasePanel {
    /// Shows the shipped diagram if the controls show its preset and the user has no diagram yet.
    pub(super) fn offer_example(&mut self) {
        let is_of_example = |preset: &Preset| matches!(preset, Preset::Sweep(preset) if preset == self.preset());
        let mut presets = built_ins().iter().filter(|built_in| built_in.name == "fig2a");
        if self.diagrams.is_running()
            || !self.diagrams.library.numbers().is_empty()
            || !presets.any(|built_in| is_of_example(&built_in.preset))
        {
            return;
        }
        match SweepResult::read_arrays(Cursor::new(EXAMPLE), "the shipped diagram") {
            Ok(example) => self.diagrams.show_example(example, self.clean()),
            Err(error) => return log::warn!("{error}"),
        }
        self.look_at_present();
        self.chosen = Some(PanelPixel { pixel: CHOSEN, compared: None });
    }

    /// Whether the maps show a button that computes the diagram: the shipped one is shown, or nothing is known.
    pub(super) fn offers_run(&self) -> bool {
        let present = &self.diagrams.present;
        let is_idle = !self.diagrams.is_running() && !self.diagrams.is_recalling();
        is_idle && (present.is_example || present.diagram.known_near([0, 0]).is_none())
    }

    /// Shows above the maps that the diagram is not the user's, if it is the shipped one.
    pub(super) fn example_note(&mut self, ui: &mut Ui) {
        if !self.diagrams.present.is_example {
            return;
        }
        let can_run = self.diagrams.check(&self.editor.draft.sweep).is_ok();
        let frame = card(ui.style()).stroke((1.0, ui.visuals().hyperlink_color));
        let run = frame.show(ui, |ui| {
            let size = vec2(ui.available_width(), NOTE_HEIGHT);
            let row = Layout::right_to_left(Align::Center);
            let row = ui.allocate_ui_with_layout(size, row, |ui| {
                let run = ui.add_enabled(can_run, large_primary_button(ui, "Run")).on_hover_text(self.to_compute());
                ui.with_layout(Layout::top_down(Align::Min), |ui| {
                    ui.horizontal(|ui| {
                        ui.label(RichText::new("Shipped example").strong().color(ui.visuals().hyperlink_color));
                        ui.label("Press Run for your own.");
                    });
                    let text = RichText::new(format!("Computed with {COMMAND}")).small();
                    ui.add(Label::new(text).selectable(true).wrap());
                });
                run.accessible_name("Compute your own diagram").clicked()
            });
            row.inner
        });
        if run.inner {
            self.run(false);
        }
    }

    /// Shows in the area of a map what it will show, and a button that computes it, if nothing is known of it.
    pub(super) fn empty_map(&mut self, ui: &mut Ui, map: Rect) {
        if !self.offers_run() || self.diagrams.present.is_example {
            return;
        }
        let sweep = &self.editor.draft.sweep;
        let (can_run, [rows, columns]) = (self.diagrams.check(sweep).is_ok(), sweep.shape());
        let text = format!(
            "This map will show which optimizer wins at each of {rows}\u{a0}×\u{a0}{columns} pixels: {}",
            over_axes(sweep).replace('\u{2009}', "\u{a0}")
        );
        let seconds = self.diagrams.rate.map(|rate| sweep.total_steps() / rate);
        let span = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let span = span.map(|span| format!(", about {} here", time(span))).unwrap_or_default();
        let area = Rect::from_center_size(map.center(), vec2(EMPTY_SIZE.x.min(map.width() - 16.0), EMPTY_SIZE.y));
        let is_run = ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            card(ui.style()).inner_margin(16).show(ui, |ui| {
                ui.vertical_centered(|ui| {
                    ui.label(RichText::new("Nothing is computed yet").heading().strong());
                    ui.add(Label::new(text).wrap());
                    ui.add_space(6.0);
                    let run = ui.add_enabled(can_run, large_primary_button(ui, "Run"));
                    ui.add(Label::new(RichText::new(self.to_compute() + &span).small().weak()).wrap());
                    run.accessible_name("Compute this diagram").clicked()
                })
            })
        });
        if is_run.inner.inner.inner {
            self.run(false);
        }
    }
}
