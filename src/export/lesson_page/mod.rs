//! A lesson as one HTML page that needs neither the program nor a network.
//!
//! The page holds recorded trajectories of every step of a lesson and of the compared simulations, computed with the
//! random numbers of the window, the landscapes as pictures with contour lines, the plots and figures that the steps
//! name, the rules' formulas, and the preset. Its layout and its player are in `assets/lesson/`; equal presets give
//! equal bytes.

mod background;
pub mod figures;
mod notes;
mod page;
mod recording;

use std::collections::VecDeque;

use background::LandscapePicture;
use figures::{LessonPictureError, PageFigure};
pub use notes::notes_page;
use recording::{Recording, RunPlan, StepPlan, plan};
use valleyscope_engine::simulation::{SettingError, Simulation};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_experiments::preset::LandscapePreset;

use crate::draw::FigureError;

/// The reason why a preset has no lesson page.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LessonPageError {
    #[error(
        "expected a preset with a lesson, found one without; write its steps into `lesson: […]`, as `valleyscope presets \
         show lesson` explains"
    )]
    NoLesson,
    #[error("the lesson does not fit the simulation: {0}")]
    Misfit(SpecError),
    #[error("a simulation of the lesson cannot be made: {0}")]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Picture(#[from] FigureError),
    #[error(transparent)]
    Figure(#[from] LessonPictureError),
}

/// A lesson's page, as far as its runs have been computed.
pub struct LessonPage {
    preset: LandscapePreset,
    steps: Vec<StepPlan>,
    /// The runs that have not begun.
    waiting: VecDeque<RunPlan>,
    /// The run under way.
    current: Option<(Simulation, Recording)>,
    done: Vec<Recording>,
    taken: u64,
    total: u64,
}

impl LessonPage {
    /// Creates a lesson's page at the start of its first run.
    ///
    /// # Errors
    ///
    /// Fails for a preset without a lesson, and for a lesson that does not fit its simulation.
    pub fn new(preset: &LandscapePreset) -> Result<LessonPage, LessonPageError> {
        if preset.lesson.is_empty() {
            return Err(LessonPageError::NoLesson);
        }
        if let Some(misfit) = preset.lesson_misfit() {
            return Err(LessonPageError::Misfit(misfit));
        }
        let (runs, steps) = plan(preset)?;
        // A lesson may pause after more steps than can be taken.
        let total = runs.iter().map(|run| run.end).fold(0, u64::saturating_add);
        let mut page = LessonPage {
            preset: preset.clone(),
            steps,
            waiting: runs.into(),
            current: None,
            done: Vec::new(),
            taken: 0,
            total,
        };
        page.begin();
        Ok(page)
    }

    pub fn steps(&self) -> u64 {
        self.total
    }

    pub fn step(&self) -> u64 {
        self.taken
    }

    pub fn is_complete(&self) -> bool {
        self.current.is_none()
    }

    pub fn advance(&mut self) {
        let Some((simulation, recording)) = &mut self.current else { return };
        simulation.advance();
        recording.keep(simulation);
        self.taken += 1;
        if recording.is_complete(simulation) {
            self.done.extend(self.current.take().map(|(_, recording)| recording));
            self.begin();
        }
    }

    /// Begins the next run. One without steps is complete at once.
    fn begin(&mut self) {
        while let Some(plan) = self.waiting.pop_front() {
            let mut simulation = Simulation::new(plan.spec.clone());
            let mut recording = Recording::new(plan, &simulation);
            recording.keep(&mut simulation);
            if !recording.is_complete(&simulation) {
                self.current = Some((simulation, recording));
                return;
            }
            self.done.push(recording);
        }
    }

    /// Formats the page of the completed runs.
    ///
    /// # Errors
    ///
    /// Fails if the landscape's picture or a figure cannot be made.
    pub fn to_html(&self) -> Result<String, LessonPageError> {
        let grounds = LandscapePicture::of(&self.preset, &self.steps, &self.done)?;
        let figures = PageFigure::of(&self.preset.lesson)?;
        Ok(page::html(&self.preset, &self.steps, &self.done, &grounds, &figures))
    }
}
