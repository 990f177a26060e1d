//! The phase diagram tab: choose axes and optimizers, watch the diagram become finer, and go from a pixel to its
//! landscape and back.

mod controls;
mod diagram;
mod diagram_folder;
mod diagram_store;
mod example;
mod export;
mod library;
mod map_picture;
mod map_view;
mod maps;
mod optimizer_controls;
mod pixels;
mod raw_export;
mod readout;
mod score_table;
mod thumbnails;
mod triangle_view;
mod vary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use controls::time;
use diagram::{MapStyle, TitledDiagram};
use diagram_store::DiagramStore;
use egui::{CentralPanel, Context, InputState, Key, Rect, ScrollArea, Ui, vec2};
use export::DiagramExport;
use map_picture::MapPicture;
use maps::Comparison;
use pixels::{PanelPixel, pixel_of};
use raw_export::RawExports;
use readout::Over;
use serde::{Deserialize, Serialize};
use thumbnails::GalleryState;
use triangle_view::PendingShares;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Metric, SweepSpec};
use valleyscope_experiments::preset::{Preset, SweepPreset, built_ins};
use valleyscope_runs::atomic_file::Overwrite;

use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::editor::{Draft, Editor, EditorStatus, HistoryStep, PresetDraft};
use crate::app::shell::export::{ExportKind, ExportSource};
use crate::app::shell::files::OpenedContent;
use crate::app::shell::tab::{Memory, RegisteredTab, Start, Tab, TabFrame, TabInfo, TabWindow, stored_preset};
use crate::app::shell::window::{Edge, SidePanel, WindowLayout};
use crate::app::widgets::setting::Pins;
use crate::draw::Map;
use crate::sweep::result::SweepResult;
use crate::sweep::titles::{as_changed, is_made_title};

pub(super) use pixels::position_of;
pub(super) use raw_export::RawPlan;
pub(super) use vary::diagram_over;

/// The state of the phase diagram tab.
pub struct PhasePanel {
    diagrams: DiagramStore,
    editor: Editor<SweepPreset>,
    /// Starts a new diagram at each change under the controls if true.
    follow_changes: bool,
    pins: Pins,
    style: MapStyle,
    picture: MapPicture,
    shares: PendingShares,
    /// The diagrams of the library that are compared with the present one.
    comparison: Comparison,
    gallery: GalleryState,
    /// The computing time from which dropping a diagram needs a question.
    worth_asking: Duration,
    /// The pixel under the pointer.
    hovered: Option<PanelPixel>,
    chosen: Option<PanelPixel>,
    /// The setting over which the readout plots scores.
    over: Over,
    /// The sweep of the displayed diagram, to which the choices above apply.
    shown_spec: Arc<SweepSpec>,
    raw: RawExports,
    /// The area in which the maps were last drawn.
    area: Option<Rect>,
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
    pub fn new(context: Context, preset: SweepPreset, library: Option<PathBuf>, worth_asking: Duration) -> Self {
        let clean = Arc::new(preset.clone());
        let diagrams = DiagramStore::new(context, Arc::clone(&clean), library, worth_asking);
        PhasePanel {
            shown_spec: Arc::clone(diagrams.present.spec()),
            comparison: Comparison::of(diagrams.present.number),
            diagrams,
            follow_changes: true,
            pins: Pins::default(),
            style: MapStyle { map: Map::Winner { certainty: true }, metric: preset.sweep.metric, letters: false },
            editor: Editor::new(preset, clean, None),
            picture: MapPicture::default(),
            shares: PendingShares::default(),
            gallery: GalleryState::default(),
            worth_asking,
            hovered: None,
            chosen: None,
            over: None,
            raw: RawExports::default(),
            area: None,
        }
    }

    /// Opens a preset and starts its diagram. Undo restores the previous one.
    fn open_sweep(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.put(preset, file);
        // A preset has been checked when it was read. The panel shows why missing pixels of an external optimizer are not
        // computed.
        let clean = self.clean();
        match self.diagrams.run(&self.editor.draft.sweep, &clean, false) {
            Ok(()) => self.diagrams.relabel_sweep(&clean),
            Err(error) => log::warn!("a preset that does not hold: {error}"),
        }
        // The previous diagram is unrelated.
        self.diagrams.show_newest();
    }

