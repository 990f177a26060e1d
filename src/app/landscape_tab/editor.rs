//! The landscape tab's editor, whose draft is a document at a step of its lesson.

use std::path::{Path, PathBuf};

use valleyscope_engine::simulation::{Record, Setting, SettingError, SimulationSpec};
use valleyscope_experiments::preset::{Beside, LandscapePreset, LessonStep, Preset, TitledSimulation};
use valleyscope_experiments::view::ViewSettings;

use crate::app::controls::{SliderId, sliders_set_by};
use crate::app::document::Document;
use crate::app::editor::{Draft, Editor, PresetDraft};

/// A document, and its lesson step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LandscapeDraft {
    pub document: Document,
    lesson_step: usize,
}

/// The state in which a document was opened or saved.
#[derive(Clone, Debug)]
pub(super) struct SavedLandscape {
    pub preset: LandscapePreset,
    /// The document in that state.
    clean: LandscapeDraft,
}

impl SavedLandscape {
    /// Returns `spec` with all settings that the lesson ever sets at their values after a step. Other settings stay.
    fn at_step(&self, spec: &SimulationSpec, step: usize) -> Result<SimulationSpec, SettingError> {
        let target = self.preset.simulation_at(step)?;
        let mut spec = spec.clone();
        for touched in self.preset.lesson.iter().flat_map(|step| &step.set) {
            if let Some(setting) = same_setting_of(&target, touched) {
                spec.apply(&setting)?;
            }
        }
        Ok(spec)
    }
}

impl Draft for LandscapeDraft {
    type Saved = SavedLandscape;

    /// Returns whether the draft differs by more than the settings of the lesson step.
    fn differs_from(&self, saved: &SavedLandscape) -> bool {
        let (document, clean) = (&self.document, &saved.clean.document);
        if document.view != clean.view {
            return true;
        }
        if self.lesson_step == saved.clean.lesson_step {
            return (&document.spec, &document.beside) != (&clean.spec, &clean.beside);
        }
        let at_step = saved.at_step(&clean.spec, self.lesson_step).and_then(|spec| {
            let beside = saved.preset.beside_at(self.lesson_step, &spec)?;
            Ok(spec == document.spec && beside == document.beside)
        });
        !at_step.unwrap_or(false)
    }

    fn saved_as(written: PresetDraft, _file: &Path, before: &SavedLandscape) -> Option<SavedLandscape> {
        let PresetDraft { preset: Preset::Landscape(preset), lesson_step, .. } = written else { return None };
        // The saved camera and direction are the current ones; the document keeps its initial ones.
        let clean = &before.clean.document.view;
        let view = ViewSettings {
            camera: clean.camera,
            orbit: clean.orbit,
            ..preset.view.clone().unwrap_or_else(|| clean.clone())
        };
        let beside = preset.beside_at(lesson_step, &preset.simulation).ok()?;
        let document = Document { spec: preset.simulation.clone(), view, beside };
        Some(SavedLandscape { preset, clean: LandscapeDraft { document, lesson_step } })
    }

    /// Does nothing, as title and description belong to the preset alone.
    fn take_description(&mut self, _preset: &Preset) {}
}

/// The editor of a landscape's document.
pub(super) type LandscapeEditor = Editor<LandscapeDraft>;

impl LandscapeEditor {
    /// Makes an editor of a preset just opened. `view` applies where the preset has none.
    pub(super) fn opened(preset: LandscapePreset, view: &ViewSettings) -> LandscapeEditor {
        let draft = opened(&preset, view);
        Editor::new(draft.clone(), SavedLandscape { preset, clean: draft }, None)
    }

    /// Restores an editor; `document` and the lesson step may differ from the preset's.
    pub(super) fn restored(
        preset: LandscapePreset,
        file: Option<PathBuf>,
        document: Document,
        lesson_step: usize,
    ) -> LandscapeEditor {
        let clean = opened(&preset, &document.view);
        let lesson_step = lesson_step.min(preset.lesson.len().saturating_sub(1));
        Editor::new(LandscapeDraft { document, lesson_step }, SavedLandscape { preset, clean }, file)
    }

    /// Opens another preset. Undo restores the present one.
    pub(super) fn open_preset(&mut self, preset: LandscapePreset, file: Option<PathBuf>) {
        let draft = opened(&preset, &self.draft.document.view);
        self.open(draft.clone(), SavedLandscape { preset, clean: draft }, file);
    }

    /// Returns the document as a preset with title, description and lesson of the opened one.
    pub(super) fn preset(&self) -> LandscapePreset {
        let saved = &self.saved_state().preset;
        let lesson = saved.lesson.clone();
        // What the steps of a lesson show beside theirs belongs to the steps.
        let is_of_steps = lesson.iter().any(|step| !step.beside.is_empty());
        let present = self.present();
        let beside = if is_of_steps { saved.beside.clone() } else { present.beside };
        LandscapePreset { lesson, beside, ..present }
    }

