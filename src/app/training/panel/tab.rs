//! The training tab's implementation of `Tab`.

use std::path::Path;

use egui::{Rect, Ui, vec2};
use valleyscope_experiments::preset::Preset;

use super::TrainingPanel;
use crate::app::editor::{AnyEditor, EditorStatus, PresetDraft};
use crate::app::live::Requests;
use crate::app::opened::OpenedContent;
use crate::app::tab::{Memory, RegisteredTab, Start, Tab, TabFrame, TabInfo, TabWindow};

impl RegisteredTab for TrainingPanel {
    const INFO: TabInfo = TabInfo {
        title: "Real workloads",
        in_words: "real workloads",
        preset_kinds: Preset::WORKLOADS,
        presets_heading: "Real workloads",
        keys: &[],
        has_plots: false,
        presented_size: vec2(1120.0, 630.0),
    };

    fn begin(start: &mut Start<'_>) -> TrainingPanel {
        let mut panel = TrainingPanel::new(start.cc.egui_ctx.clone(), start.options.training.clone());
        start.restore_memory("The last training's preset was not restored", |memory| panel.restore_memory(memory));
        panel
    }
}

impl Tab for TrainingPanel {
    fn editor(&self) -> &dyn AnyEditor {
        &self.editor.presets
    }

    fn editor_mut(&mut self) -> &mut dyn AnyEditor {
        &mut self.editor.presets
    }

    fn status(&self) -> EditorStatus {
        let named = self.editor.named();
        self.editor.presets.status(named.title(), named.description())
    }

    fn to_save(&self) -> PresetDraft {
        self.draft()
    }

    fn open(
        &mut self,
        content: OpenedContent,
        file: Option<&Path>,
        _requests: &mut Requests,
    ) -> Result<(), OpenedContent> {
        match content {
            OpenedContent::Run(run) => self.open_run(run),
            OpenedContent::Preset(preset) if preset.workload().is_some() => {
                self.editor.open(*preset, file.map(Path::to_owned));
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn to_memory(&self) -> Memory {
        Memory::new(&self.memory())
    }

    fn logic(&mut self, frame: TabFrame, requests: &mut Requests) {
        self.take_updates(frame.is_shown, requests);
    }

    fn ui(&mut self, ui: &mut Ui, window: TabWindow<'_>, requests: &mut Requests) {
        self.draw(ui, window.layout, window.catalog, requests);
    }

    fn area(&self) -> Option<Rect> {
        self.area
    }
}
