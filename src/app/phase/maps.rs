//! The maps in the middle: the present diagram's, and a compared one beside it.

use egui::text::{LayoutJob, TextWrapping};
use egui::{Button, Frame, Label, Margin, Rect, RichText, TextFormat, TextStyle, Ui, UiBuilder, Vec2, pos2, vec2};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::SweepSpec;
use valleyscope_experiments::preset::Preset;

use super::map_options::{in_short, title_against};
use super::map_view::{self, MapResponse, MapView};
use super::panel::{Hovered, PhasePanel};
use super::picture::MapLook;
use super::pixel_landscape;
use crate::app::live::{Action, LandscapeAction, Requests};
use crate::figure::difference;

/// The smallest useful width of a diagram beside another, in points.
const NARROWEST: f32 = 280.0;
/// The gap between two diagrams, in points.
const GAP: f32 = 8.0;

impl PhasePanel {
    pub(super) fn maps(&mut self, ui: &mut Ui, simulation: &SimulationSpec, requests: &mut Requests) {
        self.hovered = None;
        let area = ui.available_rect_before_wrap();
        let Some(beside) = self.beside.and_then(|number| self.diagrams.kept(number)) else {
            let bar = self.picture.has_bar();
            self.present_map(ui, bar, simulation, requests);
            return;
        };
        // Both have the same size and the same margins, so that they can be compared at a glance.
        let present = &self.diagrams.present;
        let titles = [title_against(present, beside), title_against(beside, present)];
        let number = beside.number;
        let bar = self.picture.has_bar() || self.picture_beside.has_bar();
        let halves = halves(area);
        let titles = titles.map(|title| heading(ui, title, halves[0].width()));
        let heights = titles.each_ref().map(|title| ui.painter().layout_job(title.clone()).size().y);
        let height = heights[0].max(heights[1]) + ui.spacing().item_spacing.y;
        for (half, title) in halves.iter().zip(titles) {
            let whole = title.text.clone();
            let room = half.with_max_y(half.top() + height);
            ui.scope_builder(UiBuilder::new().max_rect(room), |ui| ui.label(title).on_hover_text(whole));
        }
        let [first, second] = halves.map(|half| UiBuilder::new().max_rect(half.with_min_y(half.top() + height)));
        ui.scope_builder(second, |ui| self.map_beside(ui, bar, number, simulation));
        ui.scope_builder(first, |ui| self.present_map(ui, bar, simulation, requests));
    }

    fn map_beside(&mut self, ui: &mut Ui, bar: bool, number: u64, simulation: &SimulationSpec) {
        let Some(beside) = self.diagrams.kept(number) else { return };
        let look = MapLook { map: self.look.map.within(&beside.diagram), ..self.look };
        self.picture_beside.update(ui.ctx(), &beside.diagram, number, look);
        let marker = pixel_landscape::position_of(simulation, beside.spec());
        let picture = &self.picture_beside;
        let view = MapView { name: "Diagram beside", diagram: &beside.diagram, picture, bar, is_stale: false };
        let pointed = map_view::show(ui, &view, marker, None);
        self.hovered = pointed.hovered.map(|pixel| Hovered { pixel, is_beside: true });
    }

