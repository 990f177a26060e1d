//! The running sweep, its diagram, and the diagrams of the library that are shown.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::Context;
use valleyscope_engine::spec_error::SpecError;
use valleyscope_engine::sweep::{Backend, Diagram, Finished, PixelOrder, Precision, SweepJob, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use super::diagram::TitledDiagram;
use super::library::Library;
use crate::sweep::pool::{Pool, Progress, Sweep};
use crate::sweep::result::SweepResult;

/// The longest time that a frame spends on storing arrived pixels.
const MOST_POLL_TIME: Duration = Duration::from_millis(2);
/// The computing time from which an unfinished diagram is always kept.
const WORTH_SAVING: Duration = Duration::from_secs(2);
/// The longest wait for a diagram's first picture. Then the finest available one is shown, so that four pictures a
/// second follow a drag even where each is expensive.
const FIRST_PICTURE_WAIT: Duration = Duration::from_millis(200);

/// The present diagram and the kept ones.
pub(super) struct DiagramStore {
    pool: Pool,
    context: Context,
    running: Option<Sweep>,
    numbers: u64,
    pub present: TitledDiagram,
    /// The diagram being computed, until it has a picture and replaces the present one.
    pending: Option<TitledDiagram>,
    /// The number of changes of the shown diagram.
    pub version: u64,
    recall: Option<Recall>,
    /// The kept diagrams; the present one is among them once it is worth keeping.
    pub library: Library,
    /// The optimizer steps a second of the last sweep, if there was one.
    pub rate: Option<f64>,
    /// The computing time from which an unfinished diagram is kept.
    worth_saving: Duration,
}

impl DiagramStore {
    /// Begins with a sweep of which nothing is computed, and with the diagrams that are kept in a folder.
    /// An unfinished one that took `worth_asking` is kept, too.
    pub(super) fn new(
        context: Context,
        preset: Arc<SweepPreset>,
        folder: Option<PathBuf>,
        worth_asking: Duration,
    ) -> DiagramStore {
        // One core is left for the window and the landscape.
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1));
        let sweep = preset.sweep.clone();
        let library = Library::open(folder, context.clone());
        let number = library.numbers().last().map_or(1, |last| last + 1);
        DiagramStore {
            pool: Pool::new(threads).expect("threads can be started"),
            context,
            running: None,
            numbers: number,
            present: TitledDiagram::empty(number, preset, sweep),
            pending: None,
            version: 0,
            recall: None,
            library,
            rate: None,
            worth_saving: worth_asking.min(WORTH_SAVING),
        }
    }

    pub(super) fn pool(&self) -> Pool {
        self.pool.clone()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the diagram that is computed or was last computed.
    pub(super) fn newest(&self) -> &TitledDiagram {
        self.pending.as_ref().unwrap_or(&self.present)
    }

    fn newest_mut(&mut self) -> &mut TitledDiagram {
        self.pending.as_mut().unwrap_or(&mut self.present)
    }

    pub(super) fn progress(&self) -> Option<Progress> {
        self.running.as_ref().map(Sweep::progress).or(self.newest().progress)
    }

    /// Returns whether the results of the newest diagram are being read.
    pub(super) fn is_recalling(&self) -> bool {
        self.recall.is_some()
    }

    /// Adds finished pixels and results that were read, and keeps the newest diagram. Returns failures to report, each
    /// with a title.
    pub(super) fn poll(&mut self) -> Vec<(&'static str, String)> {
        let mut failures = Vec::new();
        for (number, results) in self.library.poll(&mut failures) {
            match results {
                Some((diagram, precision)) => self.loaded(number, diagram, precision),
                None => self.not_loaded(number),
            }
        }
        self.take_finished();
        self.save_newest();
        failures
    }

    fn take_finished(&mut self) {
        let Some(sweep) = self.running.take() else { return };
        let (started, ended) = (Instant::now(), sweep.has_ended());
        let mut is_drained = false;
        while !is_drained && started.elapsed() < MOST_POLL_TIME {
            match sweep.finished().try_recv() {
                Ok(finished) => self.insert(finished),
                Err(_) => is_drained = true,
            }
        }
        let waited = sweep.progress().elapsed;
        self.running = Some(sweep);
        if is_drained && ended {
            self.stop();
            self.show_newest();
        } else if self.pending.as_ref().is_some_and(|pending| has_picture(&pending.diagram, waited)) {
            self.show_newest();
        }
        if !is_drained {
            self.context.request_repaint();
        }
    }

    fn insert(&mut self, finished: Finished) {
        self.newest_mut().diagram.insert(finished.pixel, finished.cell);
        self.version += u64::from(self.pending.is_none());
    }

    /// Returns why a sweep cannot be shown: a fault, or missing pixels that cannot be computed here.
    pub(super) fn check(&self, sweep: &SweepSpec) -> Result<(), SpecError> {
        let newest = self.newest();
        let is_known = newest.spec().is_alike_but_for_colors(sweep) && newest.diagram.is_complete();
        if is_known { sweep.check() } else { sweep.check_computable() }
    }

    /// Computes the missing pixels of a sweep; a new diagram of it gets this preset. The diagram of another sweep is
    /// kept. `passing` marks the new one as an intermediate state of a drag, which need not be kept. Intermediate
    /// states are skipped while a picture is being made.
    pub(super) fn run(&mut self, sweep: &SweepSpec, preset: &Arc<SweepPreset>, passing: bool) -> Result<(), SpecError> {
        self.check(sweep)?;
        if passing && self.is_running() && self.pending.as_ref().is_some_and(|pending| pending.is_passing) {
            return Ok(());
        }
        self.stop();
        if self.present.is_example {
            self.show_newest();
        }
        if !self.newest().spec().is_alike_but_for_colors(sweep) {
            self.keep_unseen();
            if !self.present.spec().is_alike_but_for_colors(sweep) {
                let next = self.library.find(sweep).and_then(|number| self.recalled(number));
                self.pending = Some(next.unwrap_or_else(|| {
                    let number = self.next_number();
                    TitledDiagram {
                        is_passing: passing,
                        ..TitledDiagram::empty(number, Arc::clone(preset), sweep.clone())
                    }
                }));
            }
        }
        self.recolor(sweep, passing);
        if self.newest().diagram.has_first_picture() {
            self.show_newest();
        }
        if let Some(recall) = &mut self.recall {
            recall.then_runs = true;
        } else if !self.newest().diagram.is_complete() {
            self.start();
        }
        Ok(())
    }

    /// Applies the colours of a sweep with the same results to the newest diagram, which is a lasting one once no drag is
    /// `passing`.
    pub(super) fn recolor(&mut self, sweep: &SweepSpec, passing: bool) {
        self.newest_mut().is_passing &= passing;
        if **self.newest().spec() != *sweep {
            self.newest_mut().diagram.recolor(Arc::new(sweep.clone()));
            self.version += u64::from(self.pending.is_none());
        }
    }

    fn start(&mut self) {
        self.newest_mut().is_removed = false;
        let TitledDiagram { diagram, precision, .. } = self.newest();
        let replicates = diagram.spec().replicates.get();
        let known = |pixel| diagram.cell(pixel).is_some_and(|cell| cell.is_complete(replicates));
        let (backend, context) = (Backend::new(*precision), self.context.clone());
        let spec = Arc::clone(diagram.spec());
        let begun = |pixel| diagram.race(pixel).cloned();
        let order = PixelOrder::CoarseToFine;
        let job = SweepJob { order, known: &known, begun: &begun, ..SweepJob::new(spec, backend) };
        let wake = move || context.request_repaint();
        self.running = Some(Sweep::start(&self.pool, job, wake));
    }

    /// Stops computing. Computed pixels stay, and running continues from there.
    pub(super) fn stop(&mut self) {
        let Some(sweep) = self.running.take() else { return };
        sweep.cancel();
        sweep.finished().try_iter().for_each(|finished| self.insert(finished));
        let progress = sweep.progress();
        let newest = self.newest_mut();
        newest.progress = Some(progress);
        newest.worked += progress.elapsed;
        self.rate = Some(progress.rate()).filter(|rate| rate.is_normal());
    }

    /// Stops computing and starts again; a diagram that took long to compute stays among the kept ones.
    pub(super) fn discard(&mut self) {
        self.stop();
        let number = self.next_number();
        let TitledDiagram { preset, precision, .. } = self.newest();
        let (preset, precision) = (Arc::clone(preset), *precision);
        let fresh = TitledDiagram::empty(number, preset, (**self.newest().spec()).clone());
        self.show(TitledDiagram { precision, ..fresh });
    }

    /// Shows a diagram that was computed elsewhere.
    pub(super) fn open(&mut self, opened: SweepResult, preset: Arc<SweepPreset>) {
        let number = self.next_number();
        self.show(TitledDiagram::of_result(number, preset, opened));
    }

    /// Shows a diagram that is not the user's until another replaces it. The present one, of which nothing is computed,
    /// stays the newest.
    pub(super) fn show_example(&mut self, example: SweepResult, preset: Arc<SweepPreset>) {
        let example = TitledDiagram::of_result(self.next_number(), preset, example);
        let own = std::mem::replace(&mut self.present, TitledDiagram { is_example: true, ..example });
        (self.pending, self.version) = (Some(own), self.version + 1);
    }

    /// Begins with a sweep of which nothing is computed.
    pub(super) fn reset(&mut self, sweep: SweepSpec, preset: Arc<SweepPreset>) {
        let number = self.next_number();
        self.show(TitledDiagram::empty(number, preset, sweep));
    }

    /// Relabels the diagrams of this preset's sweep.
    pub(super) fn relabel_sweep(&mut self, preset: &Arc<SweepPreset>) {
        for titled in std::iter::once(&mut self.present).chain(&mut self.pending) {
            // The displayed metric does not affect the computation.
            if (SweepSpec { metric: preset.sweep.metric, ..(**titled.spec()).clone() }) == preset.sweep {
                titled.preset = Arc::clone(preset);
            }
        }
    }

    /// Returns the user's diagrams whose results are not kept on the disk, were not removed, and took at least this long
    /// to compute, with that time; the newest comes first.
    pub(super) fn unsaved(&self, worked: Duration) -> Vec<(&TitledDiagram, Duration)> {
        let in_memory = self.library.numbers().into_iter().rev().filter_map(|number| self.library.results(number));
        let shown = self.shown().chain(in_memory);
        let is_at_risk = |titled: &&TitledDiagram| {
            let is_begun = titled.diagram.known_near([0, 0]).is_some();
            is_begun && !titled.is_example && !titled.is_removed && !self.library.is_safe(titled)
        };
        let unsaved = shown.filter(is_at_risk).map(|titled| (titled, self.worked(titled)));
        unsaved.filter(|(_, time)| *time >= worked).collect()
    }

    /// Returns the time for which a diagram was computed so far.
    fn worked(&self, titled: &TitledDiagram) -> Duration {
        let running = self.running.as_ref().filter(|_| titled.number == self.newest().number);
        titled.worked + running.map_or(Duration::ZERO, |sweep| sweep.progress().elapsed)
    }

    /// Returns the diagrams that are shown or computed.
    fn shown(&self) -> impl Iterator<Item = &TitledDiagram> {
        self.pending.iter().chain([&self.present])
    }

    /// Returns the diagram with this number, if its results are in memory.
    pub(super) fn diagram(&self, number: u64) -> Option<&TitledDiagram> {
        self.shown().find(|titled| titled.number == number).or_else(|| self.library.results(number))
    }

    /// Shows the pending diagram, even without a picture.
    pub(super) fn show_newest(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.replace(pending);
        }
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Shows another diagram in place of all that is computed.
    fn show(&mut self, next: TitledDiagram) {
        self.stop();
        self.keep_unseen();
        self.replace(next);
    }

    /// Replaces the present diagram, and keeps it if that is worthwhile.
    fn replace(&mut self, next: TitledDiagram) {
        self.version += 1;
        let old = std::mem::replace(&mut self.present, next);
        self.keep(old);
    }

    /// Keeps the diagram that had no picture yet, if that is worthwhile.
    fn keep_unseen(&mut self) {
        if let Some(unseen) = self.pending.take() {
            self.keep(unseen);
        }
    }

    fn keep(&mut self, old: TitledDiagram) {
        // A diagram whose results are still being read has nothing to keep.
        if self.recall.take_if(|recall| recall.number == old.number).is_some() {
            return;
        }
        if self.is_worth_saving(&old) {
            self.library.save(&old, old.worked, false);
            self.library.put_back(old);
        }
    }

    /// Returns whether a diagram is complete, or would take some time to compute again.
    fn is_worth_saving(&self, titled: &TitledDiagram) -> bool {
        let is_begun = titled.diagram.runs() > 0;
        let is_wanted = !titled.is_passing && !titled.is_removed && !titled.is_example;
        is_wanted && is_begun && (titled.diagram.is_complete() || self.worked(titled) > self.worth_saving)
    }

    /// Keeps the present state of the newest diagram, if it is worth it.
    fn save_newest(&mut self) {
        if self.recall.is_none() && self.is_worth_saving(self.newest()) {
            let worked = self.worked(self.newest());
            self.library.save(self.pending.as_ref().unwrap_or(&self.present), worked, self.running.is_some());
        }
    }
}

