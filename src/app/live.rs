//! The panels' view of the running simulation, and their requests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use valleyscope_engine::optimizer::RuleKind;
use valleyscope_engine::simulation::{ParticleId, Record, SimulationSpec, StepTrace};
use valleyscope_experiments::difference::DifferenceTable;
use valleyscope_experiments::preset::Preset;

use super::branches::{Branch, Branches};
use super::editor::PresetDraft;
use super::phase::ExportedDiagram;
use super::run_marks::RunMark;
use crate::player::{EnsembleView, Playback, PlayerCommand, SessionView, Snapshot};
use crate::result::RawPlan;
use crate::setting_marks::SettingMarks;

/// The running simulations: the newest snapshot, and the choices of view that are not part of the document.
#[derive(Default)]
pub struct Live {
    /// The newest snapshot of the first simulation. Its `columns` are those since the previous one.
    pub snapshot: Option<Snapshot>,
    /// The marks of the session's changes.
    pub(super) marks: SettingMarks,
    /// The marks of the run that the lesson's step shows.
    pub(super) run_marks: Vec<RunMark>,
    /// The old futures of all sessions, and the sessions without some of their changes.
    pub(super) branches: Branches,
    /// The simulations beside the first one.
    pub(super) beside: Vec<LiveBeside>,
    /// The place of the simulation that the controls set: the first is 0.
    pub chosen: usize,
    /// Whether landscapes side by side have cameras of their own.
    pub has_own_cameras: bool,
    /// The selected particle, in all simulations that have it.
    pub selected: Option<ParticleId>,
    /// The ids of optimizers that are simulated but hidden. Legends toggle them.
    pub hidden: BTreeSet<u32>,
    /// The duration of a frame while an animation is recorded. The camera then moves by it for each snapshot, not by
    /// the clock.
    pub frame_secs: Option<f32>,
}

/// The newest state of a simulation beside the first one.
#[derive(Default)]
pub(super) struct LiveBeside {
    snapshot: Option<Snapshot>,
    marks: SettingMarks,
}

impl Live {
    /// Takes the newest snapshot, and from it those of the simulations beside the first one.
    pub fn take(&mut self, mut snapshot: Snapshot) {
        self.branches.update(&snapshot);
        let mut others = std::mem::take(&mut snapshot.others);
        let is_beside = |view: &mut SessionView| view.kind.is_beside();
        let beside: Vec<SessionView> = others.extract_if(.., is_beside).collect();
        let mut branches_of =
            |place: usize| others.extract_if(.., |view| view.kind.is_branch_of(place)).collect::<Vec<SessionView>>();
        self.beside.resize_with(beside.len(), LiveBeside::default);
        for (index, (live, view)) in self.beside.iter_mut().zip(beside).enumerate() {
            live.marks.update(&view.record);
            live.snapshot = Some(Snapshot { others: branches_of(1 + index), ..snapshot.of(view) });
        }
        snapshot.others = branches_of(0);
        self.marks.update(&snapshot.record);
        self.snapshot = Some(snapshot);
    }

    /// Returns the newest snapshot of the simulation at this place.
    pub fn snapshot_of(&self, place: usize) -> Option<&Snapshot> {
        match place.checked_sub(1) {
            None => self.snapshot.as_ref(),
            Some(index) => self.beside.get(index)?.snapshot.as_ref(),
        }
    }

    /// Returns whether several simulations are shown.
    pub(super) fn is_side_by_side(&self) -> bool {
        !self.beside.is_empty()
    }

    /// Returns the marks of the changes of the simulation at this place.
    pub(super) fn marks_of(&self, place: usize) -> &SettingMarks {
        let beside = place.checked_sub(1).and_then(|index| self.beside.get(index));
        beside.map_or(&self.marks, |beside| &beside.marks)
    }

    /// Returns the sessions of the simulations beside the first one, up to their last steps.
    pub(super) fn records_beside(&self) -> Vec<Record> {
        let snapshots = self.beside.iter().filter_map(|beside| beside.snapshot.as_ref());
        snapshots.map(|snapshot| Record::clone(&snapshot.record)).collect()
    }

    /// Returns all sessions side by side, up to their last steps.
    pub(super) fn records(&self) -> Vec<Record> {
        let first = self.snapshot.as_ref().map(|snapshot| Record::clone(&snapshot.record));
        first.into_iter().chain(self.records_beside()).collect()
    }

    /// Calls `show` while the simulation at this place is in the place of the first one.
    pub(super) fn with_session<T>(&mut self, place: usize, show: impl FnOnce(&mut Live) -> T) -> T {
        self.exchange(place);
        let shown = show(self);
        self.exchange(place);
        shown
    }

    fn exchange(&mut self, place: usize) {
        if let Some(other) = place.checked_sub(1).and_then(|index| self.beside.get_mut(index)) {
            std::mem::swap(&mut self.snapshot, &mut other.snapshot);
            std::mem::swap(&mut self.marks, &mut other.marks);
        }
    }

    /// Returns the shown ensembles of the first simulation, in the specification's order.
    pub fn visible(&self) -> impl Iterator<Item = &EnsembleView> {
        self.visible_in(0)
    }

