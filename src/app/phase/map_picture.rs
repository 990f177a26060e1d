//! The picture of a map, made on a thread of its own, and the options that determine it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::text::LayoutJob;
use egui::{
    Button, Checkbox, ColorImage, ComboBox, Context, Label, Sense, TextFormat, TextStyle, TextureHandle,
    TextureOptions, Ui,
};
use valleyscope_engine::sweep::{Diagram, Metric, SweepSpec};

use super::PhasePanel;
use super::diagram::{MapStyle, differences};
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::jobs::Job;
use crate::app::widgets::form::Outlined;
use crate::app::widgets::icons::{COLOR_HINT, color_menu};
use crate::app::widgets::theme;
use crate::draw::{
    ColorBar, LetteredRegions, Letters, Map, MapColors, MapImage, Scale, Swatch, rgb, shared_optimizers,
};

/// The explanation of the colours.
pub(super) struct ColorKey {
    pub scale: Option<Scale>,
    pub legend: Vec<Swatch>,
    /// The label of the scale.
    pub label: String,
    /// The optimizers that the map shows.
    pub subject: Option<String>,
    pub regions: Option<LetteredRegions>,
}

impl ColorKey {
    /// Returns the colour bar of a map that shows values.
    pub(super) fn bar(&self) -> Option<ColorBar> {
        let scale = self.scale.clone()?;
        Some(ColorBar { scale, label: self.label.clone() })
    }
}

/// A diagram of several that are shown together, and its version.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub number: u64,
    pub version: u64,
    pub diagram: &'a Diagram,
}

/// The diagrams that are shown together, and the index of the present one, whose style the others take over.
pub(super) struct Together<'a> {
    pub shown: Vec<Shown<'a>>,
    pub present: usize,
}

/// The state that a texture shows: the style, the numbers and versions of all diagrams, and the colour of unknown
/// cells.
#[derive(PartialEq)]
struct Wanted {
    style: MapStyle,
    together: Vec<[u64; 2]>,
    present: usize,
    unknown: [u8; 3],
}

/// A finished picture, and what it shows.
struct Painted {
    image: MapImage,
    color_key: ColorKey,
    spec: Arc<SweepSpec>,
    blocks: Option<usize>,
}

/// The texture of a map, renewed when the diagram or the style has changed.
#[derive(Default)]
pub(super) struct MapPicture {
    pub texture: Option<TextureHandle>,
    /// The sweep that the texture shows.
    pub spec: Option<Arc<SweepSpec>>,
    /// The side of the smallest blocks that the texture shows completely, in pixels of the diagram.
    pub blocks: Option<usize>,
    pub color_key: Option<ColorKey>,
    /// The state that the newest texture shows, which may still be in progress.
    wanted: Option<Wanted>,
    pending: Option<Job<Painted>>,
    asked: Option<Instant>,
}

/// The smallest time between pictures of a diagram that fills in.
const LEAST_INTERVAL: Duration = Duration::from_millis(60);
/// The additional time between pictures for each cell, which is copied for the drawing thread.
const PER_CELL: Duration = Duration::from_nanos(1000);

impl MapPicture {
    /// Returns the sweep of the visible picture, or without a picture that of the diagram which it will show. Axes are
    /// those of the picture, as the diagram may be replaced before its own picture is drawn.
    pub(super) fn spec_or<'a>(&'a self, diagram: &'a Diagram) -> &'a SweepSpec {
        self.spec.as_ref().unwrap_or(diagram.spec())
    }

    /// Takes a finished picture of one of the diagrams that are shown together, and requests another where it is
    /// outdated.
    pub(super) fn update(&mut self, ctx: &Context, together: &Together<'_>, index: usize, style: MapStyle) {
        if let Some(Ok(Painted { image, color_key, spec, blocks })) = Job::take(&mut self.pending) {
            self.show(ctx, &image);
            (self.color_key, self.spec, self.blocks) = (Some(color_key), Some(spec), blocks);
        }
        if self.pending.is_some() {
            return;
        }
        let &Together { ref shown, present } = together;
        let versions = shown.iter().map(|shown| [shown.number, shown.version]).collect();
        let wanted = Wanted { style, together: versions, present, unknown: theme::not_computed(ctx.theme()) };
        if self.wanted.as_ref() == Some(&wanted) {
            return;
        }
        let same_look = self.wanted.as_ref().is_some_and(|before| {
            (before.style, before.unknown, before.together.len()) == (style, wanted.unknown, shown.len())
        });
        let cells: usize = shown.iter().map(|shown| shown.diagram.cell_count()).sum();
        let between = LEAST_INTERVAL + PER_CELL * u32::try_from(cells).unwrap_or(u32::MAX);
        if let Some(asked) = self.asked.filter(|_| same_look)
            && let Some(wait) = between.checked_sub(asked.elapsed())
        {
            ctx.request_repaint_after(wait);
            return;
        }
        let unknown = wanted.unknown;
        self.wanted = Some(wanted);
        self.asked = Some(Instant::now());
        let diagrams: Vec<Diagram> = shown.iter().map(|shown| shown.diagram.clone()).collect();
        self.pending = Some(Job::start(ctx, move |_| {
            let (image, color_key) = draw(&diagrams, [index, present], style, unknown);
            let (spec, blocks) = (Arc::clone(diagrams[index].spec()), diagrams[index].finest_blocks());
            Painted { image, color_key, spec, blocks }
        }));
    }

