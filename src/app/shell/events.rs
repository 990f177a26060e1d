//! Taking in what has happened outside: in the engine, on disk, in the graphics driver.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui::{Context, ViewportCommand};
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_runs::atomic_file::Overwrite;

use super::Valleyscope;
use crate::app::files::{FileContent, FileEvent};
use crate::app::graphics::{GraphicsFault, GraphicsFaults};
use crate::app::save_preset::SavePreset;
use crate::app::tab_draft::TabDraft;

/// The longest time of a frame that is spent on taking snapshots.
const SNAPSHOT_TIME: Duration = Duration::from_millis(4);

impl Valleyscope {
    pub(super) fn take_snapshots(&mut self) {
        let begin = Instant::now();
        while let Some(snapshot) = self.engine.next_snapshot() {
            self.panels.landscape.absorb(&snapshot);
            if !self.dialogs.animation.is_recording() {
                self.engine.show_replayed(&mut self.editor.draft.document, &snapshot);
            }
            self.live.snapshot = Some(snapshot);
            if begin.elapsed() > SNAPSHOT_TIME {
                break;
            }
        }
    }

    pub(super) fn take_graphics_faults(&mut self, ctx: &Context) {
        for fault in self.faults.as_ref().map(GraphicsFaults::take).unwrap_or_default() {
            match fault {
                GraphicsFault::Error(error) => self.dialogs.messages.report(
                    "Something could not be drawn",
                    format!(
                        "{error}\n\nThe simulation goes on and nothing is lost. If the picture stays wrong, close the \
                         window and open it again: the session comes back. `valleyscope doctor` shows the graphics \
                         drivers that were found."
                    ),
                ),
                GraphicsFault::Lost(reason) => {
                    self.exit_state.leave(|exit_report| exit_report.device_lost = Some(reason));
                    self.device_lost = true;
                    ctx.send_viewport_cmd(ViewportCommand::Close);
                }
            }
        }
    }

    pub(super) fn take_answers(&mut self) {
        for event in self.dialogs.files.take_events() {
            match event {
                FileEvent::Opened { path, preset } => {
                    self.catalog.used(&path);
                    self.open_preset(*preset, Some(path));
                }
                FileEvent::OpenedRun(run) => self.open_run(run),
                FileEvent::OpenedResult { path, result } => {
                    self.catalog.used(&path);
                    self.open_result(*result);
                }
                FileEvent::Saved { path, content } => self.saved(&path, content),
                FileEvent::Gone(path) => self.catalog.forget(&path),
                FileEvent::RawFolder { folder, plan } => self.panels.phase.export_raw(plan, folder, Overwrite::No),
                FileEvent::DataFolder(folder) => self.panels.training.use_data_in(&folder),
                FileEvent::Failed { title, reason } => self.dialogs.messages.report(title, reason),
            }
        }
        if let Some(record) = self.dialogs.recording.as_ref().and_then(|recording| recording.try_recv().ok()) {
            self.dialogs.recording = None;
            self.dialogs.save_preset =
                Some(SavePreset::new(TabDraft::Landscape(Box::new(self.editor.session_draft(record))), false));
        }
        while let Some(picture) = self.dialogs.pictures.take() {
            self.dialogs.files.ask_save(FileContent::Picture(picture.image), picture.suggested_name);
        }
    }

    pub(super) fn open(&mut self, preset: LandscapePreset, file: Option<PathBuf>) {
        let title = preset.title.clone();
        if self.dialogs.animation.is_recording() {
            let text = "An animation is being exported. Open the preset when it is done, or cancel the export.";
            self.dialogs.messages.report(format!("“{title}” was not opened"), text);
            return;
        }
        let record = (!preset.changes.is_empty()).then(|| preset.record());
        self.editor.open_preset(preset, file);
        // Hidden and selected items belong to the previous document.
        self.live.hidden.clear();
        self.panels.landscape.look_anew();
        self.panels.diagnostics.look_anew();
        match record {
            Some(record) => {
                self.engine.replay(&mut self.editor.draft.document, record, &self.live);
                self.dialogs.messages.notify(format!("Opened “{title}”. Its recorded changes are repeated."));
            }
            None => {
                self.engine.load(&self.editor.draft.document);
                self.dialogs.messages.notify(format!("Opened “{title}”. Undo goes back."));
            }
        }
    }

    pub(super) fn saved(&mut self, path: &Path, content: FileContent) {
        if let FileContent::Diagram(_, exported) = content {
            self.panels.phase.exported(exported);
        } else if let FileContent::Preset(draft) = content {
            match draft {
                TabDraft::Landscape(draft) => drop(self.editor.saved(*draft, path)),
                TabDraft::Phase(draft) => self.panels.phase.saved(*draft, path),
                TabDraft::Training(draft) => drop(self.panels.training.editor_mut().saved(*draft, path)),
            }
            self.catalog.used(path);
            self.catalog.refresh(&self.context);
        }
        self.dialogs.messages.notify(format!("Saved {}", path.display()));
    }
}
