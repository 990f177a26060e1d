//! Options of the map: its quantity, legend, exports, and the menu of earlier diagrams.

use std::sync::Arc;

use egui::text::LayoutJob;
use egui::{
    Button, Color32, ComboBox, DragValue, Galley, Label, RichText, Sense, TextFormat, TextStyle, Ui, WidgetText,
};
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use super::export::ExportKind;
use super::panel::{Hovered, PhasePanel};
use super::readout;
use super::titled_diagram::TitledDiagram;
use crate::app::controls::{COLOR_HINT, color_menu};
use crate::app::figure_layout::stays_open;
use crate::app::live::Requests;
use crate::figure::{COLUMN_MM, Map, PAGE_MM, Swatch, difference};

/// The largest width of a line in the menu of earlier diagrams, in points.
const MENU_LINE: f32 = 360.0;

impl PhasePanel {
    pub(super) fn map_options(&mut self, ui: &mut Ui, requests: &mut Requests) {
        ui.add_space(4.0);
        if !self.metrics().contains(&self.look.metric) {
            self.look.metric = Metric::default();
        }
        self.map_choice(ui);
        ui.horizontal_wrapped(|ui| {
            ui.label("By");
            for metric in self.metrics() {
                let name = metric.label(&self.diagrams.present.spec().landscape);
                ui.selectable_value(&mut self.look.metric, metric, name);
            }
        });
        ui.horizontal_wrapped(|ui| {
            self.export_menu(ui, requests);
            self.diagrams_menu(ui);
        });
        self.raw.bar(ui, &self.diagrams);
        self.legend(ui);
    }

    /// Shows the meaning of the colours. A right click on a winner's chooses its colour.
    fn legend(&mut self, ui: &mut Ui) {
        let Some(color_key) = self.picture.color_key.as_ref().filter(|color_key| !color_key.legend.is_empty()) else {
            return;
        };
        let winners = match self.look.map {
            Map::Winner { .. } => &self.diagrams.present.spec().optimizers[..],
            _ => &[],
        };
        let sweep = &mut self.editor.draft.sweep;
        ui.horizontal_wrapped(|ui| {
            for (index, swatch) in color_key.legend.iter().enumerate() {
                let job = entry(ui, swatch);
                let fits = ui.painter().layout_job(job.clone()).size().x < ui.max_rect().width();
                let label = Label::new(job).sense(Sense::CLICK);
                let response = ui.add(if fits { label.extend() } else { label });
                let own = winners.get(index).and_then(|it| sweep.optimizers.iter_mut().find(|own| own.id == it.id));
                if let (Some(own), Some(color)) = (own, swatch.color) {
                    let response = response.on_hover_text(COLOR_HINT);
                    own.color = color_menu(&response, &swatch.text, color, own.color.is_some()).unwrap_or(own.color);
                }
            }
        });
    }

    /// Returns the metrics that the landscapes of the displayed diagram and of the controls have.
    fn metrics(&self) -> Vec<Metric> {
        let draft = self.preset().sweep.landscape;
        Metric::of(&self.diagrams.present.spec().landscape).filter(|metric| metric.is_of(&draft)).collect()
    }

