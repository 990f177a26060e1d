//! The maps in the middle: the present diagram's, and a compared one beside it.

use egui::text::{LayoutJob, TextWrapping};
use egui::{Button, Frame, Label, Margin, Rect, RichText, TextFormat, TextStyle, Ui, UiBuilder, Vec2, pos2, vec2};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::SweepSpec;
use valleyscope_experiments::preset::Preset;

use super::diagram_store::DiagramStore;
use super::kept::KeptDiagram;
use super::map_options::{in_short, title_among};
use super::map_view::{self, MapResponse, MapView, Margins};
use super::panel::{Hovered, PhasePanel};
use super::picture::Shown;
use super::pixel_landscape;
use super::titled_diagram::TitledDiagram;
use crate::app::live::{Action, LandscapeAction, Requests};
use crate::figure::difference;

/// The smallest useful width of a diagram beside another, in points.
const NARROWEST: f32 = 280.0;
/// The gap between two diagrams, in points.
const GAP: f32 = 8.0;

impl PhasePanel {
    pub(super) fn maps(&mut self, ui: &mut Ui, simulation: &SimulationSpec, requests: &mut Requests) {
        self.hovered = None;
        self.read_compared();
        let area = ui.available_rect_before_wrap();
        if self.beside.is_empty() {
            let margins = self.margins(ui, area.height());
            self.present_map(ui, margins, simulation, requests);
            return;
        }
        // All have the same size and the same margins, so that they can be compared at a glance.
        let cells = cells(area, 1 + self.beside.len());
        let width = cells[0].width();
        let beside = self.beside.iter().map(|number| self.pictures_beside.get(number));
        let pictures = std::iter::once(Some(&self.picture)).chain(beside);
        let titles = self.titles_of_compared().into_iter().zip(pictures).map(|(title, picture)| {
            let subject = picture.and_then(|picture| picture.color_key.as_ref()?.subject.as_ref());
            subject.map_or(title.clone(), |subject| format!("{title}: {subject}"))
        });
        let titles: Vec<LayoutJob> = titles.map(|title| heading(ui, title, width)).collect();
        let tallest = titles.iter().map(|title| ui.painter().layout_job(title.clone()).size().y).fold(0.0, f32::max);
        let height = tallest + ui.spacing().item_spacing.y;
        let margins = self.margins(ui, cells[0].height() - height);
        for (cell, title) in cells.iter().zip(titles) {
            let whole = title.text.clone();
            let room = cell.with_max_y(cell.top() + height);
            ui.scope_builder(UiBuilder::new().max_rect(room), |ui| ui.label(title).on_hover_text(whole));
        }
        let mut rooms = cells.into_iter().map(|cell| UiBuilder::new().max_rect(cell.with_min_y(cell.top() + height)));
        let first = rooms.next();
        for (room, number) in rooms.zip(self.beside.clone()) {
            ui.scope_builder(room, |ui| self.map_beside(ui, margins, number, simulation));
        }
        if let Some(first) = first {
            ui.scope_builder(first, |ui| self.present_map(ui, margins, simulation, requests));
        }
    }

    /// Returns the spaces beside each map of this height, which are enough for all.
    fn margins(&self, ui: &Ui, height: f32) -> Margins {
        let present = Margins::of(ui, &self.diagrams.present.diagram, &self.picture, height);
        let others = self.beside.iter().filter_map(|number| {
            let diagram = &self.diagrams.diagram(*number)?.diagram;
            Some(Margins::of(ui, diagram, self.pictures_beside.get(number)?, height))
        });
        others.fold(present, Margins::max)
    }

    /// Begins to read the results of compared diagrams that are not in memory, and forgets diagrams that are gone.
    fn read_compared(&mut self) {
        let present = self.diagrams.present.number;
        let library = &self.diagrams.library;
        self.beside.retain(|number| *number != present && library.get(*number).is_some());
        self.pictures_beside.retain(|number, _| self.beside.contains(number));
        for &number in &self.beside {
            if self.diagrams.diagram(number).is_none() {
                self.diagrams.library.load(number);
            }
        }
    }

    /// Returns the titles of the present diagram and of those beside it.
    fn titles_of_compared(&self) -> Vec<String> {
        let numbers: Vec<u64> = std::iter::once(self.diagrams.present.number).chain(self.beside.clone()).collect();
        let title = |number: &u64| {
            let name = self.diagrams.library.get(*number).and_then(|kept| kept.record.name.clone());
            let others =
                numbers.iter().filter(|other| *other != number).filter_map(|other| self.diagrams.diagram(*other));
            let made = || self.diagrams.diagram(*number).map(|titled| title_among(titled, &others.collect::<Vec<_>>()));
            let kept = || self.diagrams.library.get(*number).map(KeptDiagram::title);
            name.or_else(made).or_else(kept).unwrap_or_default()
        };
        numbers.iter().map(title).collect()
    }

