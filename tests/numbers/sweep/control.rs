//! A sweep in its pool: results, their order, progress, ends, records byte by byte, and the division among parts.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope::sweep::result::{StoreError, SweepHeader, SweepRecords, SweepStore};
use valleyscope_engine::quantity::{Certainty, PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{
    Adaptive, Average, Axis, Backend, Cell, Diagram, Finished, LearningRates, PixelOrder, Precision, Quantity,
    Sampling, Spacing, SweepJob, SweepOptimizer, SweepPart, SweepSpec, SweepWork,
};
use valleyscope_experiments::preset::{FormatVersion, Library, Preset, SweepPreset, built_ins};

use crate::sweep::{count, fig2a, runs};

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
    let job = SweepJob { order, known: &known, ..SweepJob::new(Arc::clone(spec), backend) };
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

fn small() -> SweepSpec {
    let preset = &built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is no sweep") };
    let mut spec = preset.sweep.clone();
    (spec.rows.count, spec.columns.count) = (PointCount::clamped(2), PointCount::clamped(2));
    (spec.steps, spec.replicates) = (StepCount::clamped(5), Replicates::clamped(2));
    spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates.count = PointCount::clamped(2));
    spec
}

fn small_pixels(spec: &SweepSpec) -> Vec<Finished> {
    let pool = Pool::new(1).unwrap();
    let job = SweepJob { keep_runs: true, ..SweepJob::new(Arc::new(spec.clone()), Backend::new(Precision::Single)) };
    let sweep = Sweep::start(&pool, job, || {});
    sweep.finished().iter().collect()
}

fn header(spec: &SweepSpec) -> SweepHeader {
    let (title, sweep) = ("Small".to_owned(), spec.clone());
    let preset = Arc::new(SweepPreset { version: FormatVersion, title, description: String::new(), sweep });
    SweepHeader { preset, precision: Precision::Single, keeps_runs: true, part: None }
}

fn open(folder: &Path, spec: &SweepSpec) -> Result<SweepStore, StoreError> {
    SweepStore::open(folder, Some(&header(spec))).map(|(store, _)| store)
}

fn write(folder: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Vec<u8> {
    let mut store = open(folder, spec).unwrap();
    pixels.iter().for_each(|pixel| store.add(pixel));
    store.save().unwrap();
    fs::read(folder.join(SweepRecords::FILE)).unwrap()
}

/// Returns a pixel as text, in which NaN equals itself and −0 does not equal 0.
fn record_text(finished: &Finished) -> String {
    format!("{finished:?}")
}

/// Checks that each known pixel is as it was written.
#[track_caller]
fn expect_true(store: &SweepStore, pixels: &[Finished]) {
    for pixel in pixels {
        if let Some(found) = store.read(pixel.pixel).unwrap() {
            assert_eq!(record_text(&found), record_text(pixel));
        }
    }
}

#[test]
fn pixels_are_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, mut pixels) = (small(), small_pixels(&small()));
    pixels[1].cell.averages[0][0][0] = f64::INFINITY;
    pixels[1].cell.deviations[0][0][0] = f64::NAN;
    pixels[1].runs.as_mut().unwrap()[0].metrics[0].final_loss = -0.0;
    write(folder.path(), &spec, &pixels[..2]);
    write(folder.path(), &spec, &pixels[2..]);
    let store = open(folder.path(), &spec).unwrap();
    assert_eq!(store.known(), 4);
    for pixel in &pixels {
        assert_eq!(record_text(&store.read(pixel.pixel).unwrap().unwrap()), record_text(pixel));
    }
}

#[test]
fn a_file_cut_anywhere_keeps_its_complete_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (small(), small_pixels(&small()));
    let empty = write(folder.path(), &spec, &[]).len();
    let bytes = write(folder.path(), &spec, &pixels);
    let ends: Vec<usize> = (empty..bytes.len()).filter(|at| bytes[*at] == 0).map(|at| at + 1).collect();
    assert_eq!(ends.len(), pixels.len());
    for length in (0..=bytes.len()).step_by(7).chain([empty - 1, empty, empty + 1, bytes.len() - 1]) {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut store = open(folder.path(), &spec).unwrap();
        assert_eq!(store.known(), ends.iter().filter(|end| **end <= length).count(), "cut at {length}");
        expect_true(&store, &pixels);
        for pixel in &pixels {
            if store.read(pixel.pixel).unwrap().is_none() {
                store.add(pixel);
            }
        }
        store.save().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "repaired after a cut at {length}");
    }
}

