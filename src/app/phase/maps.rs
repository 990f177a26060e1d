//! The maps in the middle: the present diagram's, and those that are compared with it.

use std::collections::BTreeMap;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Color32, Frame, Label, Margin, Pos2, Rect, RichText, ScrollArea, Sense, TextFormat, TextStyle, Ui, UiBuilder, Vec2,
    pos2, vec2,
};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::SweepSpec;

use super::diagram::TitledDiagram;
use super::diagram_store::DiagramStore;
use super::library::Library;
use super::map_picture::{MapPicture, Shown, Together};
use super::map_view::{MapView, Margins};
use super::pixels::PanelPixel;
use super::{PhasePanel, map_view, pixels};
use crate::app::shell::actions::Requests;
use crate::draw::Map;
use crate::sweep::titles::{TitledSweep, as_changed, difference, in_short, short_titles};

/// The smallest useful width of a diagram beside another, in points.
const NARROWEST: f32 = 280.0;
/// The smallest height of a map beside others, in points; lower ones are scrolled.
const LOWEST: f32 = 150.0;
/// The gap between two diagrams, in points.
const GAP: f32 = 8.0;

impl PhasePanel {
    pub(super) fn maps(&mut self, ui: &mut Ui, simulation: &SimulationSpec, requests: &mut Requests) {
        let pointed = self.hovered.take();
        self.read_compared();
        self.example_note(ui);
        let area = ui.available_rect_before_wrap();
        if self.comparison.is_empty() {
            let margins = self.margins(ui, area.height());
            match self.style.map {
                Map::Triangle => self.map_and_triangle(ui, margins, pointed, simulation, requests),
                _ => self.map(ui, margins, None, pointed, simulation, requests),
            }
            return;
        }
        let all = self.comparison.all.clone();
        let arranged = self.arrange(ui, area.size(), &all);
        ScrollArea::vertical().id_salt("maps").auto_shrink(false).show(ui, |ui| {
            let (whole, _) = ui.allocate_exact_size(arranged.size, Sense::hover());
            for (index, number) in all.into_iter().enumerate() {
                let title = arranged.titles[index].clone();
                let text = title.text.clone();
                let [above, room] = arranged.areas(whole.min, index);
                ui.scope_builder(UiBuilder::new().max_rect(above), |ui| ui.label(title).on_hover_text(text));
                let margins = arranged.margins_of(index);
                let compared = Some(number).filter(|number| *number != self.diagrams.present.number);
                ui.scope_builder(UiBuilder::new().max_rect(room), |ui| {
                    self.map(ui, margins, compared, pointed, simulation, requests);
                });
            }
        });
    }

    /// Arranges maps side by side in an area. All have the same size and the same margins, so that they can be compared
    /// at a glance, and one colour bar at the right of the first row. They are higher than the area where their maps
    /// would be too low.
    fn arrange(&self, ui: &Ui, area: Vec2, all: &[u64]) -> Arrangement {
        let columns = columns(area, all.len());
        let margins = self.margins(ui, cell_size(area, all.len(), columns).y);
        let room = vec2(area.x - margins.bar_width(), area.y);
        let mut cell = cell_size(room, all.len(), columns);
        let titles = self.headings(ui, all, cell.x);
        let tallest = titles.iter().map(|title| ui.painter().layout_job(title.clone()).size().y).fold(0.0, f32::max);
        let above = tallest + ui.spacing().item_spacing.y;
        let below = Rect::from_min_size(Pos2::ZERO, cell - vec2(0.0, above));
        let mut map = map_view::inside(ui, below, margins.without_bar()).size();
        let lack = vec2(0.0, (LOWEST - map.y).max(0.0));
        (cell, map) = (cell + lack, map + lack);
        let rows = all.len().div_ceil(columns) as f32;
        let size = vec2(area.x, rows * cell.y + (rows - 1.0) * GAP);
        Arrangement { titles, above, cell, excess: excess(map), columns, margins, size }
    }