    fn put(&mut self, preset: SweepPreset, file: Option<PathBuf>) {
        self.style = MapStyle { map: Map::Winner { certainty: true }, metric: preset.sweep.metric, ..self.style };
        self.chosen = None;
        self.editor.open(preset.clone(), Arc::new(preset), file);
    }

    fn clean(&self) -> Arc<SweepPreset> {
        Arc::clone(self.editor.saved_state())
    }

    /// Shows a result that was computed before.
    pub fn open_result(&mut self, result: SweepResult) {
        if let Preset::Sweep(preset) = result.preset() {
            self.put(preset, None);
        }
        self.diagrams.open(result, self.clean());
    }

    /// Returns the result of a diagram by a metric, with the name that the user gave it as its title.
    fn named_result(&self, titled: &TitledDiagram, metric: Metric) -> SweepResult {
        let name = self.diagrams.library.get(titled.number).and_then(|entry| entry.description.name.clone());
        let result = titled.result_by(metric);
        SweepResult { title: name.unwrap_or(result.title), ..result }
    }

    /// Shows a kept diagram in place of the present one.
    fn show_saved(&mut self, number: u64) {
        let Some(entry) = self.diagrams.library.get(number) else { return };
        let (sweep, of) = ((*entry.spec).clone(), Arc::clone(&entry.description.preset));
        self.diagrams.show_saved(number);
        let preset = SweepPreset { sweep, ..(*of).clone() };
        if of == *self.editor.saved_state() {
            self.editor.draft = preset;
        } else {
            // The file is that of another preset.
            self.editor.replace(preset, of, None);
        }
        self.style.map = Map::Winner { certainty: true };
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
        preset.sweep.metric = self.style.metric;
        preset
    }

    /// Returns the preset with its present title: after a change of its settings, title and description are made from
    /// them.
    fn named(&self) -> SweepPreset {
        let preset = self.preset().clone();
        if self.is_dirty() { as_changed((*self.clean()).clone(), preset.sweep) } else { preset }
    }

    pub fn is_dirty(&self) -> bool {
        self.editor.is_dirty()
    }

    pub fn present(&self) -> &TitledDiagram {
        &self.diagrams.present
    }

    pub fn seen(&self) -> Option<&SweepSpec> {
        self.picture.spec.as_deref()
    }

    /// Returns the side of the smallest blocks that the visible picture shows completely, in pixels of the diagram.
    pub fn seen_blocks(&self) -> Option<usize> {
        self.picture.blocks
    }

    pub fn is_running(&self) -> bool {
        self.diagrams.is_running()
    }

    /// Describes the diagrams that closing the window would drop, and that took some time to compute.
    pub(crate) fn unsaved(&self) -> Vec<String> {
        let description = |(titled, worked): (&TitledDiagram, Duration)| {
            let [rows, columns] = titled.spec().shape();
            format!("{rows} × {columns} pixels, {}: {}", time(worked), titled.title())
        };
        self.diagrams.unsaved(self.worth_asking).into_iter().map(description).collect()
    }

    /// Computes the runs of a diagram again and writes them into a folder.
    pub(crate) fn export_raw(&mut self, ctx: &Context, plan: RawPlan, folder: PathBuf) {
        self.raw.begin(ctx, self.diagrams.pool(), plan, folder);
    }

    /// Draws the panel. `simulation` is that of the landscape, whose settings are marked on the maps.
    fn draw(&mut self, ui: &mut Ui, window: &mut WindowLayout, simulation: &SimulationSpec, requests: &mut Requests) {
        let width = ui.available_width();
        if !window.is_presenting() {
            let left = SidePanel::controls(width);
            left.show_collapsible(ui, &mut window.sizes, &mut window.controls, |ui, _| {
                let fault = self.diagrams.check(&self.editor.draft.sweep).err();
                self.run_bar(ui, fault.as_ref());
                ui.separator();
                // Each preset has its own scroll position.
                let id = ("diagram controls", self.editor.saved_state_number());
                let (sweep, pins) = (&mut self.editor.draft.sweep, &mut self.pins);
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .id_salt(id)
                    .show(ui, |ui| controls::show(ui, sweep, pins, fault.as_ref(), requests));
            });
        }
        self.follow(ui);
        let range = 220.0..=(0.3 * width).clamp(230.0, 520.0);
        let right = SidePanel { name: "sweep readout", edge: Edge::Right, usual: 360.0, range, frame: None };
        let is_presenting = window.is_presenting();
        right.show(ui, &mut window.sizes, |ui, _| {
            self.map_options(ui, is_presenting, requests);
            ui.separator();
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.readout(ui, requests));
        });
        if !window.is_presenting() {
            self.gallery(ui, &mut window.sizes);
        }
        CentralPanel::default().show(ui, |ui| {
            self.area = Some(ui.available_rect_before_wrap());
            self.measure(ui.ctx());
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
            self.diagrams.recolor(&self.editor.draft.sweep, dragging);
        } else if self.follow_changes {
            self.run(dragging);
        } else if !dragging {
            self.diagrams.recall_alike(&self.editor.draft.sweep);
        }
    }

