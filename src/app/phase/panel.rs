//! The panel as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{CentralPanel, Context, InputState, Key, Rect, ScrollArea, Ui};

use super::axes::Side;
use super::controls;
use super::diagram_store::DiagramStore;
use super::export::{DiagramExports, MapFigure};
use super::picture::{MapLook, MapPicture};
use super::raw::RawExports;
use super::titled::TitledDiagram;
use crate::app::document::Document;
use crate::app::history::UndoHistory;
use crate::app::live::Requests;
use crate::app::saved_states::{Revision, SavedStates};
use crate::app::session::{SweepMemory, stored_preset};
use crate::app::shell::WindowLayout;
use crate::app::side_panel::{Edge, SidePanel};
use crate::export::Overwrite;
use crate::figure::Map;
use crate::preset::{Preset, SweepPreset};
use crate::result::SweepResult;
use crate::sweep::{Axis, Metric, SweepSpec};

/// The state of the phase diagrams' part of the window.
pub struct PhasePanel {
    pub(super) diagrams: DiagramStore,
    /// What is under the controls.
    pub(super) preset: SweepPreset,
    saved_states: SavedStates<SavedState>,
    history: UndoHistory<Revision<SweepPreset>>,
    /// Whether a change under the controls begins a new diagram at once.
    pub(super) follow_changes: bool,
    pub(super) look: MapLook,
    pub(super) picture: MapPicture,
    /// The number of the kept diagram that is shown beside the present one.
    pub(super) beside: Option<u64>,
    pub(super) picture_beside: MapPicture,
    pub(super) hovered: Option<Hovered>,
    pub(super) chosen: Option<[usize; 2]>,
    /// The sweep whose diagram is looked at, and which the choices above are about.
    looked_at: Arc<SweepSpec>,
    pub(super) exports: DiagramExports,
    pub(super) raw: RawExports,
    pub(super) layout: MapFigure,
    /// Where the maps were drawn last.
    area: Option<Rect>,
}

/// Where what is under the controls came from.
#[derive(Debug)]
struct SavedState {
    /// The preset as it was opened or saved last.
    clean: Arc<SweepPreset>,
    /// The file that Save writes to, and whether this run of the program has written it.
    file: Option<(PathBuf, bool)>,
}

