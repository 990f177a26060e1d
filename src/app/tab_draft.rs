//! The preset of any tab on its way to a file.

use valleyscope_experiments::preset::{Preset, SweepPreset};

use super::editor::PresetDraft;
use super::landscape_editor::LandscapeDraft;

/// A preset that may be saved, of whichever tab.
#[derive(Clone, Debug)]
pub(super) enum TabDraft {
    Landscape(Box<PresetDraft<LandscapeDraft>>),
    Phase(Box<PresetDraft<SweepPreset>>),
    Training(Box<PresetDraft<Preset>>),
}

impl TabDraft {
    /// The title, and the sentence about it.
    pub(super) fn words_mut(&mut self) -> [&mut String; 2] {
        match self {
            TabDraft::Landscape(draft) => [&mut draft.preset.title, &mut draft.preset.description],
            TabDraft::Phase(draft) => [&mut draft.preset.title, &mut draft.preset.description],
            TabDraft::Training(draft) => draft.preset.words_mut(),
        }
    }

    /// The number of its recorded changes.
    pub(super) fn changes(&self) -> usize {
        match self {
            TabDraft::Landscape(draft) => draft.preset.changes.len(),
            TabDraft::Phase(_) | TabDraft::Training(_) => 0,
        }
    }

    pub(super) fn preset(&self) -> Preset {
        match self {
            TabDraft::Landscape(draft) => Preset::Landscape(draft.preset.clone()),
            TabDraft::Phase(draft) => Preset::Sweep(draft.preset.clone()),
            TabDraft::Training(draft) => draft.preset.clone(),
        }
    }
}