    /// Computes the settings under the controls; a fault is shown beside its field.
    fn run(&mut self, passing: bool) {
        if self.diagrams.run(&self.editor.draft.sweep, &self.clean(), passing).is_ok() {
            self.look_at_present();
        }
    }

    /// Adapts the map's options to the present diagram, which may be another one.
    fn look_at_present(&mut self) {
        self.comparison.show(self.diagrams.present.number);
        let diagram = &self.diagrams.present.diagram;
        if Arc::ptr_eq(diagram.spec(), &self.shown_spec) {
            return;
        }
        let before = std::mem::replace(&mut self.shown_spec, Arc::clone(diagram.spec()));
        self.style = MapStyle { map: self.style.map.within(diagram), ..self.style };
        self.hovered = None;
        self.chosen = self.chosen.and_then(|chosen| {
            let PanelPixel { pixel: [row, column], compared: None } = chosen else { return Some(chosen) };
            let (rows, columns) = (before.rows.values(), before.columns.values());
            let pixel = pixel_of(diagram.spec(), &before, [*rows.get(row)?, *columns.get(column)?])?;
            Some(PanelPixel { pixel, compared: None })
        });
    }
}

/// The settings under the controls, to restore in the next session.
#[derive(Debug, Serialize, Deserialize)]
struct SweepMemory {
    /// The present preset's text.
    preset: String,
    /// The preset as last opened or saved.
    clean: String,
    file: Option<PathBuf>,
    /// True if the diagram was being computed, which then goes on.
    #[serde(default)]
    running: bool,
    /// The positions in the library's order of creation of the diagrams that are compared, and the index of the present
    /// one among them.
    #[serde(default, rename = "beside")]
    compared: Vec<u64>,
    #[serde(default, rename = "place")]
    index: usize,
    #[serde(default)]
    pins: Pins,
}

impl RegisteredTab for PhasePanel {
    const INFO: TabInfo = TabInfo {
        title: "Phase diagram",
        preset_kinds: &["Sweep"],
        presets_heading: "Phase diagrams",
        keys: &[
            ("Arrows on the phase diagram", "Choose a pixel; first Tab to the diagram"),
            ("Enter on the phase diagram", "Show the chosen pixel as a landscape"),
        ],
        exports: &[ExportKind::Figure, ExportKind::Data],
        has_plots: false,
        presented_size: vec2(1120.0, 630.0),
    };

    fn begin(start: &mut Start<'_>) -> PhasePanel {
        let (context, library) = (start.cc.egui_ctx.clone(), start.options.diagrams.clone());
        let mut panel = PhasePanel::new(context, first_sweep(), library, start.options.worth_asking);
        if let Some(text) = panel.refused() {
            start.messages.report("Some kept diagrams can't be used", text);
        }
        start.restore_memory("The last phase diagram's preset was not restored", |memory| panel.restore_memory(memory));
        panel.offer_example();
        panel
    }
}

impl Tab for PhasePanel {
    fn target(&self) -> Option<(&Path, Overwrite)> {
        self.editor.target()
    }

    fn status(&self) -> EditorStatus {
        let SweepPreset { title, description, .. } = self.named();
        self.editor.status(&title, &description)
    }

    fn to_save(&self) -> PresetDraft {
        let draft = self.draft();
        // A title that the user has given stays.
        let is_own = self.editor.file().is_some() && !is_made_title(&self.clean());
        let preset = if is_own { draft } else { as_changed((*self.clean()).clone(), draft.sweep) };
        self.editor.preset_draft(Preset::Sweep(preset))
    }

