//! The landscape tab's editor, whose draft is a document at a step of its lesson.

use std::path::{Path, PathBuf};

use valleyscope_engine::simulation::{Record, SettingError};
use valleyscope_experiments::preset::{Beside, LandscapePreset, LessonDraft, LessonStep, Preset, TitledSimulation};
use valleyscope_experiments::view::ViewSettings;

use crate::app::controls::{SliderId, sliders_set_by};
use crate::app::document::Document;
use crate::app::editor::{Draft, Editor, PresetDraft};

/// A document, and its lesson at a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LandscapeDraft {
    pub document: Document,
    /// The lesson; one without steps is none.
    pub lesson: LessonDraft,
    lesson_step: usize,
}

/// The state in which a document was opened or saved.
#[derive(Clone, Debug)]
pub(super) struct SavedLandscape {
    pub preset: LandscapePreset,
    /// The document in that state.
    clean: LandscapeDraft,
}

impl LandscapeDraft {
    /// Returns the document of a preset at a step of its lesson. `view` applies where the preset has none.
    fn new(preset: &LandscapePreset, lesson_step: usize, view: ViewSettings) -> LandscapeDraft {
        let lesson = LessonDraft::of(preset);
        // A preset whose lesson does not fit its own simulation is refused when it is read.
        let spec = lesson.simulation_at(lesson_step).unwrap_or_else(|_| preset.simulation.clone());
        let view = lesson.view_at(lesson_step).unwrap_or(view);
        let beside = lesson.beside_at(lesson_step, &spec).unwrap_or_default();
        LandscapeDraft { document: Document { spec, view, beside }, lesson, lesson_step }
    }

    /// Shows a lesson step: all settings of the lesson get their values after this step. The view and the simulations
    /// beside are those of the step if the lesson has any. Other settings stay.
    fn go_to(&mut self, step: usize) -> Result<(), SettingError> {
        let spec = self.lesson.applied(&self.document.spec, step)?;
        if self.lesson.has_beside() {
            self.document.beside = self.lesson.beside_at(step, &spec)?;
        }
        self.document.spec = spec;
        if let Some(view) = self.lesson.view_at(step) {
            self.document.view = view;
        }
        self.lesson_step = step;
        Ok(())
    }
}

impl Draft for LandscapeDraft {
    type Saved = SavedLandscape;

