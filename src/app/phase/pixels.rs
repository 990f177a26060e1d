//! The pixels that are pointed at and chosen, in the present diagram and in those beside it.

use egui::{Button, DragValue, Label, RichText, Ui};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Axis, SweepSpec};
use valleyscope_experiments::preset::Preset;

use super::axes::MapSide;
use super::map_view::{MapMarks, MapResponse};
use super::panel::PhasePanel;
use super::titled_diagram::TitledDiagram;
use super::{pixel_landscape, readout};
use crate::app::live::{Action, LandscapeAction, Requests};
use crate::figure::shared_optimizers;

/// A pixel of the present diagram or of one beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PanelPixel {
    pub pixel: [usize; 2],
    /// The number of the diagram beside the present one to which it belongs; none for the present one.
    pub beside: Option<u64>,
}

impl PhasePanel {
    /// Returns the diagram with this number beside the present one, if its results are in memory, or the present one.
    fn diagram_of(&self, beside: Option<u64>) -> Option<&TitledDiagram> {
        beside.map_or(Some(&self.diagrams.present), |number| self.diagrams.diagram(number))
    }

    /// Returns a pixel within its diagram, which may have been replaced by one of another size.
    fn within(&self, pixel: PanelPixel) -> Option<PanelPixel> {
        let shape = self.diagram_of(pixel.beside)?.spec().shape();
        Some(PanelPixel { pixel: [0, 1].map(|side| pixel.pixel[side].min(shape[side] - 1)), ..pixel })
    }

    /// Returns the marks on the map of a diagram: the chosen pixel and the one under the pointer, which may both be in
    /// another diagram.
    pub(super) fn marks(&self, beside: Option<u64>, pointed: Option<PanelPixel>) -> MapMarks {
        let here = |pixel: Option<PanelPixel>| {
            let pixel = self.within(pixel?)?;
            if pixel.beside == beside {
                return Some(pixel.pixel);
            }
            let [from, to] = [pixel.beside, beside].map(|number| self.diagram_of(number));
            same_pixel(from?.spec(), to?.spec(), pixel.pixel)
        };
        let pointed = if self.comparison.is_empty() { None } else { here(pointed) };
        MapMarks { chosen: here(self.chosen), pointed }
    }

    /// Executes the actions of the pointer and the keys on the map of a diagram.
    pub(super) fn take_response(
        &mut self,
        response: MapResponse,
        beside: Option<u64>,
        simulation: &SimulationSpec,
        requests: &mut Requests,
    ) {
        let Some(titled) = self.diagram_of(beside) else { return };
        let MapResponse { hovered, clicked, kept, moved, dragged } = response;
        // In a coarse picture, the pixel that represents the place.
        let known = |pixel: Option<[usize; 2]>| pixel.map(|pixel| titled.diagram.known_near(pixel).unwrap_or(pixel));
        let (clicked, kept) = (known(clicked), known(kept));
        if let Some(values) = dragged {
            let (mut moved, spec) = (simulation.clone(), titled.spec());
            for (of, value) in [&spec.rows.of, &spec.columns.of].into_iter().zip(values) {
                pixel_landscape::set_value(&mut moved, spec, of, value);
            }
            requests.actions.push(Action::Landscape(LandscapeAction::Set(Box::new(moved))));
        }
        let here = |pixel: [usize; 2]| PanelPixel { pixel, beside };
        self.hovered = hovered.map(here).or(self.hovered);
        self.chosen = moved.or(kept).or(clicked).map(here).or(self.chosen);
        if clicked.is_some() {
            self.show_landscape(requests);
        }
    }

    /// Requests the landscape of the chosen pixel.
    fn show_landscape(&self, requests: &mut Requests) {
        let Some(PanelPixel { pixel, beside }) = self.chosen.and_then(|chosen| self.within(chosen)) else { return };
        let Some(titled) = self.diagram_of(beside) else { return };
        let diagram = &titled.diagram;
        let Some(pixel) = diagram.known_near(pixel) else { return };
        let Some(cell) = diagram.cell(pixel) else { return };
        match pixel_landscape::landscape(diagram, &titled.title(), pixel, cell, self.look.metric) {
            Some(preset) => {
                requests.actions.push(Action::Open(Box::new(Preset::Landscape(preset))));
            }
            None => {
                let text = "A landscape has two dimensions; this pixel has more.".to_owned();
                requests.actions.push(Action::Notify(text));
            }
        }
    }