    /// Returns the shown ensembles of the simulation at this place, in the specification's order.
    pub fn visible_in(&self, place: usize) -> impl Iterator<Item = &EnsembleView> {
        let ensembles = self.snapshot_of(place).into_iter().flat_map(|snapshot| &snapshot.ensembles);
        ensembles.filter(|ensemble| !self.hidden.contains(&ensemble.optimizer))
    }

    /// Returns the shown branches of the first session, which are drawn pale.
    pub(super) fn pale(&self) -> impl Iterator<Item = (&Branch, &SessionView)> {
        self.pale_in(0)
    }

    /// Returns the shown branches of the session at this place.
    pub(super) fn pale_in(&self, place: usize) -> impl Iterator<Item = (&Branch, &SessionView)> {
        let others = self.snapshot_of(place).into_iter().flat_map(|snapshot| &snapshot.others);
        others.filter_map(|view| Some((self.branches.shown(view.id)?, view)))
    }

    /// Returns the ensembles of a pale session whose optimizers are not hidden.
    pub(super) fn visible_of<'a>(&'a self, view: &'a SessionView) -> impl Iterator<Item = &'a EnsembleView> {
        view.ensembles.iter().filter(|ensemble| !self.hidden.contains(&ensemble.optimizer))
    }

    /// Selects a particle, at once here and in the player for its next snapshots.
    pub fn select(&mut self, particle: Option<ParticleId>, requests: &mut Requests) {
        if self.selected != particle {
            self.selected = particle;
            requests.commands.push(PlayerCommand::Select(particle));
        }
    }

    /// Returns the selected particle's last step, once the player has recorded it.
    pub fn step_trace(&self) -> Option<&StepTrace> {
        let step = self.snapshot.as_ref()?.step_trace.as_deref()?;
        (Some(step.id) == self.selected).then_some(step)
    }

    pub fn playback(&self) -> Playback {
        self.snapshot.as_ref().map_or(Playback::Paused, |snapshot| snapshot.playback)
    }

    pub fn is_playing(&self) -> bool {
        self.playback() == Playback::Playing
    }
}

/// The requests of the panels to the app, collected over a frame and carried out at its end.
#[derive(Default)]
pub struct Requests {
    pub commands: Vec<PlayerCommand>,
    pub actions: Vec<Action>,
}

/// A request that only the app as a whole can carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Shows a short message for some seconds.
    Notify(String),
    /// Shows a failure until it is dismissed.
    Report {
        title: String,
        text: String,
    },
    /// Saves a picture of this part of the window, in points, as PNG; asks for the path.
    SavePicture {
        area: egui::Rect,
        suggested_name: String,
    },
    /// Saves text; asks for the path.
    SaveText {
        text: String,
        suggested_name: String,
    },
    /// Saves a file's content; asks for the path.
    SaveBytes {
        bytes: Vec<u8>,
        suggested_name: String,
    },
    /// Saves a picture as PNG; asks for the path.
    SaveImage {
        image: Arc<egui::ColorImage>,
        suggested_name: String,
    },
    /// Copies a picture to the clipboard.
    CopyImage(Arc<egui::ColorImage>),
    /// Saves a figure or the results of a phase diagram; asks for the path.
    SaveDiagram {
        bytes: Vec<u8>,
        suggested_name: String,
        exported: ExportedDiagram,
    },
    /// Asks for a folder and writes raw arrays into it.
    SaveRaw(RawPlan),
    /// Asks for the folder of a training's data; the dialog starts in this one.
    ChooseDataFolder(Option<PathBuf>),
    /// Asks for a folder of runs from elsewhere, to be imported.
    ChooseRunsFolder,
    /// Requests an action of the landscape tab.
    Landscape(LandscapeAction),
    Undo,
    Redo,
    /// Copies the preset of the shown tab to the clipboard, as text.
    CopyPreset,
    /// Opens the preset whose text is on the clipboard.
    PastePreset,
    /// Asks for a file and opens it.
    OpenPreset,
    /// Opens this preset in the tab of its kind.
    Open(Box<Preset>),
    OpenFile(PathBuf),
    /// Saves to the preset's own file; without one, asks for the path.
    Save,
    SaveAs,
    /// Asks for a title and a path, and saves this preset there.
    AskToSave(Box<PresetDraft>),
    TogglePresentation,
    ShowKeys,
    /// Shows the description of an optimizer.
    ShowOptimizer(RuleKind),
    ShowAbout,
    /// Shows the settings in which runs, presets or diagrams differ.
    ShowDifferences(Box<DifferenceTable>),
    /// Asks for the presets to compare.
    ComparePresets,
    Quit,
}

/// A request to the landscape tab.
#[derive(Clone, Debug, PartialEq)]
pub enum LandscapeAction {
    /// Replaces the settings under the controls by these.
    Set(Box<SimulationSpec>),
    Play,
    TogglePlay,
    /// Pauses and moves by so many steps, back where the number is negative.
    Step(i64),
    /// Pauses and shows this step, or the last one if it is later.
    Seek(u64),
    Restart,
    /// Applies the lesson step of this index, from 0.
    GoToStep(usize),
    /// Shows the editor of the lesson, or hides it. A preset without a lesson gets one.
    EditLesson,
    /// Saves the start of the session and every change since, so that it can be repeated exactly.
    SaveSession,
    OpenPictureExport,
    OpenFigureExport,
    OpenAnimationExport,
}
