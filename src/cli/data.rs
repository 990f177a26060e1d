//! `valleyscope data`: the data of real trainings.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::anyhow;
use clap::Subcommand;
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::download::{Download, DownloadError, DownloadProgress, PATIENCE};
use valleyscope_experiments::dataset::mnist::{DataError, Mnist, MnistCheck, MnistFound, SYNTHETIC_SEED};
use valleyscope_experiments::dataset::text::openwebtext::{ARCHIVE, WebText, mirrors};
use valleyscope_experiments::dataset::text::{
    Meta, Preparation, Stage, TextError, TokenizerKind, VALIDATION_FRACTION, dropped_marks, find, openwebtext,
};
use valleyscope_experiments::dataset::{mnist, text};

use super::output::Interrupt;
use super::output::print;
use super::output::{ProgressLine, ProgressUnit};
use super::{Failure, one_of, say};

#[derive(Subcommand)]
pub(super) enum DataCommand {
    /// Download MNIST, or check the files that exist
    ///
    /// The four files go into the cache, where trainings look for them. Existing files are not downloaded again, and an
    /// interrupted download continues where it stopped.
    Mnist(MnistArgs),
    /// Make tokens of text, for language models
    ///
    /// The folder gets train.bin and val.bin, tokens of two bytes each as nanoGPT reads them, and meta.json, which
    /// describes them. The last characters of the text are for validation. With GPT-2's tokens, an end-of-text token
    /// separates files. The same command resumes interrupted work; the same text gives the same bytes.
    Text(TextArgs),
    /// Make GPT-2's tokens of OpenWebText
    ///
    /// Its archive of 12.9 GB is downloaded into the folder first, and can be deleted afterwards. The folder gets the
    /// same files as by `data text`, together 18 GB. One in 2,000 documents is for validation. The same command resumes
    /// an interrupted download or tokenization.
    Openwebtext(OpenWebTextArgs),
}

pub(super) fn run(command: &DataCommand) -> Result<(), Failure> {
    match command {
        DataCommand::Mnist(args) => mnist_command(args),
        DataCommand::Text(args) => text_command(args),
        DataCommand::Openwebtext(args) => openwebtext_command(args),
    }
}

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

fn mnist_command(args: &MnistArgs) -> Result<(), Failure> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => mnist::cache_folder().map_err(failure_of_mnist)?,
    };
    if args.check {
        check(&folder)
    } else if args.synthetic {
        refuse_full(&folder)?;
        let drawn = mnist::synthetic_digits(SYNTHETIC_SEED);
        mnist::write_folder(&drawn, &folder).map_err(failure_of_mnist)?;
        say_where(&drawn, &folder);
        Ok(())
    } else if let Some(from) = &args.from {
        refuse_full(&folder)?;
        say_where(&mnist::copy_folder(from, &folder).map_err(failure_of_mnist)?, &folder);
        Ok(())
    } else {
        fetch_mnist(&folder)
    }
}

/// Classifies an error: faults of files that the user named are bad input.
fn failure_of_mnist(error: DataError) -> Failure {
    match error {
        DataError::NoFolder(_) | DataError::Missing { .. } | DataError::Damaged { .. } => Failure::bad_input(error),
        DataError::Download(DownloadError::Cancelled) => Failure::Interrupted,
        DataError::File { .. } | DataError::NoCache | DataError::Download(_) => Failure::Failed(error.into()),
    }
}

fn fetch_mnist(folder: &Path) -> Result<(), Failure> {
    download(folder, &Interrupt::listen()?, |show, cancelled| {
        mnist::download(folder, &mnist::mirrors(), PATIENCE, show, cancelled).map_err(failure_of_mnist)
    })?;
    let mnist = mnist::read_folder(folder).map_err(failure_of_mnist)?;
    say(format_args!("now in {}: MNIST, {}", folder.display(), counts(&mnist)));
    Ok(())
}