    /// Shows the results of the pixel under the pointer, or else of the chosen one.
    pub(super) fn readout(&mut self, ui: &mut Ui, requests: &mut Requests) {
        self.chosen = self.chosen.and_then(|chosen| self.within(chosen));
        let read = self.hovered.and_then(|hovered| self.within(hovered)).or(self.chosen);
        self.pixel_choice(ui, read);
        if let Some(titled) = self.chosen.and_then(|chosen| self.diagram_of(chosen.beside)) {
            let dimension = titled.spec().dimension.get();
            let button = ui.add_enabled(dimension == 2, Button::new("Show this landscape"));
            let button = button
                .on_hover_text("Plays the landscape of this pixel, each optimizer at its best settings")
                .on_disabled_hover_text("Landscapes have two dimensions; this diagram has more.");
            if button.clicked() {
                self.show_landscape(requests);
            }
            ui.add_space(4.0);
        }
        let Some(PanelPixel { pixel, beside }) = read else {
            let text = "Point at the diagram to see a pixel's scores. Click it to play its landscape, click it with \
                        the other button to keep it here.";
            ui.add(Label::new(RichText::new(text).weak()).wrap());
            return;
        };
        let Some(titled) = self.diagram_of(beside) else { return };
        let compared = self.compared();
        if let Some((_, title)) = compared.iter().find(|(other, _)| other.number == titled.number) {
            ui.add(Label::new(RichText::new(title).small().weak()).wrap());
        }
        let mut specs: Vec<(u64, &SweepSpec)> =
            compared.iter().map(|(other, _)| (other.number, &**other.spec())).collect();
        if specs.is_empty() {
            specs.push((titled.number, titled.spec()));
        }
        let optimizers = shared_optimizers(&specs.iter().map(|(_, spec)| *spec).collect::<Vec<_>>());
        let index = specs.iter().position(|(number, _)| *number == titled.number).unwrap_or_default();
        let colors: Vec<[u8; 3]> = optimizers[index].iter().map(|optimizer| optimizer.color).collect();
        let mut over = self.over;
        readout::show(ui, &titled.diagram, pixel, self.metric(), &colors, &mut over);
        self.over = over;
    }

    /// Shows controls that choose a pixel without a pointer: in the diagram of the pixel that is read out.
    fn pixel_choice(&mut self, ui: &mut Ui, read: Option<PanelPixel>) {
        let is_none = read.is_none();
        let PanelPixel { pixel: mut chosen, beside } = read.unwrap_or(PanelPixel { pixel: [0; 2], beside: None });
        let Some(shape) = self.diagram_of(beside).map(|titled| titled.spec().shape()) else { return };
        ui.horizontal_wrapped(|ui| {
            let mut changed = false;
            let sides = [("Pixel: row", "Row of the pixel"), ("column", "Column of the pixel")];
            for ((label, name), (index, count)) in sides.into_iter().zip(chosen.iter_mut().zip(shape)) {
                ui.label(label);
                let drag = DragValue::new(index).range(0..=count - 1).speed(0.2);
                let drag = if is_none { drag.custom_formatter(|_, _| "–".to_owned()) } else { drag };
                changed |= ui.add(drag).accessible_name(name).changed();
            }
            if changed {
                self.chosen = Some(PanelPixel { pixel: chosen, beside });
            }
            if self.chosen.is_some() && ui.button("Clear").on_hover_text("Choose no pixel").clicked() {
                self.chosen = None;
            }
        });
    }
}

/// Returns the pixel of another sweep that corresponds to one of a sweep: that with the same values of row and column
/// where both vary the same quantities, else that in the same row and column where both have the same size.
fn same_pixel(from: &SweepSpec, to: &SweepSpec, pixel: [usize; 2]) -> Option<[usize; 2]> {
    let [row, column] = pixel;
    let values = [*from.rows.values().get(row)?, *from.columns.values().get(column)?];
    let is_of_same = from.rows.of == to.rows.of && from.columns.of == to.columns.of;
    if is_of_same { pixel_of(to, from, values) } else { (from.shape() == to.shape()).then_some(pixel) }
}

/// Returns the pixel with these values of row and column, if two sweeps have the same axes.
pub(super) fn pixel_of(sweep: &SweepSpec, other: &SweepSpec, [row, column]: [f64; 2]) -> Option<[usize; 2]> {
    let index = |axis: &Axis, other: &Axis, value: f64| {
        let position = MapSide(axis).position(value);
        (axis.of == other.of && (0.0..=1.0).contains(&position)).then(|| MapSide(axis).index(position))
    };
    Some([index(&sweep.rows, &other.rows, row)?, index(&sweep.columns, &other.columns, column)?])
}
