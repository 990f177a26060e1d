//! Simulations.

use std::io::Cursor;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use valleyscope::draw::{Figure, Format, Options, Svg, Trajectories};
use valleyscope::export::TrajectoryArrays;
use valleyscope::sweep::pictures::PICTURE_DPI;
use valleyscope_experiments::preset::{LandscapePreset, Preset};

use crate::errors::{preset_error, value_error};
use crate::external::Stepper;

/// How often signals are checked and progress is told.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// A recorded simulation: the bytes of its NPZ archive, and its figure.
#[pyclass(frozen, module = "valleyscope")]
pub(crate) struct Simulation {
    npz: Vec<u8>,
    figure: Figure,
}

#[pymethods]
impl Simulation {
    fn npz<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.npz)
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let options = Options { width_mm: self.figure.usual_width_mm(), ..Options::default() };
            self.figure.render(&options).map_err(value_error).and_then(|drawing| svg(&drawing))
        })
    }
}

/// The text of a drawing.
pub(crate) fn svg(drawing: &Svg) -> PyResult<String> {
    let svg = drawing.to_file(Format::Svg, PICTURE_DPI).map_err(value_error)?;
    Ok(String::from_utf8(svg).expect("an SVG is text"))
}

/// Runs the first simulation of a landscape's preset, and records the start, every `every`-th step and the last.
/// `begin` makes the steps of external optimizers; `progress` is called with the steps taken and all of them.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    text: &str,
    every: u64,
    begin: &Bound<'_, PyAny>,
    progress: &Bound<'_, PyAny>,
) -> PyResult<Simulation> {
    let Preset::Landscape(mut preset) = Preset::parse(text, "the preset").map_err(preset_error)? else {
        return Err(PyValueError::new_err("expected a preset of the kind Landscape; `sweep` computes phase diagrams"));
    };
    preset.simulations.truncate(1);
    if every == 0 {
        return Err(PyValueError::new_err("expected `every` to be at least 1, found 0"));
    }
    let has_external = preset.spec().check_computable().is_err();
    let steps = preset.planned_steps().unwrap_or(LandscapePreset::DEFAULT_STEPS);
    let recorded = TrajectoryArrays::recorded(steps, every);
    let bytes = recorded.saturating_mul(TrajectoryArrays::bytes_a_step(preset.spec()));
    if bytes > TrajectoryArrays::MOST_BYTES {
        let gib = bytes as f64 / f64::from(1 << 30);
        return Err(PyValueError::new_err(format!(
            "recording {recorded} steps would make arrays of {gib:.1} GiB, which is too much; record fewer with a larger \
             `every`, or take fewer steps"
        )));
    }
    let mut trajectories = Trajectories::new(&preset).map_err(value_error)?;
    let rates: Vec<(u32, f64)> =
        preset.spec().optimizers.iter().map(|it| (it.id, it.rule.learning_rate.get())).collect();
    let mut stepper = Stepper::new(begin);
    let mut arrays = TrajectoryArrays::new(preset, recorded as usize);
    arrays.record(trajectories.simulation());
    let mut told = Instant::now();
    while !trajectories.is_complete() {
        let record = |trajectories: &Trajectories, arrays: &mut TrajectoryArrays| {
            if trajectories.step().is_multiple_of(every) || trajectories.is_complete() {
                arrays.record(trajectories.simulation());
            }
        };
        if has_external {
            let mut external = |id: u32, theta: &mut [f64], gradient: &[f64]| {
                let rate = rates.iter().find(|(of, _)| *of == id).map_or(f64::NAN, |(_, rate)| *rate);
                stepper.step(id, rate, theta, gradient)
            };
            if !trajectories.advance_with(&mut external) {
                break;
            }
            record(&trajectories, &mut arrays);
        } else {
            // Other threads of Python go on meanwhile.
            py.detach(|| {
                let begun = Instant::now();
                while !trajectories.is_complete() && begun.elapsed() < TICK {
                    trajectories.advance();
                    record(&trajectories, &mut arrays);
                }
            });
        }
        if told.elapsed() >= TICK {
            told = Instant::now();
            py.check_signals()?;
            progress.call1((trajectories.step(), steps, "steps"))?;
        }
    }
    if let Some(error) = stepper.error {
        return Err(error);
    }
    let mut npz = Cursor::new(Vec::new());
    py.detach(|| arrays.write(&mut npz))?;
    Ok(Simulation { npz: npz.into_inner(), figure: py.detach(|| Figure::landscape(&trajectories)) })
}
