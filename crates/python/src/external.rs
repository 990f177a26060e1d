//! Optimizers that are Python objects.

use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// A Python object that takes the steps of external optimizers.
///
/// Its method `begin(id, learning_rate, theta, gradient)` gets the optimizer's id and two float64 arrays of the shape
/// (rows, 2), and returns a function without arguments that takes a step: it replaces the numbers in `theta`, given
/// those in `gradient`.
pub(crate) struct Stepper<'py> {
    begin: Bound<'py, PyAny>,
    /// The optimizer whose arrays these are.
    begun: Vec<Begun<'py>>,
    /// Why a step failed.
    pub error: Option<PyErr>,
}

struct Begun<'py> {
    id: u32,
    theta: Bound<'py, PyArray2<f64>>,
    gradient: Bound<'py, PyArray2<f64>>,
    step: Bound<'py, PyAny>,
}

impl<'py> Stepper<'py> {
    pub(crate) fn new(begin: &Bound<'py, PyAny>) -> Stepper<'py> {
        Stepper { begin: begin.clone(), begun: Vec::new(), error: None }
    }

    /// Takes a step of all rows of an optimizer. Returns false, and keeps the error, where it fails.
    pub(crate) fn step(&mut self, id: u32, learning_rate: f64, theta: &mut [f64], gradient: &[f64]) -> bool {
        let done = self.try_step(id, learning_rate, theta, gradient);
        done.map_err(|error| self.error = Some(error)).is_ok()
    }

    fn try_step(&mut self, id: u32, learning_rate: f64, theta: &mut [f64], gradient: &[f64]) -> PyResult<()> {
        let py = self.begin.py();
        py.check_signals()?;
        let index = match self.begun.iter().position(|begun| begun.id == id) {
            Some(index) => index,
            None => {
                let rows = theta.len() / 2;
                let array = |from: &[f64]| numpy::PyArray1::from_slice(py, from).reshape([rows, 2]);
                let (of_theta, of_gradient) = (array(theta)?, array(gradient)?);
                let step = self.begin.call1((id, learning_rate, &of_theta, &of_gradient))?;
                self.begun.push(Begun { id, theta: of_theta, gradient: of_gradient, step });
                self.begun.len() - 1
            }
        };
        let Begun { theta: of_theta, gradient: of_gradient, step, .. } = &self.begun[index];
        of_gradient.readwrite().as_slice_mut()?.copy_from_slice(gradient);
        step.call0()?;
        theta.copy_from_slice(of_theta.readonly().as_slice()?);
        Ok(())
    }
}