    /// Returns the present diagram and those beside it whose results are in memory, with their titles; none without one
    /// beside it.
    pub(super) fn compared(&self) -> Vec<(&TitledDiagram, String)> {
        let numbers = std::iter::once(self.diagrams.present.number).chain(self.beside.clone());
        let all = numbers.zip(self.titles_of_compared());
        let known: Vec<_> = all.filter_map(|(number, title)| Some((self.diagrams.diagram(number)?, title))).collect();
        if known.len() > 1 { known } else { Vec::new() }
    }

    fn map_beside(&mut self, ui: &mut Ui, margins: Margins, number: u64, simulation: &SimulationSpec) {
        let together = together(&self.diagrams, &self.beside);
        let place = together.iter().position(|shown| shown.number == number);
        let Some((place, beside)) = place.and_then(|place| Some((place, self.diagrams.diagram(number)?))) else {
            let fault = self.diagrams.library.get(number).and_then(|kept| kept.fault.clone());
            ui.centered_and_justified(|ui| ui.weak(fault.unwrap_or_else(|| "Reading the diagram…".to_owned())));
            return;
        };
        let picture = self.pictures_beside.entry(number).or_default();
        picture.update(ui.ctx(), &together, place, self.look);
        let marker = pixel_landscape::position_of(simulation, beside.spec());
        let name = if place == 1 { "Diagram beside".to_owned() } else { format!("Diagram beside, {place}") };
        let view = MapView { name: &name, diagram: &beside.diagram, picture, margins, is_stale: false };
        let pointed = map_view::show(ui, &view, marker, None);
        if let Some(pixel) = pointed.hovered {
            self.hovered = Some(Hovered { pixel, beside: Some(number) });
        }
    }

    fn present_map(&mut self, ui: &mut Ui, margins: Margins, simulation: &SimulationSpec, requests: &mut Requests) {
        let diagram = &self.diagrams.present.diagram;
        let together = together(&self.diagrams, &self.beside);
        self.picture.update(ui.ctx(), &together, 0, self.look);
        let spec = diagram.spec();
        let stale = self.stale_note();
        let view = MapView { name: "Diagram", diagram, picture: &self.picture, margins, is_stale: stale.is_some() };
        let frame = map_view::inside(ui, ui.available_rect_before_wrap(), margins);
        let pointed = map_view::show(ui, &view, pixel_landscape::position_of(simulation, spec), self.chosen);
        let MapResponse { hovered, clicked, kept, moved, dragged } = pointed;
        // In a coarse picture, the pixel that represents the place.
        let known = |pixel: Option<[usize; 2]>| pixel.map(|pixel| diagram.known_near(pixel).unwrap_or(pixel));
        let (clicked, kept) = (known(clicked), known(kept));
        if let Some(pixel) = hovered {
            self.hovered = Some(Hovered { pixel, beside: None });
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
        let is_idle = !self.diagrams.is_running() && !self.diagrams.is_recalling();
        if is_idle && self.diagrams.present.diagram.known_near([0, 0]).is_none() {
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

/// Lists the diagrams that are shown together: the present one, and those beside it whose results are in memory.
fn together<'a>(diagrams: &'a DiagramStore, beside: &[u64]) -> Vec<Shown<'a>> {
    let TitledDiagram { number, diagram, .. } = &diagrams.present;
    let present = Shown { number: *number, version: diagrams.version(), diagram };
    let others = beside.iter().filter_map(|number| {
        let diagram = &diagrams.diagram(*number)?.diagram;
        Some(Shown { number: *number, version: diagram.complete() as u64, diagram })
    });
    std::iter::once(present).chain(others).collect()
}

/// Divides an area into so many equal cells: side by side and above each other, as large as possible.
fn cells(area: Rect, count: usize) -> Vec<Rect> {
    let size = |columns: usize| {
        let counts = vec2(columns as f32, count.div_ceil(columns) as f32);
        (area.size() - GAP * (counts - Vec2::splat(1.0))) / counts
    };
    // Beside each other, maps need room for their labels.
    let room = |columns: usize| {
        let Vec2 { x, y } = size(columns);
        let is_narrow = columns > 1 && x < NARROWEST && area.width() <= area.height();
        if is_narrow { 0.0 } else { (x - 64.0).min(y - 70.0) }
    };
    let columns = (1..=count).max_by(|one, other| room(*one).total_cmp(&room(*other))).unwrap_or(1);
    let size = size(columns);
    let cell = |index: usize| {
        let place = vec2((index % columns) as f32, (index / columns) as f32);
        Rect::from_min_size(area.min + place * (size + Vec2::splat(GAP)), size)
    };
    (0..count).map(cell).collect()
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
