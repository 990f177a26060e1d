//! Options of the map: its quantity, legend and exports.

use egui::text::LayoutJob;
use egui::{Button, Checkbox, Color32, ComboBox, DragValue, Label, RichText, Sense, TextFormat, TextStyle, Ui};
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use super::differences::differences;
use super::export::ExportKind;
use super::panel::PhasePanel;
use super::readout;
use super::titled_diagram::TitledDiagram;
use crate::app::controls::{COLOR_HINT, color_menu};
use crate::app::figure_layout::stays_open;
use crate::app::live::{Action, Requests};
use crate::figure::{COLUMN_MM, Map, PAGE_MM, Swatch, difference, settings_among};

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
            self.letters_choice(ui);
            self.differences_button(ui, requests);
        });
        self.raw.bar(ui, &self.diagrams);
        self.legend(ui);
    }

    /// Shows the colours of all maps, each once. A right click on the colour of a winner of the present diagram chooses
    /// another.
    fn legend(&mut self, ui: &mut Ui) {
        let winners = self.picture.spec().filter(|_| matches!(self.look.map, Map::Winner { .. }));
        let winner = |index: usize| winners.and_then(|spec| spec.optimizers.get(index)).map(|optimizer| optimizer.id);
        let present = self.picture.color_key.iter().flat_map(|key| &key.legend);
        let present = present.enumerate().map(|(index, swatch)| (swatch, winner(index)));
        let beside = self.beside.iter().filter_map(|number| self.pictures_beside.get(number)?.color_key.as_ref());
        let beside = beside.flat_map(|key| &key.legend).map(|swatch| (swatch, None));
        let mut legend: Vec<(&Swatch, Option<u32>)> = Vec::new();
        for (swatch, winner) in present.chain(beside) {
            if legend.iter().all(|(known, _)| *known != swatch) {
                legend.push((swatch, winner));
            }
        }
        if legend.is_empty() {
            return;
        }
        // Notes stand behind the colours that they explain.
        legend.sort_by_key(|(swatch, _)| swatch.color.is_none());
        let optimizers = &mut self.editor.draft.sweep.optimizers;
        ui.horizontal_wrapped(|ui| {
            for (swatch, winner) in legend {
                let job = entry(ui, swatch);
                let fits = ui.painter().layout_job(job.clone()).size().x < ui.max_rect().width();
                let label = Label::new(job).sense(Sense::CLICK);
                let response = ui.add(if fits { label.extend() } else { label });
                let own = winner.and_then(|id| optimizers.iter_mut().find(|own| own.id == id));
                if let (Some(own), Some(color)) = (own, swatch.color) {
                    let response = response.on_hover_text(COLOR_HINT);
                    own.color = color_menu(&response, &swatch.text, color, own.color.is_some()).unwrap_or(own.color);
                }
            }
        });
    }

    fn letters_choice(&mut self, ui: &mut Ui) {
        if matches!(self.look.map, Map::Winner { .. }) {
            let help = "Draws borders around the winners' regions and a letter in each, in the window and in figures: for \
                        readers who see colours differently, and for prints in grey.";
            ui.checkbox(&mut self.look.letters, "Letters").on_hover_text(help);
        }
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
                let is_margin = matches!(self.look.map, Map::Difference(..));
                let help = "The signed difference of two optimizers' scores: positive where the first is better.";
                if ui.selectable_label(is_margin, MARGIN).on_hover_text(help).clicked() && !is_margin {
                    self.look.map = Map::Difference(0, 1);
                }
            });
            shown.response.accessible_name("What the map shows");
        });
        if let Map::Difference(one, other) = self.look.map {
            let names = diagram.spec().shown_names();
            self.look.map = margin_choice(ui, &names, [one, other]);
        }
    }

    fn export_menu(&mut self, ui: &mut Ui, requests: &mut Requests) {
        let mut asked = None;
        stays_open("Export").ui(ui, |ui| {
            self.layout.figure_layout.ui(ui);
            let count = self.compared().len();
            if count > 1 {
                ui.weak(format!("Figures show the {count} diagrams side by side."));
            }
            let pairs = Checkbox::new(&mut self.layout.pairs, "All pairs of optimizers, instead of the map shown");
            if ui.add_enabled(count == 0, pairs).changed() {
                self.fit_figure_width(self.layout.pairs);
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

    /// Gives figures a page's width for maps side by side, or else a column's, unless another was chosen.
    pub(super) fn fit_figure_width(&mut self, is_wide: bool) {
        let [usual, other] = if is_wide { [PAGE_MM, COLUMN_MM] } else { [COLUMN_MM, PAGE_MM] };
        let width = &mut self.layout.figure_layout.options.width_mm;
        *width = if *width == other { usual } else { *width };
    }

    /// Shows the button that lists the differences between the diagrams side by side.
    fn differences_button(&self, ui: &mut Ui, requests: &mut Requests) {
        let button = ui.add_enabled(!self.beside.is_empty(), Button::new("Differences"));
        let button = button.on_hover_text("List the settings in which the diagrams side by side differ");
        let button = button.on_disabled_hover_text("Choose a kept diagram to compare with first.");
        if button.clicked() {
            let compared = self.compared();
            let table = differences(&compared.iter().map(|(titled, _)| *titled).collect::<Vec<_>>());
            requests.actions.push(Action::ShowDifferences(Box::new(table)));
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
        let beside = self.hovered.and_then(|hovered| Some((hovered.pixel, self.diagrams.diagram(hovered.beside?)?)));
        let (diagram, pixel) = match beside {
            Some((pixel, beside)) => {
                let title = title_among(beside, &[&self.diagrams.present]);
                ui.label(RichText::new(title).small().weak());
                (&beside.diagram, Some(pixel))
            }
            None => {
                let pixel = self.hovered.filter(|hovered| hovered.beside.is_none()).map(|hovered| hovered.pixel);
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
            let hovered = self.hovered.filter(|hovered| hovered.beside.is_none()).map(|hovered| hovered.pixel);
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

/// Shows the choice of two optimizers whose scores are subtracted; returns the map.
fn margin_choice(ui: &mut Ui, names: &[String], [one, other]: [usize; 2]) -> Map {
    let mut chosen = [one, other];
    for (place, (word, name)) in [("of", "Optimizer ahead"), ("over", "Optimizer behind")].into_iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(word);
            let combo = ComboBox::from_id_salt(name).selected_text(&names[chosen[place]]).truncate();
            let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
                for (index, name) in names.iter().enumerate() {
                    ui.selectable_value(&mut chosen[place], index, name);
                }
            });
            shown.response.accessible_name(name);
        });
    }
    match chosen {
        // One that is chosen in the place of the other changes places with it.
        [same, again] if same == again => Map::Difference(other, one),
        [one, other] => Map::Difference(one, other),
    }
}

/// Formats the first of several differences, and the number of others.
pub(super) fn in_short(all: &[String]) -> String {
    const MOST: usize = 3;
    match all.len() {
        count if count <= MOST => all.join(", "),
        count => format!("{} and {} more", all[..MOST].join(", "), count - MOST),
    }
}

/// Returns the title of a diagram that is compared with others: the preset's, unless an axis was changed since, and the
/// settings in which the diagrams differ.
pub(super) fn title_among(this: &TitledDiagram, others: &[&TitledDiagram]) -> String {
    let (spec, preset) = (this.spec(), &this.preset);
    let sweeps: Vec<&SweepSpec> = others.iter().map(|other| &**other.spec()).collect();
    let mut settings = settings_among(spec, &sweeps);
    if others.iter().any(|other| other.precision != this.precision) {
        settings.insert(0, this.precision.name().to_owned());
    }
    if settings.is_empty() {
        settings = difference(spec, &SweepSpec { metric: spec.metric, ..preset.sweep.clone() });
    }
    let has_axes_of_preset = spec.rows.of == preset.sweep.rows.of && spec.columns.of == preset.sweep.columns.of;
    match settings.is_empty() {
        true => preset.title.clone(),
        false if has_axes_of_preset => format!("{}: {}", preset.title, in_short(&settings)),
        false => in_short(&settings),
    }
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

/// The name of the maps of the differences between two optimizers.
const MARGIN: &str = "Margin between two optimizers";

/// Returns all maps of a diagram except those of differences.
fn maps(diagram: &Diagram) -> Vec<Map> {
    let count = diagram.spec().optimizers.len();
    let mut maps = vec![Map::Winner { certainty: true }, Map::Winner { certainty: false }];
    maps.extend((0..count).map(Map::Score));
    maps.extend((0..count).map(Map::BestRate));
    maps.extend((0..count).map(Map::Spread));
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
