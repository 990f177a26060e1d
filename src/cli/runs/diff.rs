//! `valleyscope runs diff`: the settings in which runs differ.

use std::ffi::OsString;

use anyhow::anyhow;
use valleyscope_experiments::difference::{SettingColumn, run_column};

use super::find::RunsLocation;
use crate::cli::Failure;
use crate::cli::output::print_differences;

pub(super) fn run(place: &RunsLocation, runs: &[OsString]) -> Result<(), Failure> {
    let column = |name: &OsString| {
        let run = place.find(name)?;
        let name = run.name();
        let column = run_column(&run, name).map_err(|error| Failure::Failed(anyhow!(error)))?;
        // The folder is the name.
        Ok(SettingColumn { place: String::new(), ..column })
    };
    print_differences(&runs.iter().map(column).collect::<Result<Vec<_>, Failure>>()?)
}
