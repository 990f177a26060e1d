//! The native module of the Python package `valleyscope`: presets, landscapes, simulations, sweeps and figures.
//!
//! Presets travel as their text, results as the bytes of the same files that the command line writes, so that both have
//! the same bits. The package in `python/valleyscope` makes of them what Python's users expect.

mod errors;
mod external;
mod presets;
mod simulate;
mod sweep;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program `valleyscope`, its window, too, with its arguments, the first of which is its name; returns the exit
/// code.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| valleyscope::cli::run(arguments))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<presets::Landscape>()?;
    module.add_class::<simulate::Simulation>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(run_program, module)?)?;
    module.add_function(wrap_pyfunction!(presets::presets, module)?)?;
    module.add_function(wrap_pyfunction!(presets::preset, module)?)?;
    module.add_function(wrap_pyfunction!(presets::with_settings, module)?)?;
    module.add_function(wrap_pyfunction!(presets::rules, module)?)?;
    module.add_function(wrap_pyfunction!(presets::rule_code, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::read_sweep, module)?)
}
