//! A sweep in its pool: results, their order, progress and ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::quantity::{Replicates, StepCount};
use valleyscope_engine::sweep::{
    Average, Axis, Backend, Cell, Diagram, Finished, LearningRates, PixelOrder, Precision, Quantity, Spacing, SweepJob,
    SweepOptimizer, SweepSpec, SweepWork,
};

use super::specs::{count, fig2a, runs};

/// The number of replicates of a first picture, and the smallest number of its rows and columns.
const PREVIEW: usize = 8;
const PREVIEW_SHAPE: [usize; 2] = [12, 13];

/// Returns a spec of few steps and learning rates at many pixels.
fn light(shape: [usize; 2]) -> Arc<SweepSpec> {
    let mut spec = SweepSpec { steps: StepCount::clamped(40), replicates: Replicates::clamped(11), ..fig2a(shape) };
    let rates = LearningRates { count: count(3), ..LearningRates::default() };
    spec.optimizers =
        spec.optimizers.into_iter().map(|optimizer| SweepOptimizer { learning_rates: rates, ..optimizer }).collect();
    Arc::new(spec)
}

fn start(threads: usize, spec: &Arc<SweepSpec>, order: PixelOrder, known: impl Fn([usize; 2]) -> bool) -> Sweep {
    let pool = Pool::new(threads).unwrap();
    let backend = Backend::new(Precision::Single);
    let job = SweepJob { spec: Arc::clone(spec), backend, order, keep_runs: false, known: &known, begun: &|_| None };
    Sweep::start(&pool, job, || ())
}

/// Returns all that a sweep delivers until its end.
fn delivered(sweep: &Sweep) -> Vec<Finished> {
    sweep.finished().iter().collect()
}

/// Returns a cell's numbers as text, in which all NaNs are equal.
fn text(cell: &Cell) -> String {
    format!("{cell:?}")
}

fn cell_alone(spec: &SweepSpec, pixel: [usize; 2], replicates: usize) -> Cell {
    Cell::new(&runs(Precision::Single, spec, pixel, 0..replicates), Average::Mean, spec.common_random_numbers)
}

#[test]
fn coarse_to_fine_gives_the_cells_of_row_by_row() {
    let spec = light([25, 27]);
    let rows: HashMap<_, _> = delivered(&start(1, &spec, PixelOrder::RowByRow, |_| false))
        .into_iter()
        .map(|finished| (finished.pixel, finished.cell))
        .collect();
    assert_eq!(rows.len(), 25 * 27);
    for threads in [1, 3] {
        let sweep = start(threads, &spec, PixelOrder::CoarseToFine, |_| false);
        let mut whole = HashMap::new();
        for finished in delivered(&sweep) {
            if finished.cell.replicates == 11 {
                assert!(whole.insert(finished.pixel, finished.cell).is_none(), "{:?} twice", finished.pixel);
            }
        }
        assert_eq!(whole.len(), rows.len());
        assert!(rows.iter().all(|(pixel, cell)| text(cell) == text(&whole[pixel])));
    }
}

#[test]
fn the_first_picture_covers_the_diagram_and_is_not_computed_again() {
    let spec = light([25, 27]);
    let sweep = start(1, &spec, PixelOrder::CoarseToFine, |_| false);
    let all = delivered(&sweep);
    let previews: Vec<_> = all.iter().take_while(|finished| finished.cell.replicates == PREVIEW).collect();
    assert!(previews.len() >= PREVIEW_SHAPE[0] * PREVIEW_SHAPE[1], "{} pixels", previews.len());
    // The picture has one pixel in every block of 2 × 2.
    let mut seen = [[false; 14]; 13];
    previews.iter().for_each(|finished| seen[finished.pixel[0] / 2][finished.pixel[1] / 2] = true);
    assert!(seen.iter().flatten().all(|seen| *seen));
    for finished in previews.iter().step_by(17) {
        assert_eq!(text(&finished.cell), text(&cell_alone(&spec, finished.pixel, PREVIEW)));
    }
    // On one thread the picture is finished first; then every pixel is computed with all replicates, first those of the
    // picture.
    let then = &all[previews.len()..];
    assert!(then.iter().all(|finished| finished.cell.replicates == 11));
    let pixels = |all: &[Finished]| all.iter().map(|finished| finished.pixel).collect::<Vec<_>>();
    assert_eq!(pixels(&all[..previews.len()]), pixels(&then[..previews.len()]));
    // A replicate that was computed again would be counted again.
    assert_eq!(sweep.progress().steps as f64, spec.total_steps());
}

#[test]
fn coarser_pictures_precede_the_first_picture() {
    let spec = light([96, 100]);
    let sweep = start(1, &spec, PixelOrder::CoarseToFine, |_| false);
    let mut diagram = Diagram::new(Arc::clone(&spec));
    let mut come = [0; 2];
    for (count, finished) in (1..).zip(sweep.finished().iter()) {
        diagram.insert(finished.pixel, finished.cell);
        let has = [diagram.has_coarse_picture(), diagram.has_first_picture()];
        for (come, _) in come.iter_mut().zip(has).filter(|(come, has)| *has && **come == 0) {
            *come = count;
        }
        if diagram.has_first_picture() {
            break;
        }
    }
    // The coarser pictures are made of pixels of the first one.
    assert_eq!(come, [3 * 4, 12 * 13]);
    assert!(spec.pixels().all(|pixel| diagram.known_near(pixel).is_some()));
}

