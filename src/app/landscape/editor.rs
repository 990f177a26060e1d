//! The landscape tab's editor, whose draft is a document at a step of its lesson.

use std::path::{Path, PathBuf};

use egui::Context;
use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Record, SettingError, SimulationSpec};
use valleyscope_experiments::preset::{
    Beside, LETTERS, LandscapePreset, LessonDraft, LessonStep, Preset, TitledSimulation, titles_side_by_side,
};
use valleyscope_experiments::view::ViewSettings;

use super::LandscapeTab;
use super::controls::{SliderId, sliders_set_by};
use super::live::Live;
use crate::app::shell::editor::{AnyEditor, Draft, Editor, HistoryStep, PresetDraft};

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

/// The simulations and their view, as set by the controls. Panels change it in place; the app sends the player the
/// difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub spec: SimulationSpec,
    pub view: ViewSettings,
    /// The simulations beside the first one, on the same clock.
    #[serde(default)]
    pub beside: Vec<TitledSimulation>,
}

impl Document {
    /// Returns a document of one simulation.
    pub fn new(spec: SimulationSpec, view: ViewSettings) -> Document {
        Document { spec, view, beside: Vec::new() }
    }

    /// Returns the document with the settings in force at the shown step of a run of it.
    pub fn in_force(&self, live: &Live) -> Document {
        let snapshots = (0..self.count()).map_while(|place| live.snapshot_of(place));
        self.with_settings(snapshots.map(|snapshot| &*snapshot.spec))
    }

    /// Returns the document with the settings of runs of it, in the order of their places.
    pub fn with_settings<'a>(&self, runs: impl IntoIterator<Item = &'a SimulationSpec>) -> Document {
        let mut document = self.clone();
        for (spec, run) in document.specs_mut().zip(runs) {
            for setting in spec.settings_to(run).unwrap_or_default() {
                spec.apply(&setting).expect("a setting of a run of this document fits it");
            }
        }
        document
    }

    /// Replaces the simulations, in the order of their places.
    pub fn set_specs(&mut self, specs: impl IntoIterator<Item = SimulationSpec>) {
        self.specs_mut().zip(specs).for_each(|(spec, new)| *spec = new);
    }

    /// Returns the number of simulations side by side.
    pub fn count(&self) -> usize {
        1 + self.beside.len()
    }

    /// Returns the simulations in the order of their places: the first is 0.
    pub fn specs(&self) -> impl Iterator<Item = &SimulationSpec> {
        std::iter::once(&self.spec).chain(self.beside.iter().map(|beside| &beside.spec))
    }

    /// Returns the simulations in the order of their places, mutable.
    pub fn specs_mut(&mut self) -> impl Iterator<Item = &mut SimulationSpec> {
        std::iter::once(&mut self.spec).chain(self.beside.iter_mut().map(|beside| &mut beside.spec))
    }

    /// Returns the titles of the simulations side by side, such as `A: σ = 1`.
    pub fn titles(&self) -> Vec<String> {
        if self.beside.is_empty() {
            return vec![LETTERS[0].to_owned()];
        }
        let others = self.beside.iter().map(|beside| (beside.title.as_deref(), &beside.spec));
        titles_side_by_side(std::iter::once((None, &self.spec)).chain(others))
    }

    /// Gives all simulations the step at which to pause and the seed of the first one, where these have changed.
    pub(crate) fn share_changed(&mut self, (steps, seed): (Option<u64>, u64)) {
        let now = (self.spec.steps, self.spec.seed);
        for beside in &mut self.beside {
            if now.0 != steps {
                beside.spec.steps = now.0;
            }
            if now.1 != seed {
                beside.spec.seed = now.1;
            }
        }
    }

    /// Calls `edit` while the simulation at this place is in the place of the first one.
    pub(crate) fn with_session<T>(&mut self, place: usize, edit: impl FnOnce(&mut Document) -> T) -> T {
        self.exchange(place);
        let edited = edit(self);
        self.exchange(place);
        edited
    }

    fn exchange(&mut self, place: usize) {
        if let Some(other) = place.checked_sub(1).and_then(|index| self.beside.get_mut(index)) {
            std::mem::swap(&mut self.spec, &mut other.spec);
        }
    }
}

// Undo while an earlier step of the run is shown.
//
// Looking back shows the settings of an earlier step, which is no change of the document. So the undo
// history holds only the settings at the last step of the run.

