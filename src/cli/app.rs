//! `valleyscope app`: the window.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Failure;
use crate::preset::{Library, Loaded};

#[derive(clap::Args)]
pub struct Args {
    /// Open with this preset: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<OsString>,
    /// Open this preset file
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    open: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let library = Library::open();
    let wanted = match (&args.preset, &args.open) {
        (Some(preset), _) => Some(library.load(preset)),
        (None, Some(file)) => Some(Library::load_file(file)),
        (None, None) => None,
    };
    open(wanted.transpose().map_err(Failure::bad_input)?)
}

#[cfg(feature = "app")]
fn open(preset: Option<Loaded>) -> Result<(), Failure> {
    Ok(crate::app::run(preset)?)
}

#[cfg(not(feature = "app"))]
fn open(_: Option<Loaded>) -> Result<(), Failure> {
    Err(Failure::BadInput(anyhow::anyhow!(
        "this valleyscope was built without the app's window; what works without one are the commands \
         `valleyscope presets` and `valleyscope simulate` (see `valleyscope --help`)"
    )))
}
