//! `valleyscope data openwebtext`: tokens of OpenWebText.

use std::path::{Path, PathBuf};

use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::download::{self, Download, DownloadError, PATIENCE};
use valleyscope_experiments::dataset::text::openwebtext::{ARCHIVE, VALIDATION_FRACTION, WebText, mirrors};

use super::tokens;
use crate::cli::output::Interrupt;
use crate::cli::output::{ProgressLine, ProgressUnit};
use crate::cli::{Failure, say};

#[derive(clap::Args)]
pub(crate) struct OpenWebTextArgs {
    /// The folder for the tokens
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Take the packs (urlsf_subset….xz), or tar archives of them, from this folder instead of the internet
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Fraction of the documents for validation
    #[arg(long, value_name = "F", allow_hyphen_values = true, default_value_t = VALIDATION_FRACTION)]
    val_fraction: f64,
    /// Replace other tokens in the folder, finished or not
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &OpenWebTextArgs) -> Result<(), Failure> {
    let fraction = ValidationFraction::new(args.val_fraction).map_err(Failure::bad_input)?;
    let interrupt = Interrupt::listen()?;
    if args.from.is_none() {
        fetch(&args.out, &interrupt)?;
    }
    let folder = args.from.as_deref().unwrap_or(&args.out);
    let text = WebText { folder, fraction, replace: args.force };
    tokens::make(&args.out, &interrupt, |progress, cancelled| text.make(&args.out, progress, cancelled))
}

fn fetch(folder: &Path, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut shown: Option<ProgressLine> = None;
    let mut show = |download::DownloadProgress { done, total }| {
        shown.get_or_insert_with(|| ProgressLine::new(total, ProgressUnit::MEGABYTES, false)).update(done);
    };
    let download = Download { files: &[ARCHIVE], mirrors: &mirrors(), patience: PATIENCE };
    let outcome = download.into_folder(folder, &mut show, &|| interrupt.is_raised());
    if let Some(progress) = shown {
        progress.finish();
    }
    match outcome {
        Ok(()) => Ok(()),
        Err(DownloadError::Cancelled) => {
            let folder = folder.display();
            say(format_args!("the received part is kept in {folder}; the same command resumes there"));
            Err(Failure::Interrupted)
        }
        Err(error) => Err(Failure::Failed(error.into())),
    }
}