#[test]
fn a_flipped_bit_loses_one_record_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (small(), small_pixels(&small()));
    let empty = write(folder.path(), &spec, &[]).len();
    let bytes = write(folder.path(), &spec, &pixels);
    for place in (0..bytes.len()).step_by(5) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&path, &flipped).unwrap();
        match open(folder.path(), &spec) {
            Ok(store) => {
                assert!(place >= empty, "a flipped bit at {place} in the header went unseen");
                // Two records without the zero between them are one that is damaged.
                assert!((pixels.len() - 2..pixels.len()).contains(&store.known()), "{} at {place}", store.known());
                expect_true(&store, &pixels);
            }
            Err(StoreError::Foreign(_) | StoreError::Version { .. } | StoreError::Damaged(_)) => {
                assert!(place < empty, "a flipped bit at {place} spoiled all");
                assert_eq!(fs::read(&path).unwrap(), flipped, "what is refused stays as it is");
            }
            Err(other) => panic!("a flipped bit at {place}: {other}"),
        }
    }
}

#[test]
fn other_sweeps_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let (spec, pixels) = (small(), small_pixels(&small()));
    write(folder.path(), &spec, &pixels);
    let other = SweepSpec { seed: 77, ..spec.clone() };
    let Err(StoreError::Different { field, found, expected, .. }) = open(folder.path(), &other) else {
        panic!("records of another seed were taken")
    };
    assert_eq!([field.as_str(), &found, &expected], ["seed", "0", "77"]);
    let double = SweepHeader { precision: Precision::Double, ..header(&spec) };
    assert!(matches!(
        SweepStore::open(folder.path(), Some(&double)),
        Err(StoreError::Different { field, .. }) if field == "precision"
    ));
    fs::write(&path, vec![0; 100_000]).unwrap();
    assert!(matches!(open(folder.path(), &spec), Err(StoreError::Foreign(_))));
}

#[test]
fn a_checkpoint_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SweepRecords::FILE);
    let first = open(folder.path(), &small()).unwrap();
    assert!(matches!(open(folder.path(), &small()), Err(StoreError::Busy(_))));
    drop(first);
    open(folder.path(), &small()).unwrap().remove().unwrap();
    assert!(OpenOptions::new().read(true).open(&path).is_err());
}

#[test]
fn a_checkpoint_removed_by_its_owner_during_the_wait_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, pixels) = (small(), small_pixels(&small()));
    let second = (0..10).find_map(|_| opened_while_another_removes_it(folder.path(), &spec, &pixels));
    let mut second = second.expect("the owner removes it in a second");
    assert!(second.is_new && second.is_at_path());
    assert_eq!((second.known(), second.saved()), (0, 0));
    second.add(&pixels[0]);
    assert_eq!((second.known(), second.saved()), (1, 0));
    second.save().unwrap();
    assert_eq!(second.saved(), 1);
}

