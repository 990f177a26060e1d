//! `valleyscope sweep … --part K/N`: a part of a sweep, into a file of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Diagram, PartLabel, SweepPart};
use valleyscope_experiments::preset::SweepPreset;

use super::folder::refused;
use super::runner::SweepRunner;
use super::{DiagramStore, SweepArgs};
use crate::cli::{Failure, in_one_line, say};
use crate::sweep_checkpoint::SweepCheckpoint;

/// Computes the missing pixels of a part.
pub(super) fn compute(args: &SweepArgs, preset: SweepPreset, part: SweepPart) -> Result<(), Failure> {
    let SweepPreset { title, description, sweep: spec, .. } = preset;
    let [rows, columns] = spec.shape();
    if part.count() as usize > rows * columns {
        return Err(Failure::BadInput(anyhow!(
            "expected at most {} parts, one for each pixel, found {}",
            rows * columns,
            part.count()
        )));
    }
    let path = file(&args.out, part)?;
    let label = PartLabel { part, title, description };
    let checkpoint = SweepCheckpoint::open_part(&path, &label, &spec, args.precision, args.raw).map_err(refused)?;
    let numbers = SweepPart::numbers(part.count(), &spec);
    let all = numbers.iter().filter(|number| **number == part.number()).count();
    let spec = Arc::new(spec);
    let mut keeper = DiagramStore::new(Diagram::new(Arc::clone(&spec)), checkpoint)?;
    let known = keeper.diagram.clone();
    let ready = format!("when all parts are there: valleyscope sweep --merge {0} --out FOLDER", args.out.display());
    if known.complete() == all {
        say(format_args!("part {part} is complete, in {}; {ready}", path.display()));
        return Ok(());
    }
    if known.complete() > 0 {
        say(format_args!("resuming with {} of the {all} pixels of part {part} known", known.complete()));
    }
    let runner = SweepRunner::open(args.threads, args.precision)?;
    let is_done = |pixel @ [row, column]: [usize; 2]| {
        numbers[row * columns + column] != part.number() || known.cell(pixel).is_some()
    };
    let outcome = runner.compute(Arc::clone(&spec), args.raw, is_done, &mut keeper);
    let outcome = outcome.and_then(|done| keeper.save().map(|()| done));
    let how_to_go_on = || {
        let (checkpoint, place) = (&keeper.checkpoint, path.display());
        if checkpoint.is_in_place() {
            let saved = checkpoint.saved();
            format!(
                "{saved} of the {all} pixels of part {part} are saved in {place}; repeat the command to go on with it"
            )
        } else {
            format!("nothing of part {part} is in {place} any more; repeat the command to compute it again")
        }
    };
    let done = outcome.map_err(|failure| match failure {
        Failure::Failed(error) => Failure::Failed(anyhow!("{}; {}", in_one_line(&error), how_to_go_on())),
        other => other,
    })?;
    if keeper.diagram.complete() < all {
        say(format_args!("{}", how_to_go_on()));
        return Err(Failure::Interrupted);
    }
    say(format_args!("{}; part {part} is in {}; {ready}", runner.speed(&done), path.display()));
    Ok(())
}

/// Returns the file of a part in a folder, which is created if needed and may contain other parts.
fn file(folder: &Path, part: SweepPart) -> Result<PathBuf, Failure> {
    let place = folder.display();
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::BadInput(anyhow!("--out must be a folder, and {place} is a file")));
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {place}"))?;
    Ok(folder.join(part.file_name()))
}