    fn map_choice(&mut self, ui: &mut Ui) {
        let diagram = &self.diagrams.present.diagram;
        let metric = self.look.metric;
        ui.horizontal(|ui| {
            ui.label("Map");
            let name = name_of(self.look.map, diagram, metric);
            let combo = ComboBox::from_id_salt("map").selected_text(name).truncate().height(500.0);
            let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
                for map in maps(diagram) {
                    ui.selectable_value(&mut self.look.map, map, name_of(map, diagram, metric));
                }
            });
            shown.response.accessible_name("What the map shows");
        });
    }

    fn export_menu(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let mut asked = None;
        stays_open("Export").ui(ui, |ui| {
            self.layout.figure_layout.ui(ui);
            let pairs = ui.checkbox(&mut self.layout.pairs, "All pairs of optimizers, instead of the map shown");
            if pairs.changed() {
                // Maps side by side need a page's width, unless another was chosen.
                let [usual, other] = if self.layout.pairs { [PAGE_MM, COLUMN_MM] } else { [COLUMN_MM, PAGE_MM] };
                let width = &mut self.layout.figure_layout.options.width_mm;
                *width = if *width == other { usual } else { *width };
            }
            ui.separator();
            for (kind, label) in ExportKind::ALL {
                if kind == ExportKind::Csv || kind == ExportKind::Clipboard {
                    ui.separator();
                }
                if ui.button(label).clicked() {
                    asked = Some(kind);
                    ui.close();
                }
                if kind == ExportKind::Npz {
                    self.raw.entry(ui, &self.diagrams, requests);
                }
            }
        });
        if let Some(kind) = asked {
            self.export(ui.ctx(), self.diagrams.present.clone(), kind);
        }
    }

    /// Shows the menu of earlier diagrams, to compare with or to restore.
    fn diagrams_menu(&mut self, ui: &mut Ui) {
        let help = "Earlier diagrams, to compare side by side.";
        let has_some = !self.diagrams.kept.is_empty();
        let mut back = None;
        ui.add_enabled_ui(has_some, |ui| {
            stays_open("Compare").ui(ui, |ui| {
                if ui.radio(self.beside.is_none(), "Only this diagram").clicked() {
                    self.beside = None;
                }
                for kept in &self.diagrams.kept {
                    let [rows, columns] = kept.diagram.spec().shape();
                    let unfinished = if kept.diagram.is_complete() { "" } else { ", unfinished" };
                    let label = format!("{} ({rows} × {columns}{unfinished})", kept.preset.title);
                    let difference = difference_in_short(kept, &self.diagrams.present);
                    let beside = wrapped(ui, format!("Beside: {label}{difference}"));
                    ui.horizontal(|ui| {
                        if ui.radio(self.beside == Some(kept.number), WidgetText::from(beside)).clicked() {
                            self.beside = Some(kept.number);
                        }
                        let again = Button::new("Show").small();
                        let again = ui.add(again).on_hover_text("Replace the present diagram, which is kept");
                        if again.accessible_name(format!("Show {label}{difference}")).clicked() {
                            back = Some(kept.number);
                            ui.close();
                        }
                    });
                }
            });
        })
        .response
        .on_hover_text(help);
        if let Some(number) = back {
            self.show_kept(number);
        }
    }

    pub(super) fn readout(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let shape = self.diagrams.present.diagram.spec().shape();
        self.chosen = self.chosen.map(|chosen| [0, 1].map(|side| chosen[side].min(shape[side] - 1)));
        self.pixel_choice(ui, shape);
        if self.chosen.is_some() {
            let dimension = self.diagrams.present.diagram.spec().dimension.get();
            let button = ui.add_enabled(dimension == 2, Button::new("Show this landscape"));
            let button = button
                .on_hover_text("Plays the landscape of this pixel, each optimizer at its best learning rate")
                .on_disabled_hover_text("Landscapes have two dimensions; this diagram has more.");
            if button.clicked() {
                self.show_landscape(requests);
            }
            ui.add_space(4.0);
        }
        let beside = self.beside.and_then(|number| self.diagrams.kept(number));
        let (diagram, pixel) = match (self.hovered, beside) {
            (Some(Hovered { pixel, is_beside: true }), Some(beside)) => {
                ui.label(RichText::new(title_against(beside, &self.diagrams.present)).small().weak());
                (&beside.diagram, Some(pixel))
            }
            (hovered, _) => {
                let pixel = hovered.filter(|hovered| !hovered.is_beside).map(|hovered| hovered.pixel);
                (&self.diagrams.present.diagram, pixel.or(self.chosen))
            }
        };
        // The diagram may have been replaced by one of another size since the pointer was read.
        let shape = diagram.spec().shape();
        let Some(pixel) = pixel.filter(|pixel| pixel[0] < shape[0] && pixel[1] < shape[1]) else {
            let text = "Point at the diagram to see a pixel's scores. Click it to play its landscape, click it with \
                        the other button to keep it here.";
            ui.add(Label::new(RichText::new(text).weak()).wrap());
            return;
        };
        readout::show(ui, diagram, pixel, self.metric());
    }

    /// Shows controls that choose a pixel without a pointer.
    fn pixel_choice(&mut self, ui: &mut Ui, shape: [usize; 2]) {
        ui.horizontal_wrapped(|ui| {
            // The pixel of the readout below: the one under the pointer, or the chosen one.
            let hovered = self.hovered.filter(|hovered| !hovered.is_beside).map(|hovered| hovered.pixel);
            let mut chosen = hovered.or(self.chosen).unwrap_or([0; 2]);
            let mut changed = false;
            let sides = [("Pixel: row", "Row of the pixel"), ("column", "Column of the pixel")];
            for ((label, name), (index, count)) in sides.into_iter().zip(chosen.iter_mut().zip(shape)) {
                ui.label(label);
                let drag = DragValue::new(index).range(0..=count - 1).speed(0.2);
                changed |= ui.add(drag).accessible_name(name).changed();
            }
            if changed {
                self.chosen = Some(chosen);
            }
            if self.chosen.is_some() && ui.button("Clear").on_hover_text("Choose no pixel").clicked() {
                self.chosen = None;
            }
        });
    }
}