    fn show(&mut self, ctx: &Context, image: &MapImage) {
        let MapImage { width, height, rgba } = image.thinned(ctx.input(|input| input.max_texture_side));
        let image = ColorImage::from_rgba_unmultiplied([width, height], &rgba);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            None => self.texture = Some(ctx.load_texture("phase diagram", image, TextureOptions::NEAREST)),
        }
    }
}

/// Draws the map of one of several diagrams, in the colours and with the letters that they share. The style is that of
/// the diagram at the index `of`.
fn draw(diagrams: &[Diagram], [index, of]: [usize; 2], style: MapStyle, unknown: [u8; 3]) -> (MapImage, ColorKey) {
    let filled: Vec<Diagram> = diagrams.iter().map(Diagram::filled).collect();
    let specs: Vec<&SweepSpec> = diagrams.iter().map(|diagram| &**diagram.spec()).collect();
    let (diagram, metric) = (&filled[index], style.metric);
    let map = style.map.carried_over(specs[of], diagram);
    let scale = map.shared_scale(&filled.iter().collect::<Vec<_>>(), metric);
    let mut optimizers = shared_optimizers(&specs);
    let letters = Letters::of(optimizers.iter().flatten());
    let colors = MapColors { winners: optimizers.swap_remove(index), scale, unknown };
    let image = map.image_with(diagram, metric, &colors);
    let mut legend = map.legend_with(diagram, metric, &colors);
    let regions = (style.letters && map.winners_with_certainty().is_some()).then(|| {
        letters.explain(&mut legend);
        let regions =
            LetteredRegions::new(&map.winners(diagram, metric), &image, letters.of_optimizers(&colors.winners));
        legend.extend(regions.has_specks().then(Letters::note_of_specks));
        regions
    });
    let label = map.quantity(&diagram.spec().landscape, metric);
    (image, ColorKey { scale: colors.scale, legend, label, subject: map.subject(diagram), regions })
}

impl PhasePanel {
    pub(super) fn map_options(&mut self, ui: &mut Ui, is_presenting: bool, requests: &mut Requests) {
        ui.add_space(4.0);
        if !self.metrics().contains(&self.style.metric) {
            self.style.metric = Metric::default();
        }
        self.map_choice(ui);
        ui.horizontal_wrapped(|ui| {
            ui.label("By");
            for metric in self.metrics() {
                let name = metric.label(&self.diagrams.present.spec().landscape);
                ui.selectable_value(&mut self.style.metric, metric, name);
            }
        });
        ui.horizontal_wrapped(|ui| {
            if !is_presenting && ui.button("Export…").accessible_name("Export the diagram").clicked() {
                requests.actions.push(Action::Export(None));
            }
            self.letters_choice(ui);
            if !is_presenting {
                self.differences_button(ui, requests);
            }
        });
        self.raw.bar(ui, &self.diagrams);
        self.legend(ui);
    }

    /// Shows the colours of all maps, each once. A right click on the colour of a winner of the present diagram chooses
    /// another.
    fn legend(&mut self, ui: &mut Ui) {
        let winners = self.picture.spec.as_ref().filter(|_| self.style.map.winners_with_certainty().is_some());
        let winner = |index: usize| winners.and_then(|spec| spec.optimizers.get(index)).map(|optimizer| optimizer.id);
        let present = self.picture.color_key.iter().flat_map(|key| &key.legend);
        let present = present.enumerate().map(|(index, swatch)| (swatch, winner(index)));
        let pictures = &self.comparison.pictures;
        let beside = self.comparison.compared().filter_map(|number| pictures.get(&number)?.color_key.as_ref());
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
        let help = "Draws borders around the winners' regions and a letter in each, in the window and in figures: for \
                    readers who see colours differently, and for prints in grey.";
        let can_have = self.style.map.winners_with_certainty().is_some();
        let choice = ui.add_enabled(can_have, Outlined(Checkbox::new(&mut self.style.letters, "Letters")));
        choice.on_hover_text(help).on_disabled_hover_text("Only maps of winners have letters.");
    }