    /// Lays out the titles of diagrams side by side.
    fn headings(&self, ui: &Ui, all: &[u64], width: f32) -> Vec<LayoutJob> {
        let titles = self.titles_of_compared().into_iter().zip(all).map(|(title, number)| {
            let picture = self.comparison.pictures.get(number);
            let picture = if *number == self.diagrams.present.number { Some(&self.picture) } else { picture };
            let subject = picture.and_then(|picture| picture.color_key.as_ref()?.subject.as_ref());
            subject.map_or(title.clone(), |subject| format!("{title}: {subject}"))
        });
        titles.map(|title| two_lines(ui, title, ui.visuals().weak_text_color(), width)).collect()
    }

    /// Returns the spaces beside each map of this height, which are enough for all.
    fn margins(&self, ui: &Ui, height: f32) -> Margins {
        let present = Margins::of(ui, &self.diagrams.present.diagram, &self.picture, height);
        let others = self.comparison.compared().filter_map(|number| {
            let diagram = &self.diagrams.diagram(number)?.diagram;
            Some(Margins::of(ui, diagram, self.comparison.pictures.get(&number)?, height))
        });
        others.fold(present, Margins::max)
    }

    /// Begins to read the results of compared diagrams that are not in memory, and forgets diagrams that are gone.
    fn read_compared(&mut self) {
        self.comparison.follow(self.diagrams.present.number, &self.diagrams.library);
        self.chosen =
            self.chosen.filter(|chosen| chosen.compared.is_none_or(|number| self.comparison.contains(number)));
        for number in self.comparison.compared() {
            if self.diagrams.diagram(number).is_none() {
                self.diagrams.library.load(number);
            }
        }
    }

    /// Returns the titles of the present diagram and of those beside it, in their order.
    fn titles_of_compared(&self) -> Vec<String> {
        let titled = |number: u64| {
            let entry = self.diagrams.library.get(number);
            let preset = match (self.diagrams.diagram(number), entry) {
                (Some(titled), _) => (titled.named(self.style.metric), titled.precision),
                (None, Some(entry)) => (
                    as_changed((*entry.description.preset).clone(), (*entry.spec).clone()),
                    entry.description.precision,
                ),
                (None, None) => return None,
            };
            let (preset, precision) = preset;
            Some(TitledSweep { name: entry.and_then(|entry| entry.description.name.clone()), preset, precision })
        };
        short_titles(&self.comparison.all.iter().copied().filter_map(titled).collect::<Vec<_>>())
    }

    /// Returns the present diagram and those beside it whose results are in memory, with their titles and in their
    /// order; none without one beside it.
    pub(super) fn compared(&self) -> Vec<(&TitledDiagram, String)> {
        if self.comparison.is_empty() {
            return Vec::new();
        }
        let all = self.comparison.all.iter().zip(self.titles_of_compared());
        let known: Vec<_> = all.filter_map(|(number, title)| Some((self.diagrams.diagram(*number)?, title))).collect();
        if known.len() > 1 { known } else { Vec::new() }
    }

    /// Shows the map of the present diagram, or of one beside it.
    pub(super) fn map(
        &mut self,
        ui: &mut Ui,
        margins: Margins,
        compared: Option<u64>,
        pointed: Option<PanelPixel>,
        simulation: &SimulationSpec,
        requests: &mut Requests,
    ) {
        let number = compared.unwrap_or(self.diagrams.present.number);
        let together = together(&self.diagrams, &self.comparison);
        let index = together.shown.iter().position(|shown| shown.number == number);
        let Some((index, shown)) = index.and_then(|index| Some((index, self.diagrams.diagram(number)?))) else {
            let fault = self.diagrams.library.get(number).and_then(|entry| entry.fault.clone());
            ui.centered_and_justified(|ui| ui.weak(fault.unwrap_or_else(|| "Reading the diagram…".to_owned())));
            return;
        };
        let (marks, stale) = (self.marks(compared, pointed), self.stale_note().filter(|_| compared.is_none()));
        let name = match self.comparison.compared().position(|other| Some(other) == compared) {
            None => "Diagram".to_owned(),
            Some(0) => "Diagram beside".to_owned(),
            Some(index) => format!("Diagram beside, {}", index + 1),
        };
        let picture = match compared {
            None => &mut self.picture,
            Some(number) => self.comparison.pictures.entry(number).or_default(),
        };
        picture.update(ui.ctx(), &together, index, self.style);
        let view = MapView { name: &name, diagram: &shown.diagram, picture, margins, is_stale: stale.is_some() };
        let frame = map_view::inside(ui, ui.available_rect_before_wrap(), margins);
        let marker = pixels::position_of(simulation, shown.spec());
        let response = map_view::show(ui, &view, marker, marks);
        self.take_response(response, compared, simulation, requests);
        if let Some(note) = stale {
            show_note(ui, frame, note);
        }
        if compared.is_none() {
            self.empty_map(ui, frame);
        }
    }

