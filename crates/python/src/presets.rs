//! Presets, rules and landscapes.

use std::ffi::OsString;

use numpy::ndarray::ArrayViewD;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::notation::{Notation, written};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_experiments::preset::{Library, Preset, built_ins};

use crate::errors::{preset_error, value_error};

/// The names of the built-in presets, then of the user's own.
#[pyfunction]
pub(crate) fn presets() -> PyResult<Vec<String>> {
    let own = Library::open().user_presets().map_err(preset_error)?;
    let names = built_ins().iter().map(|built_in| built_in.name.to_owned());
    Ok(names.chain(own.into_iter().map(|preset| preset.name)).collect())
}

/// The preset that a name, a path or a preset's text refers to: its kind, its title and its text without defaults.
#[pyfunction]
pub(crate) fn preset(source: OsString) -> PyResult<(String, String, String)> {
    let is_text = source.to_str().is_some_and(|text| text.trim_end().ends_with(')') && text.contains('('));
    let preset = match source.to_str().filter(|_| is_text) {
        Some(text) => Preset::parse(text, "the preset").map_err(preset_error)?,
        None => Library::open().load(&source).map_err(preset_error)?.preset,
    };
    Ok((preset.kind().to_owned(), preset.title().to_owned(), preset.to_ron()))
}

/// The text of a preset with settings changed, by the paths and values of `--set`.
#[pyfunction]
pub(crate) fn with_settings(text: &str, settings: Vec<(String, String)>) -> PyResult<String> {
    let preset = Preset::parse(text, "the preset").map_err(preset_error)?;
    let settings = settings.iter().map(|(path, value)| (path.as_str(), value.as_str()));
    let changed = preset.with_all(settings).map_err(preset_error)?;
    Ok(changed.as_changed_from(&preset).to_ron())
}

/// The keys of the built-in rules with the keys of their hyperparameters.
#[pyfunction]
pub(crate) fn rules() -> Vec<(&'static str, Vec<&'static str>)> {
    let keys = |kind: &RuleKind| kind.info().hyperparameters.iter().map(|of| of.key).collect();
    RuleKind::ALL.iter().map(|kind| (kind.key(), keys(kind))).collect()
}

/// The PyTorch class of a built-in rule by its key, or of a rule as text where a name is given for it.
#[pyfunction]
#[pyo3(signature = (rule, name))]
pub(crate) fn rule_code(rule: &str, name: Option<&str>) -> PyResult<String> {
    let kind = match name {
        Some(name) => RuleKind::Typed(TypedRule::new(name, rule).map_err(value_error)?),
        None => RuleKind::named(rule).ok_or_else(|| PyValueError::new_err(format!("there is no rule {rule:?}")))?,
    };
    let rated = RuleSpec::in_training(kind).rated(LearningRate::clamped(1e-3));
    written(&rated, Notation::PyTorch).map_err(PyValueError::new_err)
}

/// A landscape: the loss and its derivatives at points of the plane.
#[pyclass(frozen, module = "valleyscope")]
pub(crate) struct Landscape(LandscapeSpec);

#[pymethods]
impl Landscape {
    /// A landscape by its name and parameters, or by the text of its formula.
    #[new]
    #[pyo3(signature = (name, parameters))]
    fn new(name: &str, parameters: Vec<(String, f64)>) -> PyResult<Landscape> {
        let kind = match name.contains('=') {
            true => {
                LandscapeKind::Formula(LandscapeFormula::new(LandscapeFormula::UNNAMED, name).map_err(value_error)?)
            }
            false => LandscapeKind::named(name).ok_or_else(|| {
                let names: Vec<&str> = LandscapeKind::ALL.iter().map(|kind| kind.key()).collect();
                PyValueError::new_err(format!(
                    "expected a formula such as `L = x^2 + 10*y^2`, or one of {}, found {name:?}",
                    names.join(", ")
                ))
            })?,
        };
        let mut spec = LandscapeSpec::new(kind);
        for (key, value) in parameters {
            spec.set(&key, value).map_err(value_error)?;
        }
        Ok(Landscape(spec))
    }

    /// L at points (…, 2), in the shape (…).
    fn value<'py>(&self, py: Python<'py>, xy: PyReadonlyArrayDyn<'py, f64>) -> PyResult<Bound<'py, PyAny>> {
        let landscape = self.0.landscape();
        mapped(py, &xy, |at| [landscape.loss(at)])
    }

    /// ∂L/∂x and ∂L/∂y at points (…, 2), in the same shape.
    fn gradient<'py>(&self, py: Python<'py>, xy: PyReadonlyArrayDyn<'py, f64>) -> PyResult<Bound<'py, PyAny>> {
        let landscape = self.0.landscape();
        mapped(py, &xy, |at| landscape.gradient(at))
    }

    /// ∂²L/∂x² and ∂²L/∂y² at points (…, 2), in the same shape.
    fn curvature<'py>(&self, py: Python<'py>, xy: PyReadonlyArrayDyn<'py, f64>) -> PyResult<Bound<'py, PyAny>> {
        let landscape = self.0.landscape();
        mapped(py, &xy, |at| landscape.hessian_diagonal(at))
    }
}

/// Maps points (…, 2) to N numbers each: to the shape (…), or with two numbers to (…, 2).
fn mapped<'py, const N: usize>(
    py: Python<'py>,
    xy: &PyReadonlyArrayDyn<'py, f64>,
    of: impl Fn([f64; 2]) -> [f64; N],
) -> PyResult<Bound<'py, PyAny>> {
    let points: ArrayViewD<'_, f64> = xy.as_array();
    let shape = points.shape();
    let Some((2, outer)) = shape.split_last().map(|(last, outer)| (*last, outer)) else {
        return Err(PyValueError::new_err(format!("expected points of shape (…, 2), found the shape {shape:?}")));
    };
    let shape: Vec<usize> = outer.iter().copied().chain((N > 1).then_some(N)).collect();
    let all: Vec<f64> = points.iter().copied().collect();
    let values: Vec<f64> = all.chunks_exact(2).flat_map(|at| of([at[0], at[1]])).collect();
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}
