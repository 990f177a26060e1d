//! The panel as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Button, CentralPanel, Context, Label, Panel, Rect, RichText, ScrollArea, Ui, Vec2};

use super::axes::Side;
use super::board::{Board, Titled};
use super::export::{Exports, FigureLayout};
use super::map_view::{self, MapView, Pointed};
use super::picture::{Look, MapPicture};
use super::raw::RawExports;
use super::{bridge, controls, looks};
use crate::app::document::Document;
use crate::app::history::History;
use crate::app::live::{Action, Requests};
use crate::app::session::SweepMemory;
use crate::app::shell::Layout;
use crate::export::Overwrite;
use crate::figure::Map;
use crate::preset::{Preset, SweepPreset};
use crate::result::SweepResult;
use crate::sweep::{Axis, Metric, SweepSpec};

/// A sweep of more optimizer steps is not begun again while a control is still being dragged.
const STEPS_WHILE_DRAGGING: f64 = 1e10;
/// A diagram narrower than this is of no use beside another, in points.
const NARROWEST: f32 = 280.0;

/// The state of the phase diagrams' part of the window.
pub struct PhasePanel {
    pub(super) board: Board,
    /// What is under the controls.
    pub(super) preset: SweepPreset,
    /// The preset as it was opened or saved last.
    clean: SweepPreset,
    /// The file that Save writes to, and whether this run of the program has written it.
    file: Option<(PathBuf, bool)>,
    history: History<SweepPreset>,
    /// Whether a change under the controls begins a new diagram at once.
    pub(super) follow_changes: bool,
    pub(super) look: Look,
    pub(super) picture: MapPicture,
    /// The number of the kept diagram that is shown beside the present one.
    pub(super) beside: Option<u64>,
    picture_beside: MapPicture,
    pub(super) hovered: Option<Hovered>,
    pub(super) chosen: Option<[usize; 2]>,
    pub(super) exports: Exports,
    pub(super) raw: RawExports,
    pub(super) layout: FigureLayout,
    /// Where the maps were drawn last.
    area: Option<Rect>,
}

/// The pixel under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hovered {
    pub pixel: [usize; 2],
    /// It is one of the diagram beside the present one.
    pub is_beside: bool,
}

impl PhasePanel {
    pub fn new(context: Context, preset: SweepPreset) -> Self {
        PhasePanel {
            board: Board::new(context, &preset),
            clean: preset.clone(),
            file: None,
            history: History::default(),
            follow_changes: true,
            look: Look { map: Map::Winner { certainty: true }, metric: preset.sweep.metric },
            preset,
            picture: MapPicture::default(),
            beside: None,
            picture_beside: MapPicture::default(),
            hovered: None,
            chosen: None,
            exports: Exports::default(),
            raw: RawExports::default(),
            layout: FigureLayout::default(),
            area: None,
        }
    }

    /// Puts a preset under the controls and begins its diagram. Undo brings the one before back.
    pub fn open(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.put(preset, file);
        // A preset has been checked when it was read.
        if let Err(error) = self.board.run(&self.preset, false) {
            log::warn!("a preset that does not hold: {error}");
        }
    }

    fn put(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.history.mark(&self.preset);
        self.look = Look { map: Map::Winner { certainty: true }, metric: preset.sweep.metric };
        self.chosen = None;
        self.clean = preset.clone();
        self.file = file.map(|file| (file, false));
        self.preset = preset;
        self.history.mark(&self.preset);
    }

    /// Shows a result that was computed before.
    pub fn open_result(&mut self, result: SweepResult) {
        if let Preset::Sweep(preset) = result.preset() {
            self.put(preset, None);
        }
        self.board.open(result);
    }

    /// Shows a kept diagram in the place of the present one.
    pub(super) fn bring_back(&mut self, number: u64) {
        self.board.bring_back(number);
        let Titled { title, description, diagram, .. } = &self.board.present;
        self.preset = SweepPreset {
            title: title.clone(),
            description: description.clone(),
            sweep: (**diagram.spec()).clone(),
            ..self.preset.clone()
        };
        self.look.map = Map::Winner { certainty: true };
        self.chosen = None;
        self.beside = self.beside.filter(|beside| *beside != number);
    }