    /// Describes the settings of an outdated picture, if it is one.
    fn stale_note(&self) -> Option<String> {
        let seen = self.seen().filter(|_| !self.diagrams.present.is_example)?;
        // The picture is drawn by the displayed metric, whatever its diagram was computed for.
        let wanted = SweepSpec { metric: seen.metric, ..self.editor.draft.sweep.clone() };
        if seen.is_alike_but_for_colors(&wanted) {
            return None;
        }
        let different = difference(seen, &wanted);
        let before = if different.is_empty() { "what was set before".to_owned() } else { in_short(&different) };
        Some(format!("Still shows {before}"))
    }
}

/// Lists the diagrams that are shown together: the present one, and those beside it whose results are in memory.
pub(super) fn together<'a>(diagrams: &'a DiagramStore, comparison: &Comparison) -> Together<'a> {
    let number = diagrams.present.number;
    let shown = |number: u64| {
        let diagram = &diagrams.diagram(number)?.diagram;
        let is_present = number == diagrams.present.number;
        let version = if is_present { diagrams.version } else { diagram.complete() as u64 };
        Some(Shown { number, version, diagram })
    };
    let shown: Vec<Shown<'a>> = comparison.all.iter().copied().filter_map(shown).collect();
    let present = shown.iter().position(|shown| shown.number == number).unwrap_or_default();
    Together { shown, present }
}

/// Returns by how much a map of this size is too tall or too wide to be beside others: their pixels are about square.
fn excess(map: Vec2) -> Vec2 {
    const TALLEST: f32 = 1.1;
    const WIDEST: f32 = 1.5;
    vec2(map.x - WIDEST * map.y.max(0.0), map.y - TALLEST * map.x.max(0.0)).max(Vec2::ZERO)
}

/// The areas of maps side by side.
struct Arrangement {
    titles: Vec<LayoutJob>,
    /// The height of the titles above the maps.
    above: f32,
    /// The size of a map with its title.
    cell: Vec2,
    /// The part of a cell that its map leaves free.
    excess: Vec2,
    columns: usize,
    /// The spaces beside a map with a colour bar.
    margins: Margins,
    size: Vec2,
}

impl Arrangement {
    /// Returns whether the map at an index has the colour bar: the last one of the first row.
    fn has_bar(&self, index: usize) -> bool {
        index + 1 == self.columns.min(self.titles.len())
    }

    fn margins_of(&self, index: usize) -> Margins {
        if self.has_bar(index) { self.margins } else { self.margins.without_bar() }
    }

    fn areas(&self, from: Pos2, index: usize) -> [Rect; 2] {
        let offset = vec2((index % self.columns) as f32, (index / self.columns) as f32);
        let cell = Rect::from_min_size(from + offset * (self.cell + Vec2::splat(GAP)), self.cell);
        let bar = if self.has_bar(index) { self.margins.bar_width() } else { 0.0 };
        let title = cell.with_max_y(cell.top() + self.above);
        [title, Rect::from_min_max(cell.min + vec2(0.0, self.above), cell.max - self.excess + vec2(bar, 0.0))]
    }
}

/// Returns the size of so many equal cells in so many columns of an area.
fn cell_size(area: Vec2, count: usize, columns: usize) -> Vec2 {
    let counts = vec2(columns as f32, count.div_ceil(columns) as f32);
    (area - GAP * (counts - Vec2::splat(1.0))) / counts
}

