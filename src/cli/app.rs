//! `valleyscope app`: the window.

use std::ffi::OsString;
use std::path::PathBuf;

use valleyscope_experiments::preset::{Library, Loaded};
use valleyscope_runs::RunFolder;

use super::Failure;
use crate::result::SweepResult;

#[derive(clap::Args)]
pub(super) struct AppArgs {
    /// Open with this preset: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<OsString>,
    /// Open this preset file, this result of a sweep (its folder or its phase.npz), or this folder of a run
    #[arg(long, value_name = "FILE|DIR|RUN", conflicts_with = "preset")]
    open: Option<PathBuf>,
}

pub(super) fn run(args: &AppArgs) -> Result<(), Failure> {
    let library = Library::open();
    let (mut preset, mut result, mut run) = (None, None, None);
    match (&args.preset, &args.open) {
        (Some(name), _) => preset = Some(library.load(name).map_err(Failure::bad_input)?),
        (None, Some(folder)) if RunFolder::is_at(folder) => {
            run = Some(RunFolder::open(folder).map_err(Failure::bad_input)?)
        }
        (None, Some(path)) if SweepResult::is_at(path) => {
            result = Some(SweepResult::open(path).map_err(Failure::bad_input)?);
        }
        (None, Some(file)) => preset = Some(Library::load_file(file).map_err(Failure::bad_input)?),
        (None, None) => {}
    }
    open(preset, result, run)
}

#[cfg(feature = "app")]
fn open(preset: Option<Loaded>, result: Option<SweepResult>, run: Option<RunFolder>) -> Result<(), Failure> {
    Ok(crate::app::run(crate::app::Opened { preset, result, run })?)
}

#[cfg(not(feature = "app"))]
fn open(_: Option<Loaded>, _: Option<SweepResult>, _: Option<RunFolder>) -> Result<(), Failure> {
    Err(Failure::BadInput(anyhow::anyhow!(
        "this valleyscope was built without the app's window; what works without one are its \
         commands, such as `valleyscope simulate` and `valleyscope sweep` (see `valleyscope --help`)"
    )))
}