impl Drop for DiagramStore {
    /// Keeps the computed pixels of all diagrams. The library's thread ends after it has written them.
    fn drop(&mut self) {
        self.stop();
        self.keep_unseen();
        self.keep(self.present.clone());
    }
}

/// Returns whether a diagram that was waited for so long has a picture worth showing.
fn has_picture(diagram: &Diagram, waited: Duration) -> bool {
    diagram.has_first_picture() || (waited > FIRST_PICTURE_WAIT && diagram.has_coarse_picture())
}

/// A kept diagram in place of the newest one, whose results are being read.
struct Recall {
    pub number: u64,
    /// Computes the missing pixels afterwards if true.
    pub then_runs: bool,
}

impl DiagramStore {
    /// Takes the results of a diagram that were read.
    fn loaded(&mut self, number: u64, mut diagram: Diagram, precision: Precision) {
        let Some(entry) = self.library.get(number) else { return self.not_loaded(number) };
        diagram.recolor(Arc::clone(&entry.spec));
        let loaded = TitledDiagram { diagram, precision, ..entry.empty(number) };
        match self.recall.take_if(|recall| recall.number == number) {
            Some(recall) => {
                *self.newest_mut() = loaded;
                self.version += 1;
                self.show_newest();
                if recall.then_runs && !self.present.diagram.is_complete() {
                    self.start();
                }
            }
            None => self.library.put_back(loaded),
        }
    }