/// Divides an area into columns of so many equal cells, as large as possible.
fn columns(area: Vec2, count: usize) -> usize {
    // Beside each other, maps need room for their labels.
    let room = |columns: usize| {
        let Vec2 { x, y } = cell_size(area, count, columns);
        let is_narrow = columns > 1 && x < NARROWEST && area.x <= area.y;
        if is_narrow { 0.0 } else { (x - 64.0).min(y - 70.0) }
    };
    (1..=count).max_by(|one, other| room(*one).total_cmp(&room(*other))).unwrap_or(1)
}

/// Lays out the title or the caption of a diagram in two lines at most.
pub(super) fn two_lines(ui: &Ui, text: String, color: Color32, width: f32) -> LayoutJob {
    let font = TextStyle::Small.resolve(ui.style());
    let mut job = LayoutJob::single_section(text, TextFormat::simple(font, color));
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

/// The largest number of diagrams beside the present one.
const MOST_COMPARED: usize = 5;

/// The diagrams that are shown side by side, in the order of choosing: the present one, and those of the library that are
/// compared with it.
pub(super) struct Comparison {
    pub all: Vec<u64>,
    /// The number of the present diagram when [`Comparison::show`] was last called.
    present: u64,
    pub pictures: BTreeMap<u64, MapPicture>,
}

impl Comparison {
    /// Returns the comparison of the present diagram with no other.
    pub(super) fn of(present: u64) -> Comparison {
        Comparison { all: vec![present], present, pictures: BTreeMap::new() }
    }

    pub(super) fn compared(&self) -> impl Iterator<Item = u64> {
        self.all.iter().copied().filter(|number| *number != self.present)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.compared().next().is_none()
    }

    pub(super) fn can_grow(&self) -> bool {
        self.compared().count() < MOST_COMPARED
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.compared().any(|other| other == number)
    }

    /// Returns the index of the present diagram among all.
    pub(super) fn index(&self) -> usize {
        self.all.iter().position(|number| *number == self.present).unwrap_or_default()
    }

    pub(super) fn add(&mut self, number: u64) {
        if !self.all.contains(&number) {
            self.all.push(number);
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.all.retain(|other| *other != number);
    }

    pub(super) fn clear(&mut self) {
        self.all = vec![self.present];
    }

    /// Adapts to another present diagram, and forgets diagrams that are gone.
    pub(super) fn follow(&mut self, present: u64, library: &Library) {
        self.show(present);
        self.all.retain(|number| *number == present || library.get(*number).is_some());
        self.pictures.retain(|number, _| *number != present && self.all.contains(number));
    }

    /// Adapts to another present diagram, which takes the place of the one before unless it is compared with it.
    pub(super) fn show(&mut self, present: u64) {
        if !self.all.contains(&present) {
            let index = self.index();
            self.all[index] = present;
        }
        self.present = present;
    }

    /// Returns the positions of the others in the library's order of creation, and the index of the present one.
    pub(super) fn to_memory(&self, library: &Library) -> (Vec<u64>, usize) {
        let order = |number| library.get(number).map(|entry| entry.description.order);
        (self.compared().filter_map(order).collect(), self.index())
    }

    /// Returns the comparison of a former session.
    pub(super) fn of_memory(orders: &[u64], index: usize, present: u64, library: &Library) -> Comparison {
        let has_order = |number: &u64, order| library.get(*number).is_some_and(|it| it.description.order == order);
        let number = |order: &u64| library.numbers().into_iter().find(|number| has_order(number, *order));
        let mut all: Vec<u64> = orders.iter().filter_map(number).take(MOST_COMPARED).collect();
        all.retain(|number| *number != present);
        all.insert(index.min(all.len()), present);
        Comparison { all, ..Comparison::of(present) }
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison;
    use crate::app::phase::library::Library;

    #[test]
    fn showing_one_of_those_beside_keeps_the_order_of_all() {
        let library = Library::open(None, egui::Context::default());
        let mut comparison = Comparison::of(1);
        comparison.all.extend([2, 3]);
        comparison.show(3);
        assert_eq!((&comparison.all[..], comparison.compared().collect()), (&[1, 2, 3][..], vec![1, 2]));
        comparison.remove(1);
        assert_eq!((&comparison.all[..], comparison.index()), (&[2, 3][..], 1));
        comparison.follow(3, &library);
        assert_eq!(comparison.all, [3], "those that are gone are forgotten");
    }
}
