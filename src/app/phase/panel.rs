//! The phase diagram's panel: its state, and its parts on the screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{CentralPanel, Context, InputState, Key, Rect, ScrollArea, Ui};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Metric, SweepSpec};
use valleyscope_experiments::preset::{Preset, SweepPreset};
use valleyscope_runs::atomic_file::Overwrite;

use super::comparison::Comparison;
use super::controls;
use super::diagram_store::DiagramStore;
use super::export::{self, ExportKind, MapFigure, NamedDiagram};
use super::picture::{MapLook, MapPicture};
use super::pixels::{PanelPixel, pixel_of};
use super::raw::RawExports;
use super::score_curve::Over;
use super::strip::StripState;
use super::titled_diagram::{ExportedDiagram, TitledDiagram};
use crate::app::editor::{Draft, Editor, PresetDraft};
use crate::app::live::Requests;
use crate::app::pending_exports::PendingExports;
use crate::app::side_panel::{Edge, SidePanel};
use crate::app::window_layout::WindowLayout;
use crate::figure::{Map, as_changed};
use crate::result::{RawPlan, SweepResult};

/// The state of the phase diagram tab.
pub struct PhasePanel {
    pub(super) diagrams: DiagramStore,
    pub(super) editor: Editor<SweepPreset>,
    /// Starts a new diagram at each change under the controls if true.
    pub(super) follow_changes: bool,
    pub(super) look: MapLook,
    pub(super) picture: MapPicture,
    /// The kept diagrams that are shown beside the present one.
    pub(super) comparison: Comparison,
    pub(super) strip: StripState,
    /// The computing time from which dropping a diagram needs a question.
    pub(super) worth_asking: Duration,
    /// The pixel under the pointer.
    pub(super) hovered: Option<PanelPixel>,
    pub(super) chosen: Option<PanelPixel>,
    /// The setting over which the readout plots scores.
    pub(super) over: Over,
    /// The sweep of the displayed diagram, to which the choices above apply.
    looked_at: Arc<SweepSpec>,
    pub(super) exports: PendingExports,
    pub(super) raw: RawExports,
    pub(super) layout: MapFigure,
    /// The area in which the maps were last drawn.
    pub(super) area: Option<Rect>,
}

impl Draft for SweepPreset {
    type Saved = Arc<SweepPreset>;

    /// Returns whether the draft differs by more than the displayed metric, which needs no new computation and no
    /// warning.
    fn differs_from(&self, saved: &Arc<SweepPreset>) -> bool {
        SweepSpec { metric: saved.sweep.metric, ..self.sweep.clone() } != saved.sweep
    }

    fn saved_as(written: PresetDraft, _file: &Path, _before: &Arc<SweepPreset>) -> Option<Arc<SweepPreset>> {
        if let Preset::Sweep(preset) = written.preset { Some(Arc::new(preset)) } else { None }
    }

    fn take_description(&mut self, preset: &Preset) {
        preset.title().clone_into(&mut self.title);
        preset.description().clone_into(&mut self.description);
    }
}

impl PhasePanel {
    /// Makes the panel of a preset, with the diagrams that are kept in a folder.
    pub fn new(context: Context, preset: SweepPreset, kept: Option<PathBuf>, worth_asking: Duration) -> Self {
        let clean = Arc::new(preset.clone());
        let diagrams = DiagramStore::new(context, Arc::clone(&clean), kept, worth_asking);
        PhasePanel {
            looked_at: Arc::clone(diagrams.present.spec()),
            diagrams,
            follow_changes: true,
            look: MapLook { map: Map::Winner { certainty: true }, metric: preset.sweep.metric, letters: false },
            editor: Editor::new(preset, clean, None),
            picture: MapPicture::default(),
            comparison: Comparison::default(),
            strip: StripState::default(),
            worth_asking,
            hovered: None,
            chosen: None,
            over: None,
            exports: PendingExports::default(),
            raw: RawExports::default(),
            layout: MapFigure::default(),
            area: None,
        }
    }

