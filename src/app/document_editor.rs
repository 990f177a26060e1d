//! What lies on the desk: the document that is edited, the preset it came from, and the way back.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::history::UndoHistory;
use super::saved_states::SavedStates;
use crate::preset::{LandscapePreset, LessonStep};
use crate::simulation::{Record, Setting, SettingError, SimulationSpec};
use crate::view::ViewSettings;

/// The preset that the document began as.
#[derive(Clone, Debug)]
pub struct SavedState {
    pub preset: LandscapePreset,
    /// The file that Save writes to; none for a built-in preset.
    pub file: Option<PathBuf>,
    /// The file was written by this run of the program, so that its comments are not someone's work.
    pub written_here: bool,
    /// The document as it was opened or last saved, and the step of the lesson that it was at.
    clean: Document,
    clean_step: usize,
}

impl SavedState {
    fn new(preset: LandscapePreset, file: Option<PathBuf>, clean: Document) -> SavedState {
        SavedState { preset, file, written_here: false, clean, clean_step: 0 }
    }

    /// `spec` with all that the lesson ever sets as it is after a step. What the lesson never touches stays.
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

    /// Whether a document differs from the clean one by more than the lesson's settings at `step`.
    fn differs_from(&self, document: &Document, step: usize) -> bool {
        if document.view != self.clean.view {
            return true;
        }
        if step == self.clean_step {
            return document.spec != self.clean.spec;
        }
        !self.at_step(&self.clean.spec, step).is_ok_and(|clean| document.spec == clean)
    }
}

/// A preset that may be saved.
#[derive(Clone, Debug)]
pub struct PresetDraft {
    pub preset: LandscapePreset,
    /// Which origin of the desk's it replaces when it is saved; none for a copy beside the document.
    pub replaces: Option<usize>,
    /// The step of the lesson at which it was made.
    lesson_step: usize,
}

/// What undo goes back to.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    document: Document,
    saved_state: usize,
    lesson_step: usize,
}

/// The document with its origin and its past.
pub struct DocumentEditor {
    pub document: Document,
    saved_states: SavedStates<SavedState>,
    lesson_step: usize,
    history: UndoHistory<Point>,
}

impl DocumentEditor {
    /// A desk with a preset just opened. `view` is how it is looked at where the preset does not say.
    pub fn new(preset: LandscapePreset, file: Option<PathBuf>, view: &ViewSettings) -> DocumentEditor {
        let document = opened(&preset, view);
        let saved_state = SavedState::new(preset, file, document.clone());
        DocumentEditor {
            document,
            saved_states: SavedStates::new(saved_state),
            lesson_step: 0,
            history: UndoHistory::default(),
        }
    }

    /// A desk as it was left: `document` and the step of the lesson may differ from the preset's.
    pub fn restored(
        preset: LandscapePreset,
        file: Option<PathBuf>,
        document: Document,
        lesson_step: usize,
    ) -> DocumentEditor {
        let last_step = preset.lesson.len().saturating_sub(1);
        let mut editor = DocumentEditor::new(preset, file, &document.view);
        editor.document = document;
        editor.lesson_step = lesson_step.min(last_step);
        editor
    }

    /// Puts another preset on the desk. Undo brings the present one back.
    pub fn open(&mut self, preset: LandscapePreset, file: Option<PathBuf>) {
        self.mark();
        let document = opened(&preset, &self.document.view);
        self.saved_states.open(SavedState::new(preset, file, document.clone()));
        self.document = document;
        self.lesson_step = 0;
        self.mark();
    }

    pub fn saved_state(&self) -> &SavedState {
        self.saved_states.present()
    }

    /// There are changes that were not saved.
    pub fn is_dirty(&self) -> bool {
        self.saved_state().differs_from(&self.document, self.lesson_step)
    }

    /// The document as a preset with the origin's title, description and lesson.
    pub fn draft(&self) -> PresetDraft {
        let preset = LandscapePreset {
            simulation: self.document.spec.clone(),
            view: Some(self.document.view.clone()),
            changes: Vec::new(),
            ..self.saved_state().preset.clone()
        };
        PresetDraft { preset, replaces: Some(self.saved_states.number()), lesson_step: self.lesson_step }
    }