    /// Returns the document as a preset without the lesson, which belongs to the saved preset and need not fit any more.
    pub(super) fn present(&self) -> LandscapePreset {
        let Document { spec, view, beside } = &self.draft.document;
        LandscapePreset {
            simulation: spec.clone(),
            view: Some(view.clone()),
            beside: beside.iter().map(|beside| Beside::describing(beside, spec)).collect(),
            lesson: Vec::new(),
            changes: Vec::new(),
            ..self.saved_state().preset.clone()
        }
    }

    /// Makes a draft of this preset that replaces the saved state when it is saved.
    pub(super) fn document_draft(&self, preset: LandscapePreset) -> PresetDraft {
        PresetDraft {
            lesson_step: self.lesson_step(),
            drops_changes: !self.saved_state().preset.changes.is_empty(),
            ..self.preset_draft(Preset::Landscape(preset))
        }
    }

    /// Makes a preset of a recorded session and those beside it, apart from the document's own, with its title and
    /// description.
    pub(super) fn session_draft(&self, session: Record, beside: Vec<Record>) -> PresetDraft {
        let Record { spec: simulation, changes } = session;
        let titles = self.draft.document.beside.iter().map(|beside| beside.title.clone());
        let described = |(title, Record { spec, changes })| Beside {
            changes,
            ..Beside::describing(&TitledSimulation { title, spec }, &simulation)
        };
        let beside = titles.zip(beside).map(described).collect();
        let preset = LandscapePreset { simulation, changes, beside, ..self.present() };
        PresetDraft { replaces: None, ..self.preset_draft(Preset::Landscape(preset)) }
    }

    /// Returns the index of the lesson's present step, from 0, and the lesson; `None` without a lesson.
    pub(super) fn lesson(&self) -> Option<(usize, &[LessonStep])> {
        let lesson = self.saved_state().preset.lesson.as_slice();
        (!lesson.is_empty()).then_some((self.lesson_step(), lesson))
    }

    /// Returns the sliders that the lesson's step sets, or else those of the last step before it that sets any.
    pub(super) fn lesson_sliders(&self) -> Vec<SliderId> {
        let Some((present, lesson)) = self.lesson() else { return Vec::new() };
        let preset = &self.saved_state().preset;
        let of_step = |step: usize| {
            let before = match step {
                0 => preset.simulation.clone(),
                _ => preset.simulation_at(step - 1).ok()?,
            };
            let sliders = sliders_set_by(&lesson[step].set, &before, &preset.simulation_at(step).ok()?);
            (!sliders.is_empty()).then_some(sliders)
        };
        (0..=present).rev().find_map(of_step).unwrap_or_default()
    }

    pub(super) fn lesson_step(&self) -> usize {
        self.draft.lesson_step
    }

    /// Goes to a lesson step: all settings of the lesson get their values after this step. Other settings stay.
    pub(super) fn go_to_step(&mut self, step: usize) -> Result<(), SettingError> {
        let saved = self.saved_state();
        let spec = saved.at_step(&self.draft.document.spec, step)?;
        let has_beside =
            !saved.preset.beside.is_empty() || saved.preset.lesson.iter().any(|step| !step.beside.is_empty());
        // What the user has put beside a lesson that has nothing beside it stays.
        let beside = if has_beside { Some(saved.preset.beside_at(step, &spec)?) } else { None };
        self.change(|editor| {
            let document = &mut editor.draft.document;
            document.spec = spec;
            document.beside = beside.unwrap_or_else(|| std::mem::take(&mut document.beside));
            editor.draft.lesson_step = step;
        });
        Ok(())
    }
}

/// Returns the document that a preset opens as: with a lesson, at its first step. Without a view in the preset, the
/// previous view stays, except for the camera of another landscape.
fn opened(preset: &LandscapePreset, view: &ViewSettings) -> LandscapeDraft {
    // A preset whose lesson does not fit its own simulation is refused when it is read.
    let spec = preset.simulation_at(0).unwrap_or_else(|_| preset.simulation.clone());
    let as_before = || {
        let ViewSettings { follow, camera, orbit, .. } = ViewSettings::default();
        ViewSettings { follow, camera, orbit, ..view.clone() }
    };
    let beside = preset.beside_at(0, &spec).unwrap_or_default();
    let document = Document { spec, view: preset.view.clone().unwrap_or_else(as_before), beside };
    LandscapeDraft { document, lesson_step: 0 }
}

/// Returns the value in `simulation` of the same kind of setting.
fn same_setting_of(simulation: &SimulationSpec, setting: &Setting) -> Option<Setting> {
    Some(match *setting {
        Setting::Landscape(_) => Setting::Landscape(simulation.landscape),
        Setting::Noise(_) => Setting::Noise(simulation.noise),
        Setting::Temperature(_) => Setting::Temperature(simulation.temperature),
        Setting::Steps(_) => Setting::Steps(simulation.steps),
        Setting::Rule { optimizer, .. } => {
            let found = simulation.optimizers.iter().find(|other| other.id == optimizer)?;
            Setting::Rule { optimizer, rule: found.rule }
        }
    })
}
