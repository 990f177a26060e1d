//! `valleyscope data text`: tokens of text.

use std::path::PathBuf;

use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{Preparation, VALIDATION_FRACTION, dropped_marks, find};

use super::tokens::{self, failure};
use crate::cli::output::Interrupt;
use crate::cli::{Failure, one_of, say};

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

pub(super) fn run(args: &TextArgs) -> Result<(), Failure> {
    let fraction = ValidationFraction::new(args.val_fraction).map_err(Failure::bad_input)?;
    let files = find(&args.files).map_err(failure)?;
    if let Some(dropped) = dropped_marks(&files) {
        say(format_args!("{dropped}"));
    }
    let preparation = Preparation { files: &files, tokenizer: args.tokenizer, fraction, replace: args.force };
    let interrupt = Interrupt::listen()?;
    tokens::make(&args.out, &interrupt, |progress, cancelled| preparation.make(&args.out, progress, cancelled))
}