/// Lays out a menu entry in as many lines as it needs.
fn wrapped(ui: &Ui, text: String) -> Arc<Galley> {
    let format = TextFormat::simple(TextStyle::Button.resolve(ui.style()), Color32::PLACEHOLDER);
    let mut job = LayoutJob::single_section(text, format);
    job.wrap.max_width = MENU_LINE;
    ui.painter().layout_job(job)
}

/// Lists the differences between two diagrams, followed after a colon by other changes of the preset; empty without
/// any.
fn difference_in_short(this: &TitledDiagram, other: &TitledDiagram) -> String {
    // Maps are drawn by the displayed metric, whatever they were computed for.
    let from = |other: &SweepSpec| {
        let other = SweepSpec { metric: this.spec().metric, ..other.clone() };
        difference(this.spec(), &other)
    };
    let mut all = from(other.spec());
    if this.precision != other.precision {
        all.insert(0, this.precision.name().to_owned());
    }
    for changed in from(&this.preset.sweep) {
        if !all.contains(&changed) {
            all.push(changed);
        }
    }
    if all.is_empty() { String::new() } else { format!(": {}", in_short(&all)) }
}

/// Formats the first of several differences, and the number of others.
pub(super) fn in_short(all: &[String]) -> String {
    const MOST: usize = 3;
    match all.len() {
        count if count <= MOST => all.join(", "),
        count => format!("{} and {} more", all[..MOST].join(", "), count - MOST),
    }
}

/// Returns the title of a diagram that is compared with another.
pub(super) fn title_against(this: &TitledDiagram, other: &TitledDiagram) -> String {
    format!("{}{}", this.preset.title, difference_in_short(this, other))
}

/// Lays out a colour and its name as one text, so that a narrow panel breaks the line between entries.
fn entry(ui: &Ui, swatch: &Swatch) -> LayoutJob {
    let font = TextStyle::Small.resolve(ui.style());
    let mut job = LayoutJob::default();
    if let Some([red, green, blue]) = swatch.color {
        job.append("■ ", 0.0, TextFormat::simple(font.clone(), Color32::from_rgb(red, green, blue)));
    }
    job.append(&swatch.text, 0.0, TextFormat::simple(font, ui.visuals().text_color()));
    job
}

/// Returns all maps of a diagram.
fn maps(diagram: &Diagram) -> Vec<Map> {
    let count = diagram.spec().optimizers.len();
    let mut maps = vec![Map::Winner { certainty: true }, Map::Winner { certainty: false }];
    maps.extend((0..count).map(Map::Score));
    maps.extend((0..count).map(Map::BestRate));
    maps.extend((0..count).map(Map::Spread));
    maps.extend((0..count).flat_map(|one| (one + 1..count).map(move |other| Map::Difference(one, other))));
    maps
}

/// Returns the name of a map.
pub(super) fn name_of(map: Map, diagram: &Diagram, metric: Metric) -> String {
    match map.subject(diagram) {
        Some(subject) => format!("{subject}: {}", map.quantity(&diagram.spec().landscape, metric)),
        None if map == (Map::Winner { certainty: true }) => "Winner, paler where less certain".to_owned(),
        None => "Winner".to_owned(),
    }
}
