//! `valleyscope data mnist`: downloading and checking MNIST.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use valleyscope_experiments::dataset::download::{self, DownloadError};
use valleyscope_experiments::dataset::mnist::{self, DataError, Mnist, MnistCheck, MnistFound, SYNTHETIC_SEED};

use crate::cli::output::Interrupt;
use crate::cli::output::print;
use crate::cli::output::{ProgressLine, ProgressUnit};
use crate::cli::{Failure, say};

#[derive(clap::Args)]
pub(crate) struct MnistArgs {
    /// The folder for the files [default: valleyscope/mnist in your folder for caches]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Take the files from this folder instead of the internet
    #[arg(long, value_name = "DIR", conflicts_with_all = ["synthetic", "check"])]
    from: Option<PathBuf>,
    /// Write synthetic digits, drawn by the program. They are not MNIST
    #[arg(long, requires = "dir", conflicts_with = "check")]
    synthetic: bool,
    /// Only report which files exist, and compare them with the official sums
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &MnistArgs) -> Result<(), Failure> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => mnist::cache_folder().map_err(failure)?,
    };
    if args.check {
        check(&folder)
    } else if args.synthetic {
        refuse_full(&folder)?;
        let drawn = mnist::synthetic_digits(SYNTHETIC_SEED);
        mnist::write_folder(&drawn, &folder).map_err(failure)?;
        say_where(&drawn, &folder);
        Ok(())
    } else if let Some(from) = &args.from {
        refuse_full(&folder)?;
        say_where(&mnist::copy_folder(from, &folder).map_err(failure)?, &folder);
        Ok(())
    } else {
        fetch(&folder)
    }
}

/// Returns the failure of an error: faults of files that the user named are bad input.
fn failure(error: DataError) -> Failure {
    match error {
        DataError::NoFolder(_) | DataError::Missing { .. } | DataError::Damaged { .. } => Failure::bad_input(error),
        DataError::Download(DownloadError::Cancelled) => Failure::Interrupted,
        DataError::File { .. } | DataError::NoCache | DataError::Download(_) => Failure::Failed(error.into()),
    }
}

fn fetch(folder: &Path) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let mut shown: Option<ProgressLine> = None;
    let mut show = |download::DownloadProgress { done, total }| {
        shown.get_or_insert_with(|| ProgressLine::new(total, ProgressUnit::MEGABYTES, false)).update(done);
    };
    let cancelled = || interrupt.is_raised();
    let outcome = mnist::download(folder, &mnist::mirrors(), download::PATIENCE, &mut show, &cancelled);
    if let Some(progress) = shown {
        progress.finish();
    }
    if matches!(outcome, Err(DataError::Download(DownloadError::Cancelled))) {
        say(format_args!("the received part is kept in {}; the same command resumes there", folder.display()));
    }
    outcome.map_err(failure)?;
    let mnist = mnist::read_folder(folder).map_err(failure)?;
    say(format_args!("now in {}: MNIST, {}", folder.display(), counts(&mnist)));
    Ok(())
}

/// Refuses a folder with such files: existing files are not overwritten.
fn refuse_full(folder: &Path) -> Result<(), Failure> {
    let checks = mnist::check(folder).map_err(failure)?;
    match checks.iter().find_map(path) {
        Some(path) => {
            Err(Failure::BadInput(anyhow!("{} is there already; remove it, or choose another --dir", path.display())))
        }
        None => Ok(()),
    }
}

fn say_where(mnist: &Mnist, folder: &Path) {
    say(format_args!("now in {}: {}, {}", folder.display(), mnist.source, counts(mnist)));
}

fn check(folder: &Path) -> Result<(), Failure> {
    let checks = mnist::check(folder).map_err(failure)?;
    let mut text = String::new();
    for check in &checks {
        let said = match &check.found {
            MnistFound::Missing => "missing".to_owned(),
            MnistFound::Official(path) => format!("{}: the official file", path.display()),
            MnistFound::Other { path, sha256 } => {
                format!("{}: not the official file, its SHA-256 uncompressed is {sha256}", path.display())
            }
            MnistFound::Damaged { error, .. } => error.to_string(),
        };
        writeln!(text, "{:<24} {said}", check.name).expect("a text can be written to");
    }
    let readable = mnist::read_folder(folder);
    if let Ok(mnist) = &readable {
        writeln!(text, "{}, {}", mnist.source, counts(mnist)).expect("a text can be written to");
        writeln!(text, "fingerprint {}", mnist.fingerprint()).expect("a text can be written to");
    }
    print(&text)?;
    readable.map_err(|error| Failure::Failed(error.into()))?;
    match checks.iter().find(|check| matches!(check.found, MnistFound::Other { .. })) {
        Some(check) => Err(Failure::Failed(anyhow!(
            "{} is readable, but not the official file; to have that, run `valleyscope data mnist` with the same --dir",
            check.name
        ))),
        None => Ok(()),
    }
}

fn path(check: &MnistCheck) -> Option<&PathBuf> {
    match &check.found {
        MnistFound::Missing => None,
        MnistFound::Official(path) | MnistFound::Other { path, .. } | MnistFound::Damaged { path, .. } => Some(path),
    }
}

fn counts(mnist: &Mnist) -> String {
    let [train, test] = [&mnist.train, &mnist.test].map(|digits| digits.labels.len());
    format!("{train} images to learn from and {test} to test with")
}