    /// Opens a preset and starts its diagram. Undo restores the previous one.
    pub(super) fn open_sweep(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.put(preset, file);
        // A preset has been checked when it was read.
        let clean = self.clean();
        match self.diagrams.run(&self.editor.draft.sweep, &clean, false) {
            Ok(()) => self.diagrams.relabel(&clean),
            Err(error) => log::warn!("a preset that does not hold: {error}"),
        }
        // The previous diagram is unrelated.
        self.diagrams.show_newest();
    }

    pub(super) fn put(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.look = MapLook { map: Map::Winner { certainty: true }, metric: preset.sweep.metric, ..self.look };
        self.chosen = None;
        self.editor.open(preset.clone(), Arc::new(preset), file);
    }

    /// Returns the preset as it was last opened or saved.
    pub(super) fn clean(&self) -> Arc<SweepPreset> {
        Arc::clone(self.editor.saved_state())
    }

    /// Shows a result that was computed before.
    pub fn open_result(&mut self, result: SweepResult) {
        if let Preset::Sweep(preset) = result.preset() {
            self.put(preset, None);
        }
        self.diagrams.open(result, self.clean());
    }

    /// Starts an export of a diagram, with the present look. Figures also show the diagrams beside the present one.
    pub(super) fn export(&mut self, ctx: &Context, titled: TitledDiagram, kind: ExportKind) {
        let (look, layout) = (self.look, self.layout);
        let named = |titled: TitledDiagram| {
            let name = self.diagrams.library.get(titled.number).and_then(|kept| kept.record.name.clone());
            NamedDiagram { titled, name }
        };
        let beside: Vec<(NamedDiagram, String)> = match titled.number == self.diagrams.present.number {
            true => self.compared().into_iter().map(|(diagram, title)| (named(diagram.clone()), title)).collect(),
            false => Vec::new(),
        };
        let diagram = named(titled);
        self.exports.begin(ctx, move || export::export(&diagram, &beside, look, kind, layout));
    }

    /// Shows a kept diagram in place of the present one.
    pub(super) fn show_kept(&mut self, number: u64) {
        let Some(kept) = self.diagrams.library.get(number) else { return };
        let (sweep, of) = ((*kept.spec).clone(), Arc::clone(&kept.record.preset));
        self.diagrams.show_kept(number);
        let preset = SweepPreset { sweep, ..(*of).clone() };
        if of == *self.editor.saved_state() {
            self.editor.draft = preset;
        } else {
            // The file is that of another preset.
            self.editor.replace(preset, of, None);
        }
        self.look.map = Map::Winner { certainty: true };
        self.look_at_present();
        self.chosen = None;
    }

    /// Returns the preset under the controls.
    pub fn preset(&self) -> &SweepPreset {
        &self.editor.draft
    }

    /// Returns the preset under the controls, with the displayed metric.
    pub fn draft(&self) -> SweepPreset {
        let mut preset = self.preset().clone();
        preset.sweep.metric = self.look.metric;
        preset
    }

    /// Returns the preset with its present title: after a change of its settings, title and description are made from
    /// them.
    pub(super) fn named(&self) -> SweepPreset {
        let preset = self.preset().clone();
        if self.is_dirty() { as_changed((*self.clean()).clone(), preset.sweep) } else { preset }
    }

    /// Returns whether there are unsaved changes.
    pub fn is_dirty(&self) -> bool {
        self.editor.is_dirty()
    }

    /// Returns the shown diagram.
    pub fn present(&self) -> &TitledDiagram {
        &self.diagrams.present
    }

    /// Returns the sweep of the visible picture.
    pub fn seen(&self) -> Option<&SweepSpec> {
        self.picture.spec().map(|spec| &**spec)
    }

    /// Returns the side of the smallest blocks that the visible picture shows completely, in pixels of the diagram.
    pub fn seen_blocks(&self) -> Option<usize> {
        self.picture.blocks()
    }

    /// Returns whether a sweep is running.
    pub fn is_running(&self) -> bool {
        self.diagrams.is_running()
    }