    /// A recorded session as a preset with the origin's title and description.
    pub fn draft_of_session(&self, session: Record) -> PresetDraft {
        let Record { spec: simulation, changes } = session;
        let preset = LandscapePreset { simulation, changes, lesson: Vec::new(), ..self.draft().preset };
        PresetDraft { preset, replaces: None, lesson_step: 0 }
    }

    /// Takes note that a draft was written to `file` and is what its document came from now. Another
    /// preset may have been opened meanwhile.
    pub fn saved(&mut self, draft: PresetDraft, file: &Path) {
        let PresetDraft { preset, replaces, lesson_step } = draft;
        let Some(saved_state) = replaces.and_then(|index| self.saved_states.get_mut(index)) else { return };
        // The camera that was saved is where the view is, not where the document on the desk began.
        let camera = saved_state.clean.view.camera;
        let view = preset.view.clone().unwrap_or_else(|| self.document.view.clone());
        let clean = Document { spec: preset.simulation.clone(), view: ViewSettings { camera, ..view } };
        let file = Some(file.to_owned());
        *saved_state = SavedState { preset, file, written_here: true, clean, clean_step: lesson_step };
    }

    /// The index of the lesson's present step, from 0, and the lesson; none without a lesson.
    pub fn lesson(&self) -> Option<(usize, &[LessonStep])> {
        let lesson = self.saved_state().preset.lesson.as_slice();
        (!lesson.is_empty()).then_some((self.lesson_step, lesson))
    }

    pub fn lesson_step(&self) -> usize {
        self.lesson_step
    }

    /// Goes to a step of the lesson: all that the lesson ever sets becomes what it is after this step.
    /// What the lesson never touches stays.
    pub fn go_to_step(&mut self, step: usize) -> Result<(), SettingError> {
        let spec = self.saved_state().at_step(&self.document.spec, step)?;
        self.mark();
        self.document.spec = spec;
        self.lesson_step = step;
        self.mark();
        Ok(())
    }

    /// Takes note of the document at a time, for undo. True while a change still waits to be kept.
    pub fn remember(&mut self, time_secs: f64) -> bool {
        let point = self.point();
        self.history.feed(time_secs, &point);
        self.history.is_in_flux()
    }

    pub fn can_undo(&self) -> bool {
        self.history.can_undo(&self.point())
    }

    pub fn can_redo(&self) -> bool {
        self.history.can_redo(&self.point())
    }

    pub fn undo(&mut self) {
        let earlier = self.history.undo(&self.point());
        self.go_back_to(earlier);
    }

    pub fn redo(&mut self) {
        let later = self.history.redo(&self.point());
        self.go_back_to(later);
    }

    fn go_back_to(&mut self, point: Option<Point>) {
        if let Some(Point { document, saved_state, lesson_step }) = point
            && self.saved_states.go_to(saved_state)
        {
            self.document = document;
            self.lesson_step = lesson_step;
        }
    }

    fn mark(&mut self) {
        let point = self.point();
        self.history.mark(&point);
    }

    fn point(&self) -> Point {
        Point {
            document: self.document.clone(),
            saved_state: self.saved_states.number(),
            lesson_step: self.lesson_step,
        }
    }
}

/// The document that a preset opens as: with a lesson, at its first step. Where the preset does not say how it is looked
/// at, that is as before, but not with the camera of another landscape.
fn opened(preset: &LandscapePreset, view: &ViewSettings) -> Document {
    // A preset whose lesson does not fit its own simulation is refused when it is read.
    let spec = preset.simulation_at(0).unwrap_or_else(|_| preset.simulation.clone());
    let as_before = || {
        let ViewSettings { follow, camera, .. } = ViewSettings::default();
        ViewSettings { follow, camera, ..view.clone() }
    };
    Document { spec, view: preset.view.clone().unwrap_or_else(as_before) }
}

/// The setting of the kind of `setting` as it is in `simulation`.
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
