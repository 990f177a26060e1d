//! `valleyscope data text`: tokens of text.

use std::path::PathBuf;
use std::time::Instant;

use crate::cli::interrupt::Interrupt;
use crate::cli::progress::{Progress, Unit};
use crate::cli::{Failure, say};
use crate::dataset::text::{self, Meta, Preparation, Stage, TextError, VALIDATION_FRACTION, find};
use crate::quantity::ValidationFraction;
use crate::workload::TokenizerKind;

#[derive(clap::Args)]
pub struct Args {
    /// Text in UTF-8: files, or folders, of which all files are taken that end in .txt
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The folder for the tokens
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// What a token stands for: parts of words as for GPT-2, or a character
    #[arg(long, value_name = "gpt2|char", default_value = "gpt2", value_parser = tokenizer)]
    tokenizer: TokenizerKind,
    /// How much of the text is for validation
    #[arg(long, value_name = "F", allow_hyphen_values = true, default_value_t = VALIDATION_FRACTION)]
    val_fraction: f64,
    /// Replace other tokens that are in the folder, or give up unfinished ones
    #[arg(long)]
    force: bool,
}

fn tokenizer(name: &str) -> Result<TokenizerKind, String> {
    TokenizerKind::from_name(name).ok_or_else(|| "expected gpt2 or char".to_owned())
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let fraction = ValidationFraction::new(args.val_fraction).map_err(Failure::bad_input)?;
    let files = find(&args.files).map_err(failure)?;
    let preparation = Preparation { files: &files, tokenizer: args.tokenizer, fraction, replace: args.force };
    let interrupt = Interrupt::listen()?;
    let mut shown: Option<Shown> = None;
    let mut show = |at: text::Progress| {
        if shown.as_ref().is_none_or(|shown| shown.stage != at.stage) {
            finish(shown.as_ref());
            shown = Some(Shown::begin(&at));
        }
        shown.as_mut().expect("it has begun").update(&at);
    };
    let outcome = preparation.make(&args.out, &mut show, &|| interrupt.is_raised());
    finish(shown.as_ref());
    let folder = args.out.display();
    if matches!(outcome, Err(TextError::Cancelled)) {
        say(format_args!("what is done is kept in {folder}; the same command goes on from there"));
    }
    let Meta { train, val, vocabulary_size, .. } = outcome.map_err(failure)?;
    say(format_args!(
        "now in {folder}: {} tokens to learn from and {} to validate with, of a vocabulary of {vocabulary_size}{}",
        train.tokens,
        val.tokens,
        shown.and_then(|shown| shown.rate()).map(|rate| format!("; {rate}")).unwrap_or_default()
    ));
    Ok(())
}

fn finish(shown: Option<&Shown>) {
    if let Some(shown) = shown {
        shown.progress.finish();
    }
}

/// What is wrong with text that somebody named is bad input.
fn failure(error: TextError) -> Failure {
    match error {
        TextError::Cancelled => Failure::Interrupted,
        TextError::File { .. } | TextError::NoCache | TextError::Changed(_) => Failure::Failed(error.into()),
        _ => Failure::bad_input(error),
    }
}

/// The progress of a stage, from where it began or went on.
struct Shown {
    stage: Stage,
    progress: Progress,
    began: Instant,
    bytes_before: u64,
    tokens_before: u64,
    tokens: u64,
}

impl Shown {
    fn begin(at: &text::Progress) -> Shown {
        let progress = Progress::new(at.total.saturating_sub(at.done), Unit::MEGABYTES, false);
        let (stage, bytes_before, tokens_before) = (at.stage, at.done, at.tokens);
        Shown { stage, progress, began: Instant::now(), bytes_before, tokens_before, tokens: at.tokens }
    }

    fn update(&mut self, at: &text::Progress) {
        self.tokens = at.tokens;
        if let Some(rate) = self.rate() {
            self.progress.note(format!(", {rate}"));
        }
        // A file may have grown since its length was asked for.
        self.progress.update(at.done.min(at.total).saturating_sub(self.bytes_before));
    }

    fn rate(&self) -> Option<String> {
        let made = (self.tokens - self.tokens_before) as f64;
        (made > 0.0).then(|| format!("{:.1} million tokens a second", made / self.began.elapsed().as_secs_f64() / 1e6))
    }
}
