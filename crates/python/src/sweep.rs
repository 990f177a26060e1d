//! Phase diagrams.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use std::thread::available_parallelism;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use valleyscope::sweep::pictures::{drawing, write_pictures};
use valleyscope::sweep::pool::{Pool, Sweep as RunningSweep};
use valleyscope::sweep::result::SweepResult;
use valleyscope_engine::sweep::{
    Backend, Diagram, ExternalRun, ExternalRuns, Point, Precision, SweepJob, SweepSpec, external_metrics,
};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::atomic_file::Overwrite;

use crate::errors::{preset_error, value_error};
use crate::external::Stepper;
use crate::simulate::{TICK, svg};

/// A computed phase diagram.
#[pyclass(frozen, module = "valleyscope")]
pub(crate) struct Sweep(SweepResult);

#[pymethods]
impl Sweep {
    /// The bytes of `phase.npz`.
    fn npz<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Cursor::new(Vec::new());
        py.detach(|| self.0.write_arrays(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes.into_inner()))
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| drawing(&self.0).map_err(value_error).and_then(|drawing| svg(&drawing)))
    }

    /// Writes the files of `valleyscope sweep --out` into a folder, which is made if it is missing.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| {
            std::fs::create_dir_all(&folder)?;
            self.0.write(&folder, Overwrite::Yes)?;
            let drawing = drawing(&self.0).map_err(value_error)?;
            let written = write_pictures(&drawing, &folder, Overwrite::Yes);
            written.map_err(|error| PyOSError::new_err(format!("{error:#}")))
        })
    }
}

/// Opens the result of a sweep: its folder, or its `phase.npz`.
#[pyfunction]
pub(crate) fn read_sweep(py: Python<'_>, path: PathBuf) -> PyResult<Sweep> {
    if !path.exists() {
        return Err(PyFileNotFoundError::new_err(format!("there is no {}", path.display())));
    }
    py.detach(|| SweepResult::open(&path)).map(Sweep).map_err(value_error)
}

/// Computes a phase diagram. `begin` makes the steps of external optimizers; `progress` is called with what is done,
/// the whole, and its unit.
#[pyfunction]
#[pyo3(signature = (text, double, threads, begin, progress))]
pub(crate) fn sweep(
    py: Python<'_>,
    text: &str,
    double: bool,
    threads: Option<usize>,
    begin: &Bound<'_, PyAny>,
    progress: &Bound<'_, PyAny>,
) -> PyResult<Sweep> {
    let Preset::Sweep(preset) = Preset::parse(text, "the preset").map_err(preset_error)? else {
        return Err(PyValueError::new_err("expected a preset of the kind Sweep; `simulate` runs landscapes"));
    };
    let precision = if double { Precision::Double } else { Precision::Single };
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let pool = Pool::new(threads).map_err(value_error)?;
    let (spec, backend) = (Arc::new(preset.sweep.clone()), Backend::new(precision));
    let mut diagram = Diagram::new(Arc::clone(&spec));
    let external = Arc::new(ExternalRuns::default());
    loop {
        compute(py, &pool, &spec, backend, &external, &mut diagram, progress)?;
        let missing = external.take_missing();
        if missing.is_empty() {
            break;
        }
        take_steps(&spec, missing, &external, begin, progress)?;
    }
    if !diagram.is_complete() {
        return Err(PyRuntimeError::new_err("a thread of the sweep has failed; its message is on standard error"));
    }
    Ok(Sweep(SweepResult::of(&preset, diagram, precision)))
}

/// Computes the pixels as far as the runs of external optimizers are known.
fn compute(
    py: Python<'_>,
    pool: &Pool,
    spec: &Arc<SweepSpec>,
    backend: Backend,
    external: &Arc<ExternalRuns>,
    diagram: &mut Diagram,
    progress: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let before = diagram.clone();
    let replicates = spec.replicates.get();
    let known = |pixel| before.cell(pixel).is_some_and(|cell| cell.is_complete(replicates));
    let begun = |pixel| before.race(pixel).cloned();
    let job = SweepJob::new(Arc::clone(spec), backend);
    let job = SweepJob { known: &known, begun: &begun, external: Some(Arc::clone(external)), ..job };
    let running = RunningSweep::start(pool, job, || {});
    loop {
        match running.finished().try_recv() {
            Ok(finished) => diagram.insert(finished.pixel, finished.cell),
            Err(TryRecvError::Empty) => {
                py.detach(|| std::thread::sleep(TICK));
                py.check_signals()?;
                let told = running.progress();
                progress.call1((told.steps, told.all_steps, "steps"))?;
            }
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
    }
}

/// Takes the steps of runs of external optimizers: of those that share optimizer and learning rate at a time.
fn take_steps(
    spec: &SweepSpec,
    runs: Vec<ExternalRun>,
    known: &ExternalRuns,
    begin: &Bound<'_, PyAny>,
    progress: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let all = runs.len();
    let mut points: HashMap<[usize; 2], Point> = HashMap::new();
    let mut groups: BTreeMap<(usize, u64), Vec<ExternalRun>> = BTreeMap::new();
    for run in runs {
        let point = points.entry(run.pixel).or_insert_with(|| spec.point(run.pixel[0], run.pixel[1]));
        let rate = point.optimizers[run.optimizer].learning_rate(run.candidate);
        groups.entry((run.optimizer, rate.to_bits())).or_default().push(run);
    }
    let mut done = 0;
    for ((_, rate), mut group) in groups {
        group.sort_unstable_by_key(|run| (run.pixel, run.candidate, run.replicate));
        let mut stepper = Stepper::new(begin);
        let metrics = external_metrics(spec, &group, &mut |id, theta, gradient| {
            stepper.step(id, f64::from_bits(rate), theta, gradient)
        });
        let Some(metrics) = metrics else {
            return Err(stepper.error.unwrap_or_else(|| PyRuntimeError::new_err("the optimizer stopped")));
        };
        done += group.len();
        known.extend(group.into_iter().zip(metrics));
        progress.call1((done, all, "external runs"))?;
    }
    Ok(())
}