    /// What was under the controls in the last session. It is not computed before it is asked for.
    pub fn recall(&mut self, memory: SweepMemory) -> Result<(), String> {
        match Preset::parse(&memory.preset, "the sweep of the last session") {
            Ok(Preset::Sweep(preset)) => {
                self.board.forget(&preset);
                self.put(preset, memory.file);
                self.history = History::default();
                Ok(())
            }
            Ok(_) => Err("The sweep of the last session is none.".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What the next session finds again: what is under the controls, or where that can't be run, what is
    /// shown.
    pub fn memory(&self) -> SweepMemory {
        let mut preset = self.draft();
        if preset.sweep.check().is_err() {
            preset.sweep = (**self.board.present.diagram.spec()).clone();
        }
        let file = self.file.as_ref().map(|(file, _)| file.clone());
        SweepMemory { preset: Preset::Sweep(preset).to_ron(), file }
    }

    /// The preset under the controls.
    pub fn preset(&self) -> &SweepPreset {
        &self.preset
    }

    /// The preset as it would be saved: optimizers compared by what is looked at.
    pub fn draft(&self) -> SweepPreset {
        let mut draft = self.preset.clone();
        draft.sweep.metric = self.look.metric;
        draft
    }

    /// The preset's file, and whether it may be replaced without a question.
    pub fn file(&self) -> Option<(&Path, Overwrite)> {
        let (file, written_here) = self.file.as_ref()?;
        Some((file, if *written_here { Overwrite::Yes } else { Overwrite::No }))
    }

    /// Takes note that a draft was written to a file.
    pub fn saved(&mut self, preset: SweepPreset, path: &Path) {
        self.preset.title.clone_from(&preset.title);
        self.preset.description.clone_from(&preset.description);
        self.clean = preset;
        self.file = Some((path.to_owned(), true));
    }

    /// There are changes that were not saved.
    pub fn is_dirty(&self) -> bool {
        // What is looked at does not need to be computed again, and alone is no change worth a warning.
        SweepSpec { metric: self.clean.sweep.metric, ..self.preset.sweep.clone() } != self.clean.sweep
    }

    pub fn can_undo(&self) -> bool {
        self.history.can_undo(&self.preset)
    }

    pub fn can_redo(&self) -> bool {
        self.history.can_redo(&self.preset)
    }

    pub fn undo(&mut self) {
        self.preset = self.history.undo(&self.preset).unwrap_or_else(|| self.preset.clone());
    }

    pub fn redo(&mut self) {
        self.preset = self.history.redo(&self.preset).unwrap_or_else(|| self.preset.clone());
    }

    /// The diagram that is shown.
    pub fn present(&self) -> &Titled {
        &self.board.present
    }

    /// Whether a sweep is running.
    pub fn is_running(&self) -> bool {
        self.board.is_running()
    }

    /// Where the maps were drawn last.
    pub fn area(&self) -> Option<Rect> {
        self.area
    }

    /// What goes on also while the panel is not shown.
    pub fn tick(&mut self, ctx: &Context, requests: &mut Requests) {
        self.board.poll();
        self.exports.poll(ctx, requests);
        self.poll_raw(requests);
    }

    /// Shows the panel.
    pub fn ui(&mut self, ui: &mut Ui, window: &mut Layout, document: &mut Document, requests: &mut Requests) {
        let width = ui.available_width();
        if !window.presenting {
            let most = (0.3 * width).clamp(230.0, 440.0);
            let controls = Panel::left("sweep controls").default_size(310.0_f32.min(most)).size_range(220.0..=most);
            controls.show_collapsible(ui, &mut window.controls, |ui| {
                let fault = self.preset.sweep.check().err();
                self.run_bar(ui, fault.as_ref());
                ui.separator();
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .show(ui, |ui| controls::show(ui, &mut self.preset.sweep, fault.as_ref()));
            });
        }
        self.follow(ui);
        let most = (0.3 * width).clamp(230.0, 520.0);
        Panel::right("sweep readout").default_size(340.0_f32.min(most)).size_range(220.0..=most).show(ui, |ui| {
            self.looks(ui, requests);
            ui.separator();
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.readout(ui, requests));
        });
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            self.maps(ui, document, requests);
        });
        self.history.feed(ui.ctx().time(), &self.preset);
        if self.history.is_in_flux() {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(600));
        }
    }

    /// Begins the diagram of what is under the controls, where that has changed.
    fn follow(&mut self, ui: &Ui) {
        let dragging = ui.input(|input| input.pointer.any_down());
        if **self.board.present.diagram.spec() == self.preset.sweep {
            self.board.settle(dragging);
            return;
        }
        // A large sweep is begun once when the control is let go, not in each frame.
        let busy = dragging && self.preset.sweep.total_steps() > STEPS_WHILE_DRAGGING;
        if self.follow_changes && !busy && self.preset.sweep.check().is_ok() {
            self.run(dragging);
        }
    }

    /// Computes what is under the controls; what is at fault there is shown beside it.
    pub(super) fn run(&mut self, passing: bool) {
        let Titled { number, diagram, .. } = &self.board.present;
        let (before, spec) = (*number, Arc::clone(diagram.spec()));
        let values = self.chosen.map(|[row, column]| [diagram.rows()[row], diagram.columns()[column]]);
        if self.board.run(&self.preset, passing).is_ok() && self.board.present.number != before {
            let diagram = &self.board.present.diagram;
            self.look = Look { map: self.look.map.within(diagram), ..self.look };
            self.hovered = None;
            self.chosen = values.and_then(|values| pixel_of(diagram.spec(), &spec, values));
        }
    }

    fn maps(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests) {
        self.hovered = None;
        if let Some(number) = self.beside.filter(|number| self.board.kept(*number).is_some()) {
            let Vec2 { x: width, y: height } = ui.available_size();
            let half = match width >= 2.0 * NARROWEST || width > height {
                true => Panel::right("beside").exact_size(width / 2.0),
                false => Panel::bottom("below").exact_size(height / 2.0),
            };
            half.show_separator_line(false).resizable(false).show(ui, |ui| self.map_beside(ui, number, document));
            ui.label(RichText::new(&self.board.present.title).small().weak());
        }
        self.present_map(ui, document, requests);
    }

    fn map_beside(&mut self, ui: &mut Ui, number: u64, document: &Document) {
        let Some(beside) = self.board.kept(number) else { return };
        let look = Look { map: self.look.map.within(&beside.diagram), ..self.look };
        self.picture_beside.update(ui.ctx(), &beside.diagram, number, look);
        let title = looks::title_beside(beside, &self.board.present);
        ui.add(Label::new(RichText::new(title).small().weak()).truncate());
        let spec = beside.diagram.spec();
        let marker = bridge::marker(&document.spec, spec);
        let view = MapView { name: "Diagram beside", diagram: &beside.diagram, picture: &self.picture_beside };
        let pointed = map_view::show(ui, &view, marker, None);
        self.hovered = pointed.hovered.map(|pixel| Hovered { pixel, is_beside: true });
    }

    fn present_map(&mut self, ui: &mut Ui, document: &mut Document, requests: &mut Requests) {
        let diagram = &self.board.present.diagram;
        self.picture.update(ui.ctx(), diagram, self.board.version(), self.look);
        let spec = diagram.spec();
        let view = MapView { name: "Diagram", diagram, picture: &self.picture };
        let area = ui.available_rect_before_wrap();
        let pointed = map_view::show(ui, &view, bridge::marker(&document.spec, spec), self.chosen);
        let Pointed { hovered, clicked, kept, moved, dragged } = pointed;
        // Of a coarse picture, the pixel that stands for the place.
        let known = |pixel: Option<[usize; 2]>| pixel.map(|pixel| diagram.known_near(pixel).unwrap_or(pixel));
        let (clicked, kept) = (known(clicked), known(kept));
        if let Some(pixel) = hovered {
            self.hovered = Some(Hovered { pixel, is_beside: false });
        }
        if let Some(values) = dragged {
            for (of, value) in [&spec.rows.of, &spec.columns.of].into_iter().zip(values) {
                bridge::set_value(&mut document.spec, spec, of, value);
            }
        }
        self.chosen = moved.or(kept).or(clicked).or(self.chosen);
        if clicked.is_some() {
            self.show_landscape(requests);
        }
        if !self.board.is_running() && self.board.present.diagram.known_near([0, 0]).is_none() {
            let place = Rect::from_center_size(map_view::center(area), Vec2::new(200.0, 34.0));
            ui.add_enabled_ui(self.preset.sweep.check().is_ok(), |ui| {
                if ui.put(place, Button::new("Compute this diagram")).clicked() {
                    self.run(false);
                }
            });
        }
    }

    /// Asks for the chosen pixel's landscape.
    pub(super) fn show_landscape(&self, requests: &mut Requests) {
        let Titled { title, diagram, .. } = &self.board.present;
        let Some(pixel) = self.chosen.and_then(|pixel| diagram.known_near(pixel)) else { return };
        let Some(cell) = diagram.cell(pixel) else { return };
        requests.actions.push(match bridge::landscape(diagram, title, pixel, cell, self.look.metric) {
            Some(preset) => Action::ShowLandscape(Box::new(preset)),
            None => Action::Notify("The landscape has two dimensions; this pixel has more.".to_owned()),
        });
    }

    /// What optimizers are compared by on the map.
    pub(super) fn metric(&self) -> Metric {
        self.look.metric
    }
}

/// The pixel with these values of row and column, where a sweep still has the axes of another.
fn pixel_of(sweep: &SweepSpec, other: &SweepSpec, [row, column]: [f64; 2]) -> Option<[usize; 2]> {
    let index = |axis: &Axis, other: &Axis, value: f64| {
        let position = Side(axis).position(value);
        (axis.of == other.of && (0.0..=1.0).contains(&position)).then(|| Side(axis).index(position))
    };
    Some([index(&sweep.rows, &other.rows, row)?, index(&sweep.columns, &other.columns, column)?])
}