    /// Computes a diagram anew whose results cannot be read. Their files stay, so it gets another number.
    fn not_loaded(&mut self, number: u64) {
        let Some(recall) = self.recall.take_if(|recall| recall.number == number) else { return };
        let number = self.next_number();
        self.newest_mut().number = number;
        if recall.then_runs {
            self.start();
        }
    }

    /// Shows the kept diagram of a sweep, if there is one. Its missing pixels are not computed.
    pub(super) fn recall_alike(&mut self, sweep: &SweepSpec) {
        if let Some(number) = self.library.find(sweep) {
            self.show_saved(number);
        }
    }

    /// Returns a kept diagram. Where its results are not in memory, it is empty until they were read; where they cannot
    /// be read, it is another diagram of its settings.
    fn recalled(&mut self, number: u64) -> Option<TitledDiagram> {
        if let Some(titled) = self.library.take(number) {
            return Some(titled);
        }
        let entry = self.library.get(number)?;
        let empty = entry.empty(number);
        if !entry.is_loading {
            return Some(TitledDiagram { number: self.next_number(), worked: Duration::ZERO, ..empty });
        }
        self.recall = Some(Recall { number, then_runs: false });
        Some(empty)
    }

    /// Shows a kept diagram in place of the present one, once its results are in memory.
    pub(super) fn show_saved(&mut self, number: u64) {
        if self.newest().number == number {
            return;
        }
        self.stop();
        self.keep_unseen();
        if self.present.number != number {
            self.pending = self.recalled(number);
        }
        if self.recall.is_none() {
            self.show_newest();
        }
    }

    /// Removes a kept diagram; the present one stays on the screen until another takes its place. One that is being
    /// computed is stopped, as its pixels are kept no more, until it is computed again.
    pub(super) fn remove_saved(&mut self, number: u64) {
        if self.newest().number == number {
            self.stop();
        }
        self.library.remove(number);
        let was_being_read = self.recall.take_if(|recall| recall.number == number).is_some();
        let fresh = self.next_number();
        for titled in self.pending.iter_mut().chain([&mut self.present]).filter(|titled| titled.number == number) {
            titled.number = fresh;
            titled.is_removed = true;
        }
        if was_being_read {
            self.show_newest();
        }
    }

    /// Returns the numbers of the diagrams that are shown or computed.
    pub(super) fn in_use(&self) -> HashSet<u64> {
        self.shown().map(|titled| titled.number).collect()
    }
}