    /// Returns whether the draft differs by more than the settings and the view of the lesson step.
    fn differs_from(&self, saved: &SavedLandscape) -> bool {
        let LandscapeDraft { document, lesson, lesson_step } = self;
        let clean = &saved.clean;
        if lesson.steps != clean.lesson.steps {
            return true;
        }
        let view = lesson.view_at(*lesson_step);
        if document.view != *view.as_ref().unwrap_or(&clean.document.view) {
            return true;
        }
        let at_step = lesson.applied(&clean.document.spec, *lesson_step).and_then(|spec| {
            let beside = match clean.lesson.has_beside() {
                true => clean.lesson.beside_at(*lesson_step, &spec)?,
                false => clean.document.beside.clone(),
            };
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
        let clean = LandscapeDraft::new(&preset, lesson_step, view);
        Some(SavedLandscape { preset, clean })
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

    /// Restores an editor; `document`, the lesson and its step may differ from the preset's.
    pub(super) fn restored(
        preset: LandscapePreset,
        file: Option<PathBuf>,
        document: Document,
        lesson: Option<LessonDraft>,
        lesson_step: usize,
    ) -> LandscapeEditor {
        let clean = opened(&preset, &document.view);
        let lesson = lesson.unwrap_or_else(|| clean.lesson.clone());
        let lesson_step = lesson_step.min(lesson.steps.len().saturating_sub(1));
        Editor::new(LandscapeDraft { document, lesson, lesson_step }, SavedLandscape { preset, clean }, file)
    }

    /// Opens another preset. Undo restores the present one.
    pub(super) fn open_preset(&mut self, preset: LandscapePreset, file: Option<PathBuf>) {
        let draft = opened(&preset, &self.draft.document.view);
        self.open(draft.clone(), SavedLandscape { preset, clean: draft }, file);
    }

    /// Returns the document as a preset with title and description of the opened one. What the lesson sets has its values
    /// before the first step.
    pub(super) fn preset(&self) -> LandscapePreset {
        let LandscapeDraft { document: Document { spec, view, .. }, lesson, lesson_step } = &self.draft;
        let is_view_of_lesson = lesson.view_at(*lesson_step).is_some();
        // What the steps of a lesson show beside theirs belongs to the steps.
        let is_of_steps = lesson.steps.iter().any(|step| !step.beside.is_empty());
        LandscapePreset {
            simulation: lesson.under(spec),
            view: if is_view_of_lesson { lesson.view.clone() } else { Some(view.clone()) },
            beside: if is_of_steps { lesson.beside.clone() } else { self.beside() },
            lesson: lesson.steps.clone(),
            changes: Vec::new(),
            ..self.saved_state().preset.clone()
        }
    }

    /// Describes the simulations beside the first one.
    fn beside(&self) -> Vec<Beside> {
        let Document { spec, beside, .. } = &self.draft.document;
        beside.iter().map(|beside| Beside::describing(beside, spec)).collect()
    }

    /// Returns the document as a preset without a lesson, whose settings are the present ones.
    pub(super) fn present_preset(&self) -> LandscapePreset {
        let Document { spec, view, .. } = &self.draft.document;
        LandscapePreset {
            simulation: spec.clone(),
            view: Some(view.clone()),
            beside: self.beside(),
            lesson: Vec::new(),
            ..self.preset()
        }
    }

    /// Returns a preset of a recorded session and those beside it, without a lesson.
    pub(super) fn session_preset(&self, session: Record, beside: Vec<Record>) -> LandscapePreset {
        let Record { spec: simulation, changes } = session;
        let titles = self.draft.document.beside.iter().map(|beside| beside.title.clone());
        let described = |(title, Record { spec, changes })| Beside {
            changes,
            ..Beside::describing(&TitledSimulation { title, spec }, &simulation)
        };
        let beside = titles.zip(beside).map(described).collect();
        LandscapePreset { simulation, changes, beside, ..self.present_preset() }
    }

    /// Makes a draft of this preset that replaces the saved state when it is saved.
    pub(super) fn document_draft(&self, preset: LandscapePreset) -> PresetDraft {
        let saved = &self.saved_state().preset;
        let has_changes = !saved.changes.is_empty() || saved.beside.iter().any(|beside| !beside.changes.is_empty());
        PresetDraft {
            lesson_step: self.lesson_step(),
            drops_changes: has_changes,
            drops_settings: self.differs_from_step(),
            ..self.preset_draft(Preset::Landscape(preset))
        }
    }

    /// Makes a preset of a recorded session and those beside it, apart from the document's own, with its title and
    /// description.
    pub(super) fn session_draft(&self, session: Record, beside: Vec<Record>) -> PresetDraft {
        let preset = self.session_preset(session, beside);
        PresetDraft { replaces: None, ..self.preset_draft(Preset::Landscape(preset)) }
    }

    /// Returns the index of the lesson's present step, from 0, and the lesson; `None` without a lesson.
    pub(super) fn lesson(&self) -> Option<(usize, &[LessonStep])> {
        let lesson = self.draft.lesson.steps.as_slice();
        (!lesson.is_empty()).then_some((self.lesson_step(), lesson))
    }

    /// Returns the sliders that the lesson's step sets, or else those of the last step before it that sets any.
    pub(super) fn lesson_sliders(&self) -> Vec<SliderId> {
        let Some((present, steps)) = self.lesson() else { return Vec::new() };
        let lesson = &self.draft.lesson;
        let of_step = |step: usize| {
            let before = match step {
                0 => lesson.simulation.clone(),
                _ => lesson.simulation_at(step - 1).ok()?,
            };
            let sliders = sliders_set_by(&steps[step].set, &before, &lesson.simulation_at(step).ok()?);
            (!sliders.is_empty()).then_some(sliders)
        };
        (0..=present).rev().find_map(of_step).unwrap_or_default()
    }

    pub(super) fn lesson_step(&self) -> usize {
        self.draft.lesson_step
    }

    /// Returns whether the view or a setting of the lesson is another one than at its step.
    fn differs_from_step(&self) -> bool {
        let LandscapeDraft { document, lesson, lesson_step } = &self.draft;
        let is_other_view = lesson.view_at(*lesson_step).is_some_and(|view| view != document.view);
        let is_other = lesson.applied(&document.spec, *lesson_step).is_ok_and(|spec| {
            let beside = lesson.beside_at(*lesson_step, &spec);
            spec != document.spec || lesson.has_beside() && beside.is_ok_and(|beside| beside != document.beside)
        });
        !lesson.steps.is_empty() && (is_other || is_other_view)
    }

    /// Goes to a lesson step.
    pub(super) fn go_to_step(&mut self, step: usize) -> Result<(), SettingError> {
        let mut draft = self.draft.clone();
        draft.go_to(step)?;
        self.change(|editor| editor.draft = draft);
        Ok(())
    }

    /// Edits the lesson in an undo step of its own, and shows the step that `edit` returns as [`go_to_step`] does. What
    /// the lesson does not set any more is as before its first step.
    ///
    /// [`go_to_step`]: LandscapeEditor::go_to_step
    pub(super) fn edit_lesson(&mut self, edit: impl FnOnce(&mut LessonDraft) -> usize) -> Result<(), SettingError> {
        let mut draft = self.draft.clone();
        let had_beside = draft.lesson.has_beside();
        draft.document.spec = draft.lesson.under(&draft.document.spec);
        let step = edit(&mut draft.lesson);
        let shown = if draft.lesson.steps.is_empty() { Ok(()) } else { draft.go_to(step) };
        if shown.is_err() {
            draft.lesson_step = step;
        }
        if had_beside && !draft.lesson.has_beside() {
            draft.document.beside.clear();
        }
        self.change(|editor| editor.draft = draft);
        shown
    }

    /// Begins a lesson with one step, which shows the document as it is.
    pub(super) fn begin_lesson(&mut self) {
        self.change(|editor| {
            let (beside, Document { spec, view, .. }) = (editor.beside(), editor.draft.document.clone());
            editor.draft.lesson = LessonDraft::begin(spec, beside, view);
            editor.draft.lesson_step = 0;
        });
    }
}

/// Returns the document that a preset opens as: with a lesson, at its first step. Without a view in the preset, the
/// previous view stays, except for the camera of another landscape.
fn opened(preset: &LandscapePreset, view: &ViewSettings) -> LandscapeDraft {
    let as_before = || {
        let ViewSettings { follow, camera, orbit, .. } = ViewSettings::default();
        ViewSettings { follow, camera, orbit, ..view.clone() }
    };
    LandscapeDraft::new(preset, 0, preset.view.clone().unwrap_or_else(as_before))
}