/// Refuses a folder with such files: existing files are not overwritten.
fn refuse_full(folder: &Path) -> Result<(), Failure> {
    let checks = mnist::check(folder).map_err(failure_of_mnist)?;
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
    let checks = mnist::check(folder).map_err(failure_of_mnist)?;
    let mut text = String::new();
    for check in &checks {
        let finding = match &check.found {
            MnistFound::Missing => "missing".to_owned(),
            MnistFound::Official(path) => format!("{}: the official file", path.display()),
            MnistFound::Other { path, sha256 } => {
                format!("{}: not the official file, its SHA-256 uncompressed is {sha256}", path.display())
            }
            MnistFound::Damaged { error, .. } => error.to_string(),
        };
        writeln!(text, "{:<24} {finding}", check.name).expect("a text can be written to");
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

#[derive(clap::Args)]
pub(crate) struct TextArgs {
    /// Text in UTF-8: files, or folders whose files that end in .txt are read
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The folder for the tokens
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The tokenizer: gpt2 for parts of words, or char for single characters
    #[arg(long, value_name = "gpt2|char", default_value = "gpt2", value_parser = one_of(&TokenizerKind::ALL, TokenizerKind::name))]
    tokenizer: TokenizerKind,
    /// Fraction of the text for validation
    #[arg(long, value_name = "F", allow_hyphen_values = true, default_value_t = VALIDATION_FRACTION)]
    val_fraction: f64,
    /// Replace other tokens in the folder, finished or not
    #[arg(long)]
    force: bool,
}

fn text_command(args: &TextArgs) -> Result<(), Failure> {
    let fraction = ValidationFraction::new(args.val_fraction).map_err(Failure::bad_input)?;
    let files = find(&args.files).map_err(failure_of_text)?;
    if let Some(dropped) = dropped_marks(&files) {
        say(format_args!("{dropped}"));
    }
    let preparation = Preparation { files: &files, tokenizer: args.tokenizer, fraction, replace: args.force };
    let interrupt = Interrupt::listen()?;
    make_tokens(&args.out, &interrupt, |progress, cancelled| preparation.make(&args.out, progress, cancelled))
}

#[derive(clap::Args)]
pub(crate) struct OpenWebTextArgs {
    /// The folder for the tokens
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Take the packs (urlsf_subset….xz), or tar archives of them, from this folder instead of the internet
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Fraction of the documents for validation
    #[arg(long, value_name = "F", allow_hyphen_values = true, default_value_t = openwebtext::VALIDATION_FRACTION)]
    val_fraction: f64,
    /// Replace other tokens in the folder, finished or not
    #[arg(long)]
    force: bool,
}

fn openwebtext_command(args: &OpenWebTextArgs) -> Result<(), Failure> {
    let fraction = ValidationFraction::new(args.val_fraction).map_err(Failure::bad_input)?;
    let interrupt = Interrupt::listen()?;
    if args.from.is_none() {
        fetch_openwebtext(&args.out, &interrupt)?;
    }
    let folder = args.from.as_deref().unwrap_or(&args.out);
    let text = WebText { folder, fraction, replace: args.force };
    make_tokens(&args.out, &interrupt, |progress, cancelled| text.make(&args.out, progress, cancelled))
}

fn fetch_openwebtext(folder: &Path, interrupt: &Interrupt) -> Result<(), Failure> {
    let archive = Download { files: &[ARCHIVE], mirrors: &mirrors(), patience: PATIENCE };
    download(folder, interrupt, |show, cancelled| {
        archive.into_folder(folder, show, cancelled).map_err(|error| match error {
            DownloadError::Cancelled => Failure::Interrupted,
            error => Failure::Failed(error.into()),
        })
    })
}

/// Shows the progress of a download, and the path of the part that an interrupted one leaves.
fn download(
    folder: &Path,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn FnMut(DownloadProgress), &dyn Fn() -> bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut shown: Option<ProgressLine> = None;
    let mut show = |DownloadProgress { done, total }| {
        shown.get_or_insert_with(|| ProgressLine::new(total, ProgressUnit::MEGABYTES, false)).update(done);
    };
    let outcome = work(&mut show, &|| interrupt.is_raised());
    if let Some(progress) = shown {
        progress.finish();
    }
    if matches!(outcome, Err(Failure::Interrupted)) {
        say(format_args!("the received part is kept in {}; the same command resumes there", folder.display()));
    }
    outcome
}

/// Runs the work with a callback for progress and one for cancelling, and prints the outcome.
fn make_tokens(
    out: &Path,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn FnMut(text::PreparationProgress), &dyn Fn() -> bool) -> Result<Meta, TextError>,
) -> Result<(), Failure> {
    let mut shown: Option<StageProgress> = None;
    let mut show = |at: text::PreparationProgress| {
        if shown.as_ref().is_none_or(|shown| shown.stage != at.stage) {
            finish(shown.as_ref());
            shown = Some(StageProgress::begin(&at));
        }
        shown.as_mut().expect("it has begun").update(&at);
    };
    let outcome = work(&mut show, &|| interrupt.is_raised());
    finish(shown.as_ref());
    let folder = out.display();
    if matches!(outcome, Err(TextError::Cancelled)) {
        say(format_args!("the finished part is kept in {folder}; the same command resumes there"));
    }
    let Meta { train, val, vocabulary_size, .. } = outcome.map_err(failure_of_text)?;
    say(format_args!(
        "tokens are in {folder}: {} for training and {} for validation, of a vocabulary of {vocabulary_size}{}",
        train.tokens,
        val.tokens,
        shown.and_then(|shown| shown.rate()).map(|rate| format!("; {rate}")).unwrap_or_default()
    ));
    Ok(())
}

fn finish(shown: Option<&StageProgress>) {
    if let Some(shown) = shown {
        shown.progress.finish();
    }
}

/// Classifies an error: faults of text that the user named are bad input.
fn failure_of_text(error: TextError) -> Failure {
    match error {
        TextError::Cancelled => Failure::Interrupted,
        TextError::File { .. } | TextError::NoCache | TextError::Changed(_) => Failure::Failed(error.into()),
        _ => Failure::bad_input(error),
    }
}

/// The progress of a stage, from where it began or was resumed.
struct StageProgress {
    stage: Stage,
    progress: ProgressLine,
    began: Instant,
    bytes_before: u64,
    tokens_before: u64,
    tokens: u64,
}

impl StageProgress {
    fn begin(at: &text::PreparationProgress) -> StageProgress {
        let progress = ProgressLine::new(at.total.saturating_sub(at.done), ProgressUnit::MEGABYTES, false);
        let (stage, bytes_before, tokens_before) = (at.stage, at.done, at.tokens);
        StageProgress { stage, progress, began: Instant::now(), bytes_before, tokens_before, tokens: at.tokens }
    }

    fn update(&mut self, at: &text::PreparationProgress) {
        self.tokens = at.tokens;
        if let Some(rate) = self.rate() {
            self.progress.note(format!(", {rate}"));
        }
        // A file may have grown since its length was read.
        self.progress.update(at.done.min(at.total).saturating_sub(self.bytes_before));
    }

    fn rate(&self) -> Option<String> {
        let made = (self.tokens - self.tokens_before) as f64;
        (made > 0.0).then(|| format!("{:.1} million tokens a second", made / self.began.elapsed().as_secs_f64() / 1e6))
    }
}
