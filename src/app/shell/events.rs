//! Handles events from outside: of the player, the disk and the graphics driver.

use std::path::Path;

use egui::{Context, ViewportCommand};
use valleyscope_runs::atomic_file::Overwrite;

use super::Valleyscope;
use crate::app::files::{FileContent, FileEvent};
use crate::app::graphics::{GraphicsFault, GraphicsFaults};
use crate::app::opened::OpenedContent;
use crate::app::tabs::TabName;

impl Valleyscope {
    pub(super) fn take_graphics_faults(&mut self, ctx: &Context) {
        for fault in self.faults.as_ref().map(GraphicsFaults::take).unwrap_or_default() {
            match fault {
                GraphicsFault::Error(error) => self.dialogs.messages.report(
                    "Something could not be drawn",
                    format!(
                        "{error}\n\nThe simulation continues and nothing is lost. If the picture stays wrong, close \
                         the window and reopen it, which restores the session. `valleyscope doctor` shows the \
                         graphics drivers found."
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

    pub(super) fn take_answers(&mut self, ctx: &Context) {
        for event in self.dialogs.files.take_events() {
            match event {
                FileEvent::Opened { path, content } => {
                    if !matches!(content, OpenedContent::Run(_)) {
                        self.catalog.add_recent(&path);
                    }
                    self.open(ctx, content, Some(&path));
                }
                FileEvent::Saved { path, content } => self.saved(&path, content),
                FileEvent::Gone(path) => self.catalog.remove_recent(&path),
                FileEvent::RawFolder { folder, plan } => self.tabs.phase.export_raw(plan, folder, Overwrite::No),
                FileEvent::DataFolder(folder) => self.tabs.training.use_data_in(&folder),
                FileEvent::RunsFolder(folder) => self.tabs.training.import_runs(folder),
                FileEvent::Failed { title, reason } => self.dialogs.messages.report(title, reason),
            }
        }
        while let Some(picture) = self.dialogs.screenshots.take() {
            self.dialogs.files.ask_save(FileContent::Picture(picture.image), picture.suggested_name);
        }
    }

    pub(super) fn saved(&mut self, path: &Path, content: FileContent) {
        if let FileContent::Diagram(_, exported) = content {
            self.tabs.phase.exported(exported);
        } else if let FileContent::Preset(draft) = content {
            self.tabs.get_mut(TabName::that_opens(&draft.preset)).saved(*draft, path);
            self.catalog.add_recent(path);
            self.catalog.refresh(&self.context);
        }
        self.dialogs.messages.notify(format!("Saved {}", path.display()));
    }
}
