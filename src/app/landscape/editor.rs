//! The landscape tab's editor, whose draft is a document at a step of its lesson.

use std::path::{Path, PathBuf};

use valleyscope_engine::simulation::{Record, SettingError, SimulationSpec};
use valleyscope_experiments::preset::{
    LandscapePreset, LessonDraft, LessonStep, Preset, PresetSimulation, TitledSimulation, changed_settings,
    titles_side_by_side,
};
use valleyscope_experiments::view::ViewSettings;

use crate::app::shell::editor::{Draft, Editor, PresetDraft};

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
        let spec = lesson.spec_at(lesson_step).unwrap_or_else(|_| preset.spec().clone());
        let view = lesson.view_at(lesson_step).unwrap_or(view);
        let simulations = lesson.simulations_at(lesson_step, &spec);
        let simulations = simulations.unwrap_or_else(|_| vec![TitledSimulation::untitled(spec)]);
        LandscapeDraft { document: Document { simulations, view }, lesson, lesson_step }
    }

    /// Shows a lesson step: all settings of the lesson get their values after this step. The view and the simulations
    /// are those of the step if the lesson has any. Other settings stay.
    fn go_to(&mut self, step: usize) -> Result<(), SettingError> {
        self.document.simulations = self.simulations_at(step, &self.document)?;
        if let Some(view) = self.lesson.view_at(step) {
            self.document.view = view;
        }
        self.lesson_step = step;
        Ok(())
    }

    /// Returns the simulations of `document` with the settings of a lesson step, and with the others that it shows if
    /// the lesson has any.
    fn simulations_at(&self, step: usize, document: &Document) -> Result<Vec<TitledSimulation>, SettingError> {
        let first = self.lesson.applied(document.spec(0), step)?;
        if self.lesson.has_several() {
            return self.lesson.simulations_at(step, &first);
        }
        let mut simulations = document.simulations.clone();
        simulations[0].spec = first;
        Ok(simulations)
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
        let at_step = clean.simulations_at(*lesson_step, &clean.document);
        !at_step.is_ok_and(|simulations| simulations == document.simulations)
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

    /// Returns the document as a preset with title and description of the opened one. What the lesson sets has its
    /// values before the first step.
    pub(super) fn preset(&self) -> LandscapePreset {
        let LandscapeDraft { document, lesson, lesson_step } = &self.draft;
        let is_view_of_lesson = lesson.view_at(*lesson_step).is_some();
        let mut simulations = PresetSimulation::describing(&document.simulations);
        // The simulations that the steps of a lesson compare with theirs belong to the steps.
        if lesson.steps.iter().any(|step| !step.compared.is_empty()) {
            simulations.truncate(1);
            simulations.extend(lesson.simulations.iter().skip(1).cloned());
        }
        simulations[0].spec = Some(lesson.under(document.spec(0)));
        LandscapePreset {
            simulations,
            view: if is_view_of_lesson { lesson.view.clone() } else { Some(document.view.clone()) },
            lesson: lesson.steps.clone(),
            ..self.saved_state().preset.clone()
        }
    }

    /// Returns the document as a preset without a lesson, whose settings are the present ones.
    pub(super) fn present_preset(&self) -> LandscapePreset {
        let Document { simulations, view } = &self.draft.document;
        LandscapePreset {
            simulations: PresetSimulation::describing(simulations),
            view: Some(view.clone()),
            lesson: Vec::new(),
            ..self.preset()
        }
    }

    /// Returns a preset of recorded sessions, without a lesson.
    pub(super) fn session_preset(&self, records: Vec<Record>) -> LandscapePreset {
        let titles = self.draft.document.simulations.iter().map(|simulation| simulation.title.clone());
        let titled = |(title, Record { spec, changes })| (TitledSimulation { title, spec }, changes);
        let (started, changes): (Vec<_>, Vec<_>) = titles.zip(records).map(titled).unzip();
        let mut simulations = PresetSimulation::describing(&started);
        simulations.iter_mut().zip(changes).for_each(|(simulation, changes)| simulation.changes = changes);
        LandscapePreset { simulations, ..self.present_preset() }
    }

    /// Makes a draft of this preset that replaces the saved state when it is saved.
    pub(super) fn document_draft(&self, preset: LandscapePreset) -> PresetDraft {
        let saved = &self.saved_state().preset.simulations;
        PresetDraft {
            lesson_step: self.lesson_step(),
            drops_changes: saved.iter().any(|simulation| !simulation.changes.is_empty()),
            drops_settings: self.differs_from_step(),
            ..self.preset_draft(Preset::Landscape(preset))
        }
    }

    /// Makes a preset of recorded sessions, apart from the document's own, with its title and description.
    pub(super) fn session_draft(&self, records: Vec<Record>) -> PresetDraft {
        let preset = self.session_preset(records);
        PresetDraft { replaces: None, ..self.preset_draft(Preset::Landscape(preset)) }
    }

    /// Returns the index of the lesson's present step, from 0, and the lesson; `None` without a lesson.
    pub(super) fn lesson(&self) -> Option<(usize, &[LessonStep])> {
        let lesson = self.draft.lesson.steps.as_slice();
        (!lesson.is_empty()).then_some((self.lesson_step(), lesson))
    }

    pub(super) fn lesson_step(&self) -> usize {
        self.draft.lesson_step
    }

    /// Returns whether the view or a setting of the lesson is another one than at its step.
    fn differs_from_step(&self) -> bool {
        let LandscapeDraft { document, lesson, lesson_step } = &self.draft;
        let is_other_view = lesson.view_at(*lesson_step).is_some_and(|view| view != document.view);
        let at_step = self.draft.simulations_at(*lesson_step, document);
        let is_other = at_step.is_ok_and(|simulations| simulations != document.simulations);
        !lesson.steps.is_empty() && (is_other || is_other_view)
    }

    /// Returns the settings of the lesson's step that the document does not have, as in `σ = 0.5`; none without a lesson.
    pub(super) fn settings_of_text(&self) -> Vec<String> {
        let (shown, lesson) = (self.draft.document.spec(0), &self.draft.lesson);
        let at_step = lesson.spec_at(self.lesson_step()).ok().filter(|_| !lesson.steps.is_empty());
        // A later pause and other random numbers leave the text true.
        let at_step = at_step.map(|spec| SimulationSpec { seed: shown.seed, steps: shown.steps, ..spec });
        at_step.map_or_else(Vec::new, |spec| changed_settings(&spec, shown))
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
        let had_several = draft.lesson.has_several();
        let first = draft.document.spec_mut(0);
        *first = draft.lesson.under(first);
        let step = edit(&mut draft.lesson);
        let shown = if draft.lesson.steps.is_empty() { Ok(()) } else { draft.go_to(step) };
        if shown.is_err() {
            draft.lesson_step = step;
        }
        if had_several && !draft.lesson.has_several() {
            draft.document.simulations.truncate(1);
        }
        self.change(|editor| editor.draft = draft);
        shown
    }

    /// Begins a lesson with one step, which shows the document as it is.
    pub(super) fn begin_lesson(&mut self) {
        self.change(|editor| {
            let Document { simulations, view } = &editor.draft.document;
            editor.draft.lesson = LessonDraft::begin(simulations, view.clone());
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

/// The simulations and their view, as set by the controls. Panels change it in place; the app sends the player the
/// difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// One to four simulations on one clock, which the first one sets.
    pub simulations: Vec<TitledSimulation>,
    pub view: ViewSettings,
}

impl Document {
    pub fn new(spec: SimulationSpec, view: ViewSettings) -> Document {
        Document { simulations: vec![TitledSimulation::untitled(spec)], view }
    }

    /// Returns the document with the settings of runs of it, in the order of the simulations.
    pub fn with_settings<'a>(&self, runs: impl IntoIterator<Item = &'a SimulationSpec>) -> Document {
        let mut document = self.clone();
        for (spec, run) in document.specs_mut().zip(runs) {
            for setting in spec.settings_to(run).unwrap_or_default() {
                spec.apply(&setting).expect("a setting of a run of this document fits it");
            }
        }
        document
    }

    /// Replaces the specifications, in the order of the simulations.
    pub fn set_specs(&mut self, specs: impl IntoIterator<Item = SimulationSpec>) {
        self.specs_mut().zip(specs).for_each(|(spec, new)| *spec = new);
    }

    pub fn count(&self) -> usize {
        self.simulations.len()
    }

    pub fn spec(&self, index: usize) -> &SimulationSpec {
        &self.simulations[index].spec
    }

    pub fn spec_mut(&mut self, index: usize) -> &mut SimulationSpec {
        &mut self.simulations[index].spec
    }

    pub fn specs(&self) -> impl Iterator<Item = &SimulationSpec> {
        self.simulations.iter().map(|simulation| &simulation.spec)
    }

    pub fn specs_mut(&mut self) -> impl Iterator<Item = &mut SimulationSpec> {
        self.simulations.iter_mut().map(|simulation| &mut simulation.spec)
    }

    /// Returns the titles of the simulations, such as `A: σ = 1`.
    pub fn titles(&self) -> Vec<String> {
        titles_side_by_side(&self.simulations)
    }

    /// Gives all simulations the step at which to pause and the seed of the first one, where these have changed.
    pub(crate) fn share_changed(&mut self, (steps, seed): (Option<u64>, u64)) {
        let (first_steps, first_seed) = (self.spec(0).steps, self.spec(0).seed);
        for spec in self.specs_mut() {
            if first_steps != steps {
                spec.steps = first_steps;
            }
            if first_seed != seed {
                spec.seed = first_seed;
            }
        }
    }
}
