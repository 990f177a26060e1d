//! `valleyscope lesson`: a lesson as one HTML page to hand out.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::output::{Interrupt, ProgressLine, ProgressUnit};
use super::{Failure, say};
use crate::export::lesson_page::LessonPage;

#[derive(clap::Args)]
pub(super) struct LessonArgs {
    /// A preset with a lesson: name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "NAME|FILE")]
    preset: OsString,
    /// Write the page to this file, which must not exist yet
    #[arg(long, value_name = "FILE.html")]
    html: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: &LessonArgs) -> Result<(), Failure> {
    let path = &args.html;
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    if !matches!(extension.as_deref(), Some("html" | "htm")) {
        return Err(Failure::BadInput(anyhow!("--html must be a file that ends in .html, found {}", path.display())));
    }
    let mut page = page(args)?;
    if !args.replace && path.symlink_metadata().is_ok() {
        return Err(Failure::BadInput(exists(path)));
    }
    let mut file = AtomicFile::for_target(path).with_context(|| cannot_write(path))?;
    compute(&mut page)?;
    let html = page.to_html().map_err(anyhow::Error::from)?;
    file.write_all(html.as_bytes()).with_context(|| cannot_write(path))?;
    let overwrite = if args.replace { Overwrite::Yes } else { Overwrite::No };
    file.commit(overwrite).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::BadInput(exists(path)),
        _ => Failure::Failed(anyhow::Error::from(error).context(cannot_write(path))),
    })?;
    say(format_args!("the lesson's page, {:.1} MB, is in {}", html.len() as f64 / 1e6, path.display()));
    Ok(())
}

fn page(args: &LessonArgs) -> Result<LessonPage, Failure> {
    let preset = super::landscape_preset(&args.preset, &[])?;
    let name = args.preset.display();
    LessonPage::new(&preset).map_err(|error| Failure::BadInput(anyhow::Error::from(error).context(format!("`{name}`"))))
}

fn compute(page: &mut LessonPage) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let mut progress = ProgressLine::new(page.steps(), ProgressUnit::STEPS, false);
    while !page.is_complete() && !interrupt.is_raised() {
        page.advance();
        progress.update(page.step());
    }
    progress.finish();
    if page.is_complete() { Ok(()) } else { Err(Failure::Interrupted) }
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!("{} exists already; name another file, or replace it with --replace", path.display())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