    /// Records that a file with the results of a diagram was written.
    pub fn exported(&mut self, exported: ExportedDiagram) {
        self.diagrams.exported(exported);
    }

    /// Computes the runs of a diagram again and writes them into a folder.
    pub fn export_raw(&mut self, plan: RawPlan, folder: PathBuf, overwrite: Overwrite) {
        self.raw.begin(&self.diagrams, plan, folder, overwrite);
    }

    /// Draws the panel. `simulation` is that of the landscape, whose settings are marked on the maps.
    pub(super) fn draw(
        &mut self,
        ui: &mut Ui,
        window: &mut WindowLayout,
        simulation: &SimulationSpec,
        requests: &mut Requests,
    ) {
        let width = ui.available_width();
        if !window.is_presenting() {
            let most = (0.3 * width).clamp(230.0, 440.0);
            let left =
                SidePanel { name: "sweep controls", edge: Edge::Left, usual: 310.0, range: 220.0..=most, frame: None };
            left.show_collapsible(ui, &mut window.sizes, &mut window.controls, |ui, _| {
                let fault = self.editor.draft.sweep.check().err();
                self.run_bar(ui, fault.as_ref());
                ui.separator();
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .show(ui, |ui| controls::show(ui, &mut self.editor.draft.sweep, fault.as_ref(), requests));
            });
        }
        self.follow(ui);
        let range = 220.0..=(0.3 * width).clamp(230.0, 520.0);
        let right = SidePanel { name: "sweep readout", edge: Edge::Right, usual: 360.0, range, frame: None };
        right.show(ui, &mut window.sizes, |ui, _| {
            self.map_options(ui, requests);
            ui.separator();
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.readout(ui, requests));
        });
        if !window.is_presenting() {
            self.strip(ui, &mut window.sizes);
        }
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            self.maps(ui, simulation, requests);
        });
        self.editor.record_for_undo(ui.ctx(), |_| ());
    }

    /// Starts the diagram of the settings under the controls, if they have changed.
    fn follow(&mut self, ui: &Ui) {
        self.look_at_present();
        // An arrow key that is held changes a number again and again.
        let is_held = |input: &InputState| input.key_down(Key::ArrowUp) || input.key_down(Key::ArrowDown);
        let dragging = ui.input(|input| input.pointer.any_down() || is_held(input));
        if self.diagrams.newest().spec().is_alike_but_for_colors(&self.editor.draft.sweep) {
            self.diagrams.recolor(&self.editor.draft.sweep);
            self.diagrams.sync(dragging);
        } else if self.follow_changes {
            self.run(dragging);
        } else if !dragging {
            self.diagrams.recall_alike(&self.editor.draft.sweep);
        }
    }

    /// Computes the settings under the controls; a fault is shown beside its field.
    pub(super) fn run(&mut self, passing: bool) {
        if self.diagrams.run(&self.editor.draft.sweep, &self.clean(), passing).is_ok() {
            self.look_at_present();
        }
    }

    /// Adapts the map's options to the present diagram, which may be another one.
    pub(super) fn look_at_present(&mut self) {
        let diagram = &self.diagrams.present.diagram;
        if Arc::ptr_eq(diagram.spec(), &self.looked_at) {
            return;
        }
        let before = std::mem::replace(&mut self.looked_at, Arc::clone(diagram.spec()));
        self.look = MapLook { map: self.look.map.within(diagram), ..self.look };
        self.hovered = None;
        self.chosen = self.chosen.and_then(|chosen| {
            let PanelPixel { pixel: [row, column], beside: None } = chosen else { return Some(chosen) };
            let (rows, columns) = (before.rows.values(), before.columns.values());
            let pixel = pixel_of(diagram.spec(), &before, [*rows.get(row)?, *columns.get(column)?])?;
            Some(PanelPixel { pixel, beside: None })
        });
    }

    /// Returns the metric by which the map compares optimizers.
    pub(super) fn metric(&self) -> Metric {
        self.look.metric
    }
}
