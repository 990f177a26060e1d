//! Making tokens in a folder, with progress and messages.

use std::path::Path;
use std::time::Instant;

use valleyscope_experiments::dataset::text::{self, Meta, Stage, TextError};

use crate::cli::output::Interrupt;
use crate::cli::output::{ProgressLine, ProgressUnit};
use crate::cli::{Failure, say};

/// Does the work, which gets a callback for progress and one for cancelling, and prints the outcome.
pub(super) fn make(
    out: &Path,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn FnMut(text::PreparationProgress), &dyn Fn() -> bool) -> Result<Meta, TextError>,
) -> Result<(), Failure> {
    let mut shown: Option<StageProgress> = None;
    let mut show = |at: text::PreparationProgress| {
        if at.stage == Stage::Restarting {
            finish(shown.take().as_ref());
            return say(format_args!("{}", Stage::RESTARTING));
        }
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
    let Meta { train, val, vocabulary_size, .. } = outcome.map_err(failure)?;
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

/// Returns the failure of an error: faults of text that the user named are bad input.
pub(super) fn failure(error: TextError) -> Failure {
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