impl LandscapeTab {
    /// Undoes or redoes. A change of settings is undone at the step at which it was made.
    pub(super) fn undo_or_redo_in_time(&mut self, step: HistoryStep) {
        let Some(latest) = self.latest_settings() else { return self.editor.undo_or_redo(step) };
        let document = &mut self.editor.draft.document;
        let shown: Vec<SimulationSpec> = document.specs().cloned().collect();
        document.set_specs(latest.iter().cloned());
        self.editor.undo_or_redo(step);
        let document = &mut self.editor.draft.document;
        if document.specs().eq(&latest) {
            document.set_specs(shown);
            return;
        }
        if let Some((step, in_force)) = self.undone_at() {
            let in_force = self.editor.draft.document.with_settings(&in_force);
            self.player.seek_change(step, in_force.specs().cloned().collect());
        }
        // At once, so that this is not taken for a change that the user makes at the shown step.
        self.player.follow(&self.editor.draft.document, self.pace);
    }

    /// Returns the step of the last change before which one of the sessions had the settings of the document, and the
    /// settings of all sessions at that step, after it; `None` without such a change.
    fn undone_at(&self) -> Option<(u64, Vec<SimulationSpec>)> {
        let document = &self.editor.draft.document;
        let records: Vec<&Record> =
            (0..document.count()).map_while(|place| Some(&*self.live.snapshot_of(place)?.record)).collect();
        let last = |record: &Record| in_force_until(record, u64::MAX);
        let mut changed = records.iter().zip(document.specs()).filter(|(record, spec)| !is_at(&last(record), spec));
        let step = changed.find_map(|(record, spec)| undone_at(record, spec))?;
        Some((step, records.iter().map(|record| in_force_until(record, step)).collect()))
    }

    /// Records the document for undo, with the settings at the last step of the run.
    pub(super) fn record_for_undo(&mut self, ctx: &Context) {
        let latest = self.latest_settings();
        self.editor.record_for_undo(ctx, |draft| {
            if let Some(latest) = latest {
                draft.document.set_specs(latest);
            }
            self.animated.undo_state(&mut draft.document);
        });
    }

    /// Makes undo forget the later settings once a setting is changed at an earlier step. Call before the player gets
    /// the change.
    pub(super) fn begin_future(&mut self) {
        let Some(latest) = self.latest_settings() else { return };
        let LandscapeDraft { document, .. } = &self.editor.draft;
        let shown = document.with_settings(self.player.specs());
        if document.specs().eq(shown.specs()) {
            return;
        }
        let with = |specs: Vec<SimulationSpec>| {
            let mut draft = self.editor.draft.clone();
            draft.document.set_specs(specs);
            draft
        };
        let (shown, latest) = (with(shown.specs().cloned().collect()), with(latest));
        self.editor.continue_from(shown, latest);
    }

    /// Returns the settings at the last step of the run while an earlier one is shown, in the order of the simulations'
    /// places.
    fn latest_settings(&self) -> Option<Vec<SimulationSpec>> {
        let shown = self.live.snapshot.as_ref().filter(|snapshot| self.player.is_current(snapshot))?;
        if shown.step >= shown.last_step {
            return None;
        }
        let document = &self.editor.draft.document;
        let latest = (0..document.count()).map_while(|place| self.live.marks_of(place).latest());
        Some(document.with_settings(latest).specs().cloned().collect())
    }
}

fn is_at(spec: &SimulationSpec, target: &SimulationSpec) -> bool {
    spec.settings_to(target).is_some_and(|settings| settings.is_empty())
}

/// Returns the settings of a session in force after the changes up to a step.
fn in_force_until(record: &Record, step: u64) -> SimulationSpec {
    let mut in_force = record.spec.clone();
    for change in record.changes.iter().take_while(|change| change.step <= step) {
        // The session was made with the change, so it fits.
        let _ = in_force.apply(&change.set);
    }
    in_force
}

/// Returns the step of the last change before which the settings were those of `target`; `None` without such a change.
fn undone_at(record: &Record, target: &SimulationSpec) -> Option<u64> {
    let (mut spec, mut step) = (record.spec.clone(), None);
    for change in &record.changes {
        if is_at(&spec, target) {
            step = Some(change.step);
        }
        // The session was made with the change, so it fits.
        let _ = spec.apply(&change.set);
    }
    step
}
