//! The phase diagram tab's implementation of [`Tab`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, Rect, Ui, vec2};
use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::{Preset, SweepPreset, built_ins};

use super::comparison::Comparison;
use super::export::ExportKind;
use super::panel::PhasePanel;
use super::run_bar::time;
use super::titled_diagram::TitledDiagram;
use crate::app::editor::{AnyEditor, Editor, EditorStatus, HistoryStep, PresetDraft};
use crate::app::live::{Action, Requests};
use crate::app::opened::OpenedContent;
use crate::app::tab::{Memory, RegisteredTab, Start, Tab, TabFrame, TabInfo, TabWindow, UnsavedResults, stored_preset};
use crate::figure::{as_changed, is_made_title};

/// The settings under the controls, to restore in the next session.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SweepMemory {
    /// The present preset's text.
    preset: String,
    /// The preset as last opened or saved.
    clean: String,
    file: Option<PathBuf>,
    /// True if the diagram was being computed, which then goes on.
    #[serde(default)]
    running: bool,
    /// The places in the order of creation of the kept diagrams that are shown together, and which of them is shown in
    /// place of the present one.
    #[serde(default)]
    beside: Vec<u64>,
    #[serde(default)]
    place: usize,
}

impl RegisteredTab for PhasePanel {
    const INFO: TabInfo = TabInfo {
        title: "Phase diagram",
        in_words: "the phase diagram",
        preset_kinds: &["Sweep"],
        presets_heading: "Phase diagrams",
        keys: &[
            ("Arrows on the phase diagram", "Choose a pixel; first Tab to the diagram"),
            ("Enter on the phase diagram", "Show the chosen pixel as a landscape"),
        ],
        has_plots: false,
        presented_size: vec2(1120.0, 630.0),
    };

    fn begin(start: &mut Start<'_>) -> PhasePanel {
        let (context, kept) = (start.cc.egui_ctx.clone(), start.options.diagrams.clone());
        let mut panel = PhasePanel::new(context, first_sweep(), kept, start.options.worth_asking);
        if let Some(text) = panel.refused() {
            start.messages.report("Some kept diagrams can't be used", text);
        }
        start.restore_memory("The last phase diagram's preset was not restored", |memory| panel.restore_memory(memory));
        panel
    }
}

impl Tab for PhasePanel {
    fn editor(&self) -> &dyn AnyEditor {
        &self.editor
    }

    fn editor_mut(&mut self) -> &mut dyn AnyEditor {
        &mut self.editor
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
        if let Some(saved) = Editor::saved(&mut self.editor, written, file) {
            self.diagrams.relabel_sweep(saved);
        }
    }

    fn undo_or_redo(&mut self, step: HistoryStep) {
        let before = self.editor.saved_state_number();
        self.editor.undo_or_redo(step);
        if self.editor.saved_state_number() != before {
            // The metric is saved with the preset.
            self.look.metric = self.preset().sweep.metric;
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
            other @ OpenedContent::Run(_) => return Err(other),
        }
        Ok(())
    }

    fn to_memory(&self) -> Memory {
        let mut preset = self.draft();
        // Settings that cannot be run could not be read again.
        if preset.sweep.check().is_err() {
            preset.sweep = (**self.diagrams.present.spec()).clone();
        }
        let text = |preset: SweepPreset| Preset::Sweep(preset).to_ron();
        let (clean, file) = (text((*self.clean()).clone()), self.editor.file().map(Path::to_owned));
        let (beside, place) = self.comparison.to_memory(&self.diagrams.library);
        Memory::new(&SweepMemory { preset: text(preset), clean, file, running: self.is_running(), beside, place })
    }

    fn logic(&mut self, _frame: TabFrame, requests: &mut Requests) {
        for (title, text) in self.diagrams.poll() {
            requests.actions.push(Action::Report { title: title.to_owned(), text });
        }
        self.look_at_present();
        self.exports.poll(requests);
        self.raw.poll(self.diagrams.is_running(), requests);
    }

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests) {
        self.draw(ui, window.layout, window.simulation, requests);
    }

    fn dialogs(&mut self, ctx: &Context, _requests: &mut Requests) {
        self.ask_about_kept(ctx);
    }

    fn area(&self) -> Option<Rect> {
        self.area
    }

    fn unsaved_results(&self, worth_asking: Duration) -> UnsavedResults {
        let words = |(titled, worked): (&TitledDiagram, Duration)| {
            let [rows, columns] = titled.spec().shape();
            format!("{rows} × {columns} pixels, {}: {}", time(worked), titled.title())
        };
        let lines = self.diagrams.unsaved(worth_asking).into_iter().map(words).collect();
        UnsavedResults { name: ["a phase diagram", "phase diagrams"], lines }
    }

    fn export_first_unsaved(&mut self, ctx: &Context, worth_asking: Duration) {
        let Some((titled, _)) = self.diagrams.unsaved(worth_asking).first().copied() else { return };
        self.export(ctx, titled.clone(), ExportKind::Npz);
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
        self.put(preset, None);
        self.diagrams.reset(self.editor.draft.sweep.clone(), Arc::clone(&clean));
        self.editor = Editor::new(self.preset().clone(), Arc::clone(&clean), memory.file);
        let sweep = self.preset().sweep.clone();
        self.diagrams.recall_alike(&sweep);
        self.comparison = Comparison::of_memory(&memory.beside, memory.place, &self.diagrams.library);
        if memory.running {
            self.diagrams.run(&sweep, &clean, false).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Returns the sweep of a first start.
fn first_sweep() -> SweepPreset {
    let mut sweeps = built_ins().iter().filter_map(|built_in| match &built_in.preset {
        Preset::Sweep(preset) => Some(preset.clone()),
        _ => None,
    });
    sweeps.next().expect("some built-in presets are sweeps")
}