impl SavedState {
    fn new(clean: Arc<SweepPreset>, file: Option<PathBuf>) -> SavedState {
        SavedState { clean, file: file.map(|file| (file, false)) }
    }
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
        let clean = Arc::new(preset.clone());
        let diagrams = DiagramStore::new(context, Arc::clone(&clean));
        PhasePanel {
            looked_at: Arc::clone(diagrams.present.spec()),
            diagrams,
            saved_states: SavedStates::new(SavedState::new(clean, None)),
            history: UndoHistory::default(),
            follow_changes: true,
            look: MapLook { map: Map::Winner { certainty: true }, metric: preset.sweep.metric },
            preset,
            picture: MapPicture::default(),
            beside: None,
            picture_beside: MapPicture::default(),
            hovered: None,
            chosen: None,
            exports: DiagramExports::default(),
            raw: RawExports::default(),
            layout: MapFigure::default(),
            area: None,
        }
    }

    /// Puts a preset under the controls and begins its diagram. Undo brings the one before back.
    pub fn open(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.put(preset, file);
        // A preset has been checked when it was read.
        let clean = self.clean();
        match self.diagrams.run(&self.preset.sweep, &clean, false) {
            Ok(()) => self.diagrams.belongs_to(&clean),
            Err(error) => log::warn!("a preset that does not hold: {error}"),
        }
        // What was shown before has nothing to do with it.
        self.diagrams.show_newest();
    }

    fn put(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.history.mark(&self.point());
        self.look = MapLook { map: Map::Winner { certainty: true }, metric: preset.sweep.metric };
        self.chosen = None;
        self.saved_states.open(SavedState::new(Arc::new(preset.clone()), file));
        self.preset = preset;
        self.history.mark(&self.point());
    }

    /// The preset as it was opened or saved last.
    fn clean(&self) -> Arc<SweepPreset> {
        Arc::clone(&self.saved_states.present().clean)
    }

    fn point(&self) -> Revision<SweepPreset> {
        Revision { preset: self.preset.clone(), saved_state: self.saved_states.number() }
    }

    /// Shows a result that was computed before.
    pub fn open_result(&mut self, result: SweepResult) {
        if let Preset::Sweep(preset) = result.preset() {
            self.put(preset, None);
        }
        self.diagrams.open(result, self.clean());
    }

    /// Shows a kept diagram in the place of the present one.
    pub(super) fn bring_back(&mut self, number: u64) {
        self.diagrams.bring_back(number);
        let present = &self.diagrams.present;
        self.preset = SweepPreset { sweep: (**present.spec()).clone(), ..(*present.preset).clone() };
        if present.preset != self.saved_states.present().clean {
            // The file is that of another preset.
            self.saved_states.open(SavedState::new(Arc::clone(&present.preset), None));
        }
        self.look.map = Map::Winner { certainty: true };
        self.look_at_present();
        self.chosen = None;
        self.beside = self.beside.filter(|beside| *beside != number);
    }

    /// What was under the controls in the last session. It is not computed before it is asked for.
    pub fn recall(&mut self, memory: SweepMemory) -> Result<(), String> {
        let sweep = |preset| if let Preset::Sweep(preset) = preset { Some(preset) } else { None };
        let stored = |text: &str, what: &str| stored_preset(text, what, "sweep", sweep);
        let preset = stored(&memory.preset, "the sweep of the last session")?;
        let clean = memory.clean.map(|text| stored(&text, "the preset of the last session's sweep")).transpose()?;
        self.put(preset, None);
        let clean = clean.map_or_else(|| self.clean(), Arc::new);
        self.diagrams.forget(self.preset.sweep.clone(), Arc::clone(&clean));
        self.saved_states = SavedStates::new(SavedState::new(clean, memory.file));
        self.history = UndoHistory::default();
        Ok(())
    }

    /// What the next session finds again: what is under the controls, or where that can't be run, what is
    /// shown.
    pub fn memory(&self) -> SweepMemory {
        let Revision { mut preset, .. } = self.draft();
        if preset.sweep.check().is_err() {
            preset.sweep = (**self.diagrams.present.spec()).clone();
        }
        let text = |preset: SweepPreset| Preset::Sweep(preset).to_ron();
        let SavedState { clean, file } = self.saved_states.present();
        let file = file.as_ref().map(|(file, _)| file.clone());
        SweepMemory { preset: text(preset), clean: Some(text((**clean).clone())), file }
    }

    /// The preset under the controls.
    pub fn preset(&self) -> &SweepPreset {
        &self.preset
    }

    /// The preset as it would be saved: optimizers compared by what is looked at.
    pub fn draft(&self) -> Revision<SweepPreset> {
        let mut draft = self.point();
        draft.preset.sweep.metric = self.look.metric;
        draft
    }

    /// The preset's file, and whether it may be replaced without a question.
    pub fn file(&self) -> Option<(&Path, Overwrite)> {
        let (file, written_here) = self.saved_states.present().file.as_ref()?;
        Some((file, if *written_here { Overwrite::Yes } else { Overwrite::No }))
    }

    /// Takes note that a draft was written to a file. Another preset may have been opened meanwhile.
    pub fn saved(&mut self, draft: Revision<SweepPreset>, path: &Path) {
        let Revision { preset, saved_state } = draft;
        if saved_state == self.saved_states.number() {
            self.preset.title.clone_from(&preset.title);
            self.preset.description.clone_from(&preset.description);
        }
        let Some(saved_state) = self.saved_states.get_mut(saved_state) else { return };
        let clean = Arc::new(preset);
        self.diagrams.call_by(&clean);
        *saved_state = SavedState { clean, file: Some((path.to_owned(), true)) };
    }

    /// There are changes that were not saved.
    pub fn is_dirty(&self) -> bool {
        // What is looked at does not need to be computed again, and alone is no change worth a warning.
        let clean = &self.saved_states.present().clean.sweep;
        SweepSpec { metric: clean.metric, ..self.preset.sweep.clone() } != *clean
    }

    pub fn can_undo(&self) -> bool {
        self.history.can_undo(&self.point())
    }

    pub fn can_redo(&self) -> bool {
        self.history.can_redo(&self.point())
    }

    pub fn undo(&mut self) {
        let earlier = self.history.undo(&self.point());
        self.go_back_to(earlier);
    }

    pub fn redo(&mut self) {
        let later = self.history.redo(&self.point());
        self.go_back_to(later);
    }

    fn go_back_to(&mut self, point: Option<Revision<SweepPreset>>) {
        let before = self.saved_states.number();
        let Some(Revision { preset, saved_state }) = point.filter(|point| self.saved_states.go_to(point.saved_state))
        else {
            return;
        };
        self.preset = preset;
        if saved_state != before {
            // The metric is saved with the preset.
            self.look.metric = self.preset.sweep.metric;
            self.diagrams.call_by(&self.clean());
        }
    }

    /// The diagram that is shown.
    pub fn present(&self) -> &TitledDiagram {
        &self.diagrams.present
    }

    /// The sweep of the picture that is seen.
    pub fn seen(&self) -> Option<&SweepSpec> {
        self.picture.spec().map(|spec| &**spec)
    }

    /// Whether a sweep is running.
    pub fn is_running(&self) -> bool {
        self.diagrams.is_running()
    }

    /// Where the maps were drawn last.
    pub fn area(&self) -> Option<Rect> {
        self.area
    }

    /// What goes on also while the panel is not shown.
    pub fn tick(&mut self, ctx: &Context, requests: &mut Requests) {
        self.diagrams.poll();
        self.look_at_present();
        self.exports.poll(ctx, requests);
        self.poll_raw(requests);
    }

    /// Shows the panel.
    pub fn ui(&mut self, ui: &mut Ui, window: &mut WindowLayout, document: &mut Document, requests: &mut Requests) {
        let width = ui.available_width();
        if !window.presenting {
            let most = (0.3 * width).clamp(230.0, 440.0);
            let left =
                SidePanel { name: "sweep controls", edge: Edge::Left, usual: 310.0, range: 220.0..=most, frame: None };
            left.show_collapsible(ui, &mut window.sizes.sweep_controls, &mut window.controls, |ui| {
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
        let right =
            SidePanel { name: "sweep readout", edge: Edge::Right, usual: 360.0, range: 220.0..=most, frame: None };
        right.show(ui, &mut window.sizes.sweep_readout, |ui| {
            self.map_options(ui, requests);
            ui.separator();
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.readout(ui, requests));
        });
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            self.maps(ui, document, requests);
        });
        self.history.feed(ui.ctx().time(), &self.point());
        if self.history.is_in_flux() {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(600));
        }
    }

    /// Begins the diagram of what is under the controls, where that has changed.
    fn follow(&mut self, ui: &Ui) {
        self.look_at_present();
        // An arrow key that is held changes a number again and again.
        let is_held = |input: &InputState| input.key_down(Key::ArrowUp) || input.key_down(Key::ArrowDown);
        let dragging = ui.input(|input| input.pointer.any_down() || is_held(input));
        if **self.diagrams.newest().spec() == self.preset.sweep {
            self.diagrams.sync(dragging);
        } else if self.follow_changes {
            self.run(dragging);
        }
    }

    /// Computes what is under the controls; what is at fault there is shown beside it.
    pub(super) fn run(&mut self, passing: bool) {
        if self.diagrams.run(&self.preset.sweep, &self.clean(), passing).is_ok() {
            self.look_at_present();
        }
    }

    /// Brings what is looked at in line with the present diagram, which may have become another.
    fn look_at_present(&mut self) {
        let diagram = &self.diagrams.present.diagram;
        if Arc::ptr_eq(diagram.spec(), &self.looked_at) {
            return;
        }
        let before = std::mem::replace(&mut self.looked_at, Arc::clone(diagram.spec()));
        self.look = MapLook { map: self.look.map.within(diagram), ..self.look };
        self.hovered = None;
        self.chosen = self.chosen.and_then(|[row, column]| {
            let (rows, columns) = (before.rows.values(), before.columns.values());
            pixel_of(diagram.spec(), &before, [*rows.get(row)?, *columns.get(column)?])
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
