//! `valleyscope runs tag`, `rename` and `delete`: what users do with runs in the window's list, without it.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use anyhow::{Context, anyhow};
use valleyscope_engine::terminal_escape::visible_path;
use valleyscope_runs::{Notes, NotesEdit, RunFolder, check_removable, remove};

use super::notes;
use crate::cli::output::print;
use crate::cli::run_args::RunsLocation;
use crate::cli::{Failure, say};

/// Adds tags to a run or takes them away, and prints those that it has.
pub(super) fn tag(run: &RunFolder, tags: &[String], is_removed: bool) -> Result<(), Failure> {
    let tags = tags.iter().map(|tag| in_one_line(tag)).filter(|tag| !tag.is_empty());
    let edits: Vec<NotesEdit> = tags.map(if is_removed { NotesEdit::Untag } else { NotesEdit::Tag }).collect();
    edit(run, &edits)?;
    print(&notes(run).tags.iter().map(|tag| format!("{tag}\n")).collect::<String>())
}

pub(super) fn rename(run: &RunFolder, title: &str) -> Result<(), Failure> {
    edit(run, &[NotesEdit::Title(in_one_line(title))])
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn edit(run: &RunFolder, edits: &[NotesEdit]) -> Result<(), Failure> {
    Ok(Notes::edit(run, edits).with_context(|| format!("cannot change {}", visible_path(&run.notes())))?)
}

/// Moves runs to the trash or deletes them, after a question, if none of them is trained.
pub(super) fn delete(location: &RunsLocation, names: &[OsString], yes: bool, forever: bool) -> Result<(), Failure> {
    let mut runs = names.iter().map(|name| location.find(name)).collect::<Result<Vec<_>, _>>()?;
    runs.sort_by(|a, b| a.path().cmp(b.path()));
    runs.dedup();
    runs.iter().try_for_each(check_removable).map_err(Failure::bad_input)?;
    let question = if forever { "delete for ever" } else { "move to the trash" };
    if !yes {
        if !io::stdin().is_terminal() {
            return Err(Failure::BadInput(anyhow!("expected a terminal to ask whether to {question}; give --yes")));
        }
        let paths: String = runs.iter().map(|run| format!("\n  {}", visible_path(run.path()))).collect();
        say(format_args!("{question}, with curves and checkpoints:{paths}\ngo on? [y/N]"));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(());
        }
    }
    for run in runs {
        let path = visible_path(run.path());
        if forever {
            remove(&run).map_err(anyhow::Error::from)?;
            say(format_args!("{path} is deleted"));
        } else {
            let advice = || format!("{path} cannot be moved to the trash; --forever deletes it at once");
            trash::delete(run.path()).with_context(advice)?;
            say(format_args!("{path} is in the trash"));
        }
    }
    Ok(())
}
