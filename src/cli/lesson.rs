//! `valleyscope lesson`: a lesson as one HTML page to hand out, and its speaker notes.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::ArgGroup;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::output::{Interrupt, ProgressLine, ProgressUnit, by_ending, cannot_write};
use super::{Failure, say};
use crate::export::lesson_page::{LessonPage, notes_page};

#[derive(clap::Args)]
#[command(group(ArgGroup::new("page").required(true).multiple(true)))]
pub(super) struct LessonArgs {
    /// A preset with a lesson: name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "NAME|FILE")]
    preset: OsString,
    /// Write the page to this file, which must not exist yet
    #[arg(long, value_name = "FILE.html", group = "page")]
    html: Option<PathBuf>,
    /// Write the speaker notes to this file, to print or for a second screen
    #[arg(long, value_name = "FILE.html", group = "page")]
    notes: Option<PathBuf>,
    /// Replace a file if it exists
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: &LessonArgs) -> Result<(), Failure> {
    let preset = super::landscape_preset(&args.preset, &[])?;
    let mut page = LessonPage::new(&preset).map_err(|error| {
        Failure::BadInput(anyhow::Error::from(error).context(format!("`{}`", args.preset.display())))
    })?;
    if let Some(path) = &args.notes {
        write("notes", path, args.replace, || Ok(notes_page(&preset)))?;
    }
    let Some(path) = &args.html else { return Ok(()) };
    write("html", path, args.replace, || {
        compute(&mut page)?;
        Ok(page.to_html().map_err(anyhow::Error::from)?)
    })
}

/// Writes a page to the file that an option names.
fn write(
    option: &str,
    path: &Path,
    replace: bool,
    html: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    by_ending(&format!("--{option}"), path, &[("html", ())])?;
    if !replace && path.symlink_metadata().is_ok() {
        let path = path.display();
        return Err(Failure::BadInput(anyhow!(
            "{path} exists already; name another file, or replace it with --replace"
        )));
    }
    let mut file = AtomicFile::for_target(path).with_context(|| cannot_write(path))?;
    let html = html()?;
    file.write_all(html.as_bytes()).with_context(|| cannot_write(path))?;
    let overwrite = if replace { Overwrite::Yes } else { Overwrite::No };
    file.commit(overwrite).with_context(|| cannot_write(path))?;
    let what = if option == "notes" { "the page of its notes" } else { "the lesson's page" };
    say(format_args!("Wrote {}, {what}, {} kB", path.display(), html.len().div_ceil(1000)));
    Ok(())
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