    fn present_map(&mut self, ui: &mut Ui, bar: bool, simulation: &SimulationSpec, requests: &mut Requests) {
        let diagram = &self.diagrams.present.diagram;
        self.picture.update(ui.ctx(), diagram, self.diagrams.version(), self.look);
        let spec = diagram.spec();
        let stale = self.stale_note();
        let view = MapView { name: "Diagram", diagram, picture: &self.picture, bar, is_stale: stale.is_some() };
        let frame = map_view::inside(ui, ui.available_rect_before_wrap(), bar);
        let pointed = map_view::show(ui, &view, pixel_landscape::position_of(simulation, spec), self.chosen);
        let MapResponse { hovered, clicked, kept, moved, dragged } = pointed;
        // In a coarse picture, the pixel that represents the place.
        let known = |pixel: Option<[usize; 2]>| pixel.map(|pixel| diagram.known_near(pixel).unwrap_or(pixel));
        let (clicked, kept) = (known(clicked), known(kept));
        if let Some(pixel) = hovered {
            self.hovered = Some(Hovered { pixel, is_beside: false });
        }
        if let Some(values) = dragged {
            let mut moved = simulation.clone();
            for (of, value) in [&spec.rows.of, &spec.columns.of].into_iter().zip(values) {
                pixel_landscape::set_value(&mut moved, spec, of, value);
            }
            requests.actions.push(Action::Landscape(LandscapeAction::Set(Box::new(moved))));
        }
        self.chosen = moved.or(kept).or(clicked).or(self.chosen);
        if clicked.is_some() {
            self.show_landscape(requests);
        }
        if let Some(note) = stale {
            show_note(ui, frame, note);
        }
        if !self.diagrams.is_running() && self.diagrams.present.diagram.known_near([0, 0]).is_none() {
            let place = Rect::from_center_size(frame.center(), Vec2::new(200.0, 34.0));
            ui.add_enabled_ui(self.editor.draft.sweep.check().is_ok(), |ui| {
                if ui.put(place, Button::new("Compute this diagram")).clicked() {
                    self.run(false);
                }
            });
        }
    }

    /// Describes the settings of an outdated picture, if it is one.
    fn stale_note(&self) -> Option<String> {
        let seen = self.seen()?;
        // The picture is drawn by the displayed metric, whatever its diagram was computed for.
        let wanted = SweepSpec { metric: seen.metric, ..self.editor.draft.sweep.clone() };
        if seen.is_alike_but_for_colors(&wanted) {
            return None;
        }
        let different = difference(seen, &wanted);
        let before = if different.is_empty() { "what was set before".to_owned() } else { in_short(&different) };
        Some(format!("Still shows {before}"))
    }

    /// Requests the landscape of the chosen pixel.
    pub(super) fn show_landscape(&self, requests: &mut Requests) {
        let diagram = &self.diagrams.present.diagram;
        let title = self.diagrams.present.title();
        let Some(pixel) = self.chosen.and_then(|pixel| diagram.known_near(pixel)) else { return };
        let Some(cell) = diagram.cell(pixel) else { return };
        match pixel_landscape::landscape(diagram, &title, pixel, cell, self.look.metric) {
            Some(preset) => {
                requests.actions.push(Action::Open(Box::new(Preset::Landscape(preset))));
                requests.actions.push(Action::Landscape(LandscapeAction::Play));
            }
            None => {
                let text = "The landscape has two dimensions; this pixel has more.".to_owned();
                requests.actions.push(Action::Notify(text));
            }
        }
    }
}

/// Splits an area into halves, side by side or, where it is too narrow, one above the other.
fn halves(area: Rect) -> [Rect; 2] {
    let gap = vec2(GAP, GAP) / 2.0;
    if area.width() >= 2.0 * NARROWEST || area.width() > area.height() {
        let [left, right] = [area.center().x - gap.x, area.center().x + gap.x];
        [area.with_max_x(left), area.with_min_x(right)]
    } else {
        let [above, below] = [area.center().y - gap.y, area.center().y + gap.y];
        [area.with_max_y(above), area.with_min_y(below)]
    }
}

/// Lays out a diagram's title in two lines at most.
fn heading(ui: &Ui, title: String, width: f32) -> LayoutJob {
    let font = TextStyle::Small.resolve(ui.style());
    let mut job = LayoutJob::single_section(title, TextFormat::simple(font, ui.visuals().weak_text_color()));
    job.wrap = TextWrapping { max_width: width, max_rows: 2, ..TextWrapping::default() };
    job
}

/// Shows a note in a corner of a map.
fn show_note(ui: &mut Ui, frame: Rect, note: String) {
    const INSET: f32 = 6.0;
    let room = Rect::from_min_max(frame.min + vec2(INSET, INSET), pos2(frame.right() - INSET, frame.bottom()));
    ui.scope_builder(UiBuilder::new().max_rect(room), |ui| {
        let text = RichText::new(note).small().color(ui.visuals().warn_fg_color);
        let frame = Frame::popup(ui.style()).inner_margin(Margin::symmetric(8, 4));
        frame.show(ui, |ui| ui.add(Label::new(text).selectable(false).truncate()));
    });
}