    /// Returns the metrics that the landscapes of the displayed diagram and of the controls have.
    fn metrics(&self) -> Vec<Metric> {
        let draft = self.preset().sweep.landscape;
        Metric::of(&self.diagrams.present.spec().landscape).filter(|metric| metric.is_of(&draft)).collect()
    }

    fn map_choice(&mut self, ui: &mut Ui) {
        let diagram = &self.diagrams.present.diagram;
        let metric = self.style.metric;
        ui.horizontal(|ui| {
            ui.label("Map");
            let name = name_of(self.style.map, diagram, metric);
            let combo = ComboBox::from_id_salt("map").selected_text(name).truncate().height(500.0);
            let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
                for map in maps(diagram) {
                    ui.selectable_value(&mut self.style.map, map, name_of(map, diagram, metric));
                }
                let is_margin = matches!(self.style.map, Map::Difference(..));
                let help = "The signed difference of two optimizers' scores: positive where the first is better.";
                if ui.selectable_label(is_margin, MARGIN).on_hover_text(help).clicked() && !is_margin {
                    self.style.map = Map::Difference(0, 1);
                }
            });
            shown.response.accessible_name("What the map shows");
        });
        if let Map::Difference(one, other) = self.style.map {
            let names = diagram.spec().shown_names();
            self.style.map = margin_choice(ui, &names, [one, other]);
        }
    }

    /// Shows the button that lists the differences between the diagrams side by side.
    fn differences_button(&self, ui: &mut Ui, requests: &mut Requests) {
        let button = ui.add_enabled(!self.comparison.is_empty(), Button::new("Differences"));
        let button = button.on_hover_text("List the settings in which the diagrams side by side differ");
        let button = button.on_disabled_hover_text("Choose a kept diagram to compare with first.");
        if button.clicked() {
            let compared = self.compared();
            let table = differences(&compared);
            requests.actions.push(Action::ShowDifferences(Box::new(table)));
        }
    }
}

/// Shows the choice of two optimizers whose scores are subtracted; returns the map.
fn margin_choice(ui: &mut Ui, names: &[String], [one, other]: [usize; 2]) -> Map {
    let mut chosen = [one, other];
    for (index, (word, name)) in [("of", "Optimizer ahead"), ("over", "Optimizer behind")].into_iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(word);
            let combo = ComboBox::from_id_salt(name).selected_text(&names[chosen[index]]).truncate();
            let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
                for (choice, name) in names.iter().enumerate() {
                    ui.selectable_value(&mut chosen[index], choice, name);
                }
            });
            shown.response.accessible_name(name);
        });
    }
    match chosen {
        // Choosing the other one swaps the two.
        [same, again] if same == again => Map::Difference(other, one),
        [one, other] => Map::Difference(one, other),
    }
}

/// Lays out a colour and its name as one text, so that a narrow panel breaks the line between entries.
fn entry(ui: &Ui, swatch: &Swatch) -> LayoutJob {
    let font = TextStyle::Small.resolve(ui.style());
    let mut job = LayoutJob::default();
    if let Some(color) = swatch.color {
        job.append("■ ", 0.0, TextFormat::simple(font.clone(), rgb(color)));
    }
    job.append(&swatch.text, 0.0, TextFormat::simple(font, ui.visuals().text_color()));
    job
}

/// The name of the maps of the differences between two optimizers.
const MARGIN: &str = "Margin between two optimizers";

fn maps(diagram: &Diagram) -> Vec<Map> {
    let optimizers = &diagram.spec().optimizers;
    let count = optimizers.len();
    let mut maps = vec![Map::Winner { certainty: true }, Map::Winner { certainty: false }];
    maps.extend(diagram.spec().adam().map(|_| Map::Triangle));
    maps.extend((0..count).map(Map::Score));
    maps.extend((0..count).map(Map::BestRate));
    for (index, optimizer) in optimizers.iter().enumerate() {
        maps.extend(optimizer.tune.iter().map(|tuned| Map::BestValue(index, tuned.of)));
    }
    maps.extend((0..count).map(Map::Spread));
    maps.extend((!diagram.spec().sampling.is_uniform()).then_some(Map::Runs));
    maps
}

pub(super) fn name_of(map: Map, diagram: &Diagram, metric: Metric) -> String {
    match map.subject(diagram) {
        Some(subject) => format!("{subject}: {}", map.quantity(&diagram.spec().landscape, metric)),
        None if map == (Map::Winner { certainty: true }) => "Winner, paler where less certain".to_owned(),
        None if map == Map::Triangle => "Triangle: signal, noise, oscillation".to_owned(),
        None if map == Map::Runs => "Runs spent".to_owned(),
        None => "Winner".to_owned(),
    }
}