#[test]
fn known_pixels_are_not_computed_again() {
    let spec = light([25, 27]);
    let is_known = |[row, column]: [usize; 2]| (row * 27 + column).is_multiple_of(3);
    for order in [PixelOrder::CoarseToFine, PixelOrder::RowByRow] {
        let sweep = start(2, &spec, order, is_known);
        let expected = spec.total_steps() * 2.0 / 3.0;
        assert_eq!(sweep.progress().all_steps as f64, expected);
        assert_eq!(sweep.progress().all_pixels, 25 * 27 * 2 / 3);
        let all = delivered(&sweep);
        assert!(all.iter().all(|finished| !is_known(finished.pixel)));
        assert_eq!(all.iter().filter(|finished| finished.cell.replicates == 11).count(), 25 * 27 * 2 / 3);
        assert_eq!(sweep.progress().steps as f64, expected);
    }
    let sweep = start(1, &spec, PixelOrder::CoarseToFine, |_| true);
    assert!(delivered(&sweep).is_empty());
    assert_eq!(sweep.progress().all_steps, 0);
}

#[test]
fn progress_adds_up_and_wakes() {
    let spec = light([7, 6]);
    let woken = Arc::new(AtomicUsize::new(0));
    let pool = Pool::new(3).unwrap();
    assert_eq!(pool.threads(), 3);
    let wakes = Arc::clone(&woken);
    let all = SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single));
    let job = SweepJob { order: PixelOrder::CoarseToFine, ..all };
    let sweep = Sweep::start(&pool, job, move || {
        wakes.fetch_add(1, Ordering::SeqCst);
    });
    let mut last = 0;
    let mut count = 0;
    for _ in sweep.finished() {
        count += 1;
        let progress = sweep.progress();
        assert!((last..=progress.all_steps).contains(&progress.steps));
        assert!(progress.pixels <= progress.all_pixels);
        last = progress.steps;
    }
    assert!(sweep.has_ended());
    let progress = sweep.progress();
    assert_eq!((progress.steps, progress.pixels), (progress.all_steps, progress.all_pixels));
    assert_eq!((progress.steps as f64, progress.pixels), (spec.total_steps(), 42));
    assert_eq!(sweep.progress().elapsed, progress.elapsed, "time stands still after the end");
    assert!(progress.rate() > 0.0 && progress.left().is_some_and(|left| left.is_zero()));
    // The last call may not have returned yet.
    assert!(woken.load(Ordering::SeqCst) >= count);
}

/// Pixels cost different amounts if steps are an axis.
#[test]
fn steps_of_uneven_pixels_add_up() {
    let spec = light([5, 4]);
    let columns = Axis { of: Quantity::Steps, from: 10.0, to: 40.0, count: count(4), spacing: Spacing::Linear };
    let spec = Arc::new(SweepSpec { columns, ..(*spec).clone() });
    assert_eq!(spec.total_steps(), f64::from(5 * (10 + 20 + 30 + 40) * 3 * 3 * 11));
    let sweep = start(2, &spec, PixelOrder::CoarseToFine, |_| false);
    delivered(&sweep);
    assert_eq!(sweep.progress().steps as f64, spec.total_steps());
    assert_eq!(spec.point(0, 1).steps.get(), 20);
}

/// The whole sweep would take days; the test ends because the sweep is cancelled.
#[test]
fn a_cancelled_sweep_ends_and_keeps_what_is_finished() {
    let mut spec = (*light([25, 27])).clone();
    spec.steps = StepCount::clamped(2_000);
    // The second half of the rows would take days.
    spec.rows = Axis { of: Quantity::Steps, from: 20.0, to: 9_000_000.0, count: count(25), spacing: Spacing::Log };
    spec.replicates = Replicates::clamped(1_000);
    let spec = Arc::new(spec);
    for order in [PixelOrder::RowByRow, PixelOrder::CoarseToFine] {
        let sweep = start(2, &spec, order, |_| false);
        let mut finished: Vec<_> = sweep.finished().iter().take(5).collect();
        sweep.cancel();
        finished.extend(sweep.finished().iter());
        assert!(sweep.has_ended());
        let progress = sweep.progress();
        assert!(progress.steps < progress.all_steps && progress.pixels < progress.all_pixels);
        for Finished { pixel, cell, .. } in &finished[..5] {
            assert_eq!(text(cell), text(&cell_alone(&spec, *pixel, cell.replicates)));
        }
        let whole = finished.iter().filter(|finished| finished.cell.replicates == 1_000).count();
        assert_eq!(whole, progress.pixels);
    }
}

#[test]
fn a_sweep_that_is_dropped_gives_its_threads_back() {
    let spec = light([25, 27]);
    let endless = Arc::new(SweepSpec { steps: StepCount::clamped(10_000_000), ..(*spec).clone() });
    let pool = Pool::new(1).unwrap();
    let backend = Backend::new(Precision::Single);
    drop(Sweep::start(&pool, SweepJob::new(endless, backend), || ()));
    let next = Sweep::start(&pool, SweepJob::new(Arc::clone(&spec), backend), || ());
    let mut diagram = Diagram::new(spec);
    next.finished().iter().for_each(|finished| diagram.insert(finished.pixel, finished.cell));
    assert!(diagram.is_complete());
}

#[test]
fn a_thread_alone_does_the_work_until_it_takes_no_more() {
    let spec = light([4, 5]);
    let work = SweepWork::new(SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single)));
    let mut pixels = Vec::new();
    work.run(|finished| {
        assert_eq!(text(&finished.cell), text(&cell_alone(&spec, finished.pixel, 11)));
        pixels.push(finished.pixel);
        pixels.len() < 7
    });
    assert_eq!((pixels.len(), work.pixels(), work.all_pixels()), (7, 7, 20));
    work.run(|finished| {
        pixels.push(finished.pixel);
        true
    });
    assert_eq!(pixels, spec.pixels().collect::<Vec<_>>());
    assert_eq!((work.pixels(), work.steps()), (20, work.all_steps()));
}