/// Opens records that another owner holds, and removes meanwhile. `None` if this took longer than the second of
/// the lock's time limit, as on a busy processor.
fn opened_while_another_removes_it(folder: &Path, spec: &SweepSpec, pixels: &[Finished]) -> Option<SweepStore> {
    write(folder, spec, pixels);
    let first = open(folder, spec).unwrap();
    assert!(!first.is_new);
    let waiting = {
        let (folder, spec) = (folder.to_owned(), spec.clone());
        std::thread::spawn(move || open(&folder, &spec))
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    first.remove().unwrap();
    match waiting.join().unwrap() {
        Err(StoreError::Busy(_)) => None,
        second => Some(second.unwrap()),
    }
}

/// Returns an adaptive sweep and its diagram after the first runs of all pixels, whose races are not over.
fn begun() -> (SweepSpec, Diagram) {
    let adaptive = Adaptive { certainty: Certainty::clamped(0.999_999), ..Adaptive::default() };
    let spec = SweepSpec { replicates: Replicates::clamped(50), sampling: Sampling::Adaptive(adaptive), ..small() };
    let mut diagram = Diagram::new(Arc::new(spec.clone()));
    let job = SweepJob::new(Arc::clone(diagram.spec()), Backend::new(Precision::Single));
    let (mut left, all) = (spec.shape().iter().product::<usize>(), PixelOrder::CoarseToFine);
    SweepWork::new(SweepJob { order: all, ..job }).run(|finished| {
        diagram.insert(finished.pixel, finished.cell);
        left -= 1;
        left > 0
    });
    (spec, diagram)
}

#[test]
fn races_are_read_back_and_damaged_or_foreign_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, diagram) = begun();
    let races = |diagram: &Diagram| -> Vec<_> { spec.pixels().map(|pixel| diagram.race(pixel).cloned()).collect() };
    assert!(races(&diagram).iter().any(Option::is_some), "all races are over");
    let open = |folder: &Path, seed| {
        let sweep = SweepSpec { seed, ..spec.clone() };
        SweepStore::open(folder, Some(&SweepHeader { keeps_runs: false, ..header(&sweep) })).unwrap()
    };
    let (store, mut read) = open(folder.path(), 0);
    store.read_races(&mut read).expect("there are none");
    store.save_races(&diagram).unwrap();
    store.read_races(&mut read).unwrap();
    assert_eq!(races(&read), races(&diagram));
    let path = folder.path().join(SweepStore::RACES);
    let bytes = fs::read(&path).unwrap();
    for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"\x02\x02"].concat()] {
        fs::write(&path, damaged).unwrap();
        let reason = store.read_races(&mut Diagram::new(Arc::clone(diagram.spec()))).unwrap_err();
        assert!(reason.contains("races.bin: it is damaged"), "{reason}");
    }
    let other = tempfile::tempdir().unwrap();
    let (other_store, mut other_diagram) = open(other.path(), 7);
    fs::write(other.path().join(SweepStore::RACES), &bytes).unwrap();
    let reason = other_store.read_races(&mut other_diagram).unwrap_err();
    assert!(reason.contains("it is of another sweep"), "{reason}");
    store.remove().unwrap();
    assert!(!path.exists());
}

fn built_in(rows: u64, columns: u64) -> SweepSpec {
    let preset = Library::open().load("fig2a".as_ref()).unwrap().preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is a sweep") };
    let mut spec = preset.sweep;
    (spec.rows.count, spec.columns.count) = (PointCount::new(rows).unwrap(), PointCount::new(columns).unwrap());
    spec
}

/// Returns the cost of each part, if a pixel's cost is `cost`.
fn costs(count: u32, spec: &SweepSpec, cost: impl Fn([usize; 2]) -> f64) -> Vec<f64> {
    let columns = spec.shape()[1];
    let mut costs = vec![0.0; count as usize];
    for (index, number) in SweepPart::numbers(count, spec).into_iter().enumerate() {
        costs[number as usize - 1] += cost([index / columns, index % columns]);
    }
    costs
}

fn spread_of(costs: &[f64]) -> f64 {
    costs.iter().copied().fold(0.0, f64::max) - costs.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn equal_pixels_are_divided_evenly_over_the_diagram() {
    let spec = built_in(24, 25);
    for count in [1, 7, 96, 600] {
        let found = costs(count, &spec, |_| 1.0);
        assert!(spread_of(&found) <= 1.0 && found.iter().sum::<f64>() == 600.0, "{found:?}");
    }
    // The pixels of a part are not only neighbours.
    let rows: Vec<usize> = SweepPart::numbers(4, &spec)
        .iter()
        .enumerate()
        .filter(|(_, part)| **part == 1)
        .map(|(at, _)| at / 25)
        .collect();
    assert_eq!((rows[0], rows[rows.len() - 1]), (0, 23));
}

#[test]
fn parts_have_equal_cost_if_pixels_do_not() {
    for (name, of) in [("steps", Quantity::Steps), ("dimension", Quantity::Dimension)] {
        let mut spec = built_in(16, 25);
        spec.rows = Axis { of, from: 2.0, to: 100.0, count: spec.rows.count, spacing: Spacing::Linear };
        let values = spec.rows.values();
        let dearest = values.iter().copied().fold(0.0, f64::max);
        for count in [2, 7, 30] {
            let found = costs(count, &spec, |[row, _]| values[row].floor());
            assert!(spread_of(&found) <= dearest, "{name} in {count}: {found:?}");
            assert!(found.iter().all(|cost| *cost > 0.0));
        }
    }
}