    fn saved(&mut self, written: PresetDraft, file: &Path) {
        if let Some(saved) = self.editor.saved(written, file) {
            self.diagrams.relabel_sweep(saved);
        }
    }

    fn undo_or_redo(&mut self, step: HistoryStep) {
        let before = self.editor.saved_state_number();
        self.editor.undo_or_redo(step);
        if self.editor.saved_state_number() != before {
            // The metric is saved with the preset.
            self.style.metric = self.preset().sweep.metric;
            self.diagrams.relabel_sweep(&self.clean());
        }
    }

    fn open(
        &mut self,
        content: OpenedContent,
        file: Option<&Path>,
        _requests: &mut Requests,
    ) -> Result<(), OpenedContent> {
        match content {
            OpenedContent::Result(result) => self.open_result(*result),
            OpenedContent::Preset(preset) => match *preset {
                Preset::Sweep(preset) => self.open_sweep(preset, file.map(Path::to_owned)),
                other => return Err(OpenedContent::Preset(Box::new(other))),
            },
            other => return Err(other),
        }
        Ok(())
    }

    fn to_memory(&self) -> Memory {
        let mut preset = self.draft();
        // Settings that cannot be run could not be read again.
        if preset.sweep.check().is_err() {
            preset.sweep = (**self.diagrams.newest().spec()).clone();
        }
        let text = |preset: SweepPreset| Preset::Sweep(preset).to_ron();
        let (clean, file) = (text((*self.clean()).clone()), self.editor.file().map(Path::to_owned));
        let (compared, index) = self.comparison.to_memory(&self.diagrams.library);
        let (preset, running, pins) = (text(preset), self.is_running(), self.pins.clone());
        Memory::new(&SweepMemory { preset, clean, file, running, compared, index, pins })
    }

    fn logic(&mut self, _frame: TabFrame, requests: &mut Requests) {
        for (title, text) in self.diagrams.poll() {
            requests.actions.push(Action::Report { title: title.to_owned(), text });
        }
        self.look_at_present();
        self.raw.poll(self.diagrams.is_running(), requests);
    }

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests) {
        self.draw(ui, window.layout, window.simulation, requests);
    }

    fn area(&self) -> Option<Rect> {
        self.area
    }

    fn export_source(&mut self) -> Arc<dyn ExportSource> {
        let (present, metric, together) = (&self.diagrams.present, self.style.metric, self.compared());
        Arc::new(DiagramExport {
            saved: self.named_result(present, present.preset.sweep.metric),
            shown: self.named_result(present, metric),
            present: together.iter().position(|(titled, _)| titled.number == present.number).unwrap_or_default(),
            together: together.into_iter().map(|(it, title)| (self.named_result(it, metric), title)).collect(),
            style: self.style,
            raw: self.raw.plan(&self.diagrams),
        })
    }
}

impl PhasePanel {
    /// Restores the settings of the last session, and their diagram if it was kept. Missing pixels are computed if they
    /// were being computed.
    fn restore_memory(&mut self, memory: SweepMemory) -> Result<(), String> {
        let sweep = |preset| if let Preset::Sweep(preset) = preset { Some(preset) } else { None };
        let stored = |text: &str, what: &str| stored_preset(text, what, "sweep", sweep);
        let preset = stored(&memory.preset, "the sweep of the last session")?;
        let clean = Arc::new(stored(&memory.clean, "the preset of the last session's sweep")?);
        self.pins = memory.pins;
        self.put(preset, None);
        self.diagrams.reset(self.editor.draft.sweep.clone(), Arc::clone(&clean));
        self.editor = Editor::new(self.preset().clone(), Arc::clone(&clean), memory.file);
        let sweep = self.preset().sweep.clone();
        self.diagrams.recall_alike(&sweep);
        let present = self.diagrams.present.number;
        self.comparison = Comparison::of_memory(&memory.compared, memory.index, present, &self.diagrams.library);
        if memory.running {
            self.diagrams.run(&sweep, &clean, false).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Returns the sweep of a first start.
fn first_sweep() -> SweepPreset {
    let sweep = |preset: &Preset| if let Preset::Sweep(preset) = preset { Some(preset.clone()) } else { None };
    built_ins().iter().find_map(|built_in| sweep(&built_in.preset)).expect("some built-in presets are sweeps")
}
