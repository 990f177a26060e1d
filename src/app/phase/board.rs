//! The sweep that runs, its diagram, and the diagrams of before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::Context;

use crate::export::Overwrite;
use crate::preset::SweepPreset;
use crate::result::{RawExport, RawPlan, SweepResult};
use crate::sweep::{Diagram, Machine, Pool, Precision, Progress, SpecError, Sweep, Work};

/// The longest that arrived pixels are put in place for in one frame.
const LONGEST_TAKE: Duration = Duration::from_millis(2);
/// Diagrams that are kept besides the present one.
const MOST_KEPT: usize = 6;
/// An unfinished diagram is kept when so much work is in it.
const WORTH_KEEPING: Duration = Duration::from_secs(10);

/// A diagram with what it is called.
#[derive(Clone)]
pub struct Titled {
    /// Tells the diagrams of a board apart.
    pub number: u64,
    pub title: String,
    pub description: String,
    pub diagram: Diagram,
    pub precision: Precision,
}

impl Titled {
    pub fn result(&self) -> SweepResult {
        SweepResult {
            title: self.title.clone(),
            description: self.description.clone(),
            diagram: self.diagram.clone(),
            precision: self.precision,
        }
    }
}

/// The present diagram and those of before.
pub struct Board {
    pool: Pool,
    context: Context,
    running: Option<Sweep>,
    /// How far the last sweep came before it was stopped.
    last_progress: Option<Progress>,
    /// The present diagram is one of the many that a drag goes through.
    is_passing: bool,
    numbers: u64,
    pub present: Titled,
    /// Counts the changes of the present diagram.
    version: u64,
    /// Earlier diagrams, the newest first.
    pub kept: Vec<Titled>,
}

impl Board {
    pub fn new(context: Context, preset: &SweepPreset) -> Board {
        // One core is left for the window and the landscape.
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1));
        Board {
            pool: Pool::new(threads).expect("threads can be started"),
            context,
            running: None,
            last_progress: None,
            is_passing: false,
            numbers: 0,
            present: empty(preset, 0),
            version: 0,
            kept: Vec::new(),
        }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub fn progress(&self) -> Option<Progress> {
        self.running.as_ref().map(Sweep::progress).or(self.last_progress)
    }

    /// Puts finished pixels in place.
    pub fn poll(&mut self) {
        let Some(sweep) = &self.running else { return };
        let (started, ended) = (Instant::now(), sweep.has_ended());
        while started.elapsed() < LONGEST_TAKE {
            let Ok(finished) = sweep.finished().try_recv() else {
                if ended {
                    self.last_progress = Some(sweep.progress());
                    self.running = None;
                }
                return;
            };
            self.present.diagram.insert(finished.pixel, finished.cell);
            self.version += 1;
        }
        self.context.request_repaint();
    }

    /// Computes what is missing of a sweep. The diagram of another sweep is kept; `passing` says that the
    /// new one need not be, because a control is still being dragged.
    pub fn run(&mut self, preset: &SweepPreset, passing: bool) -> Result<(), SpecError> {
        preset.sweep.check()?;
        self.pause();
        if **self.present.diagram.spec() != preset.sweep {
            let next = match self.kept.iter().position(|kept| **kept.diagram.spec() == preset.sweep) {
                Some(index) => self.kept.remove(index),
                None => {
                    let number = self.next_number();
                    empty(preset, number)
                }
            };
            self.replace(next);
        }
        self.is_passing = passing;
        self.present.title.clone_from(&preset.title);
        self.present.description.clone_from(&preset.description);
        if !self.present.diagram.is_complete() {
            self.start();
        }
        Ok(())
    }

    fn start(&mut self) {
        let diagram = &self.present.diagram;
        let replicates = diagram.spec().replicates.get();
        let known = |pixel| diagram.cell(pixel).is_some_and(|cell| cell.replicates == replicates);
        let (machine, context) = (Machine::new(self.present.precision), self.context.clone());
        let spec = Arc::clone(diagram.spec());
        let wake = move || context.request_repaint();
        self.running = Some(Sweep::start(&self.pool, spec, machine, Work::CoarseToFine, false, known, wake));
    }

    /// Computes the runs of a diagram once more for raw arrays, in the pool that all diagrams share.
    pub fn export_raw(&self, plan: RawPlan, folder: PathBuf, overwrite: Overwrite) -> RawExport {
        let context = self.context.clone();
        RawExport::start(&self.pool, plan, folder, overwrite, move || context.request_repaint())
    }

    /// Stops computing. What is known stays, and running goes on from there.
    pub fn pause(&mut self) {
        if let Some(sweep) = self.running.take() {
            sweep.cancel();
            for finished in sweep.finished().try_iter() {
                self.present.diagram.insert(finished.pixel, finished.cell);
                self.version += 1;
            }
            self.last_progress = Some(sweep.progress());
        }
    }

    /// Stops computing and begins anew; what took long to compute stays among the diagrams of before.
    pub fn discard(&mut self) {
        self.pause();
        let number = self.next_number();
        let diagram = Diagram::new(Arc::clone(self.present.diagram.spec()));
        let Titled { title, description, precision, .. } = &self.present;
        let (title, description, precision) = (title.clone(), description.clone(), *precision);
        self.replace(Titled { number, title, description, diagram, precision });
    }

    /// Shows a diagram that was computed elsewhere.
    pub fn open(&mut self, opened: SweepResult) {
        self.pause();
        let SweepResult { title, description, diagram, precision } = opened;
        let number = self.next_number();
        self.replace(Titled { number, title, description, diagram, precision });
        self.is_passing = false;
    }

    /// Shows a diagram of before, and keeps the present one.
    pub fn bring_back(&mut self, number: u64) {
        if let Some(index) = self.kept.iter().position(|kept| kept.number == number) {
            self.pause();
            let kept = self.kept.remove(index);
            self.replace(kept);
            self.is_passing = false;
        }
    }

    /// The present diagram is no longer, or still, one of those that a drag goes through.
    pub fn settle(&mut self, dragging: bool) {
        self.is_passing &= dragging;
    }

    /// Begins with a preset of which nothing is computed.
    pub fn forget(&mut self, preset: &SweepPreset) {
        self.pause();
        let number = self.next_number();
        self.replace(empty(preset, number));
    }

    /// A diagram of before.
    pub fn kept(&self, number: u64) -> Option<&Titled> {
        self.kept.iter().find(|kept| kept.number == number)
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Puts another diagram in the place of the present one, which is kept if there is something to it.
    fn replace(&mut self, next: Titled) {
        let old = std::mem::replace(&mut self.present, next);
        let worked = self.last_progress.take().is_some_and(|progress| progress.elapsed > WORTH_KEEPING);
        self.version += 1;
        if !self.is_passing && (old.diagram.is_complete() || worked) {
            self.kept.retain(|kept| kept.diagram.spec() != old.diagram.spec());
            self.kept.insert(0, old);
            self.kept.truncate(MOST_KEPT);
        }
    }
}

fn empty(preset: &SweepPreset, number: u64) -> Titled {
    Titled {
        number,
        title: preset.title.clone(),
        description: preset.description.clone(),
        diagram: Diagram::new(Arc::new(preset.sweep.clone())),
        precision: Precision::Single,
    }
}
