//! `valleyscope sweep … --part K/N` and `--merge`: a part of a sweep, and the parts as one result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Cell, Diagram, PartLabel, SweepPart};
use valleyscope_experiments::preset::SweepPreset;

use super::folder::{FolderState, ResultFolder, refused};
use super::runner::SweepRunner;
use super::{DiagramStore, SweepArgs};
use crate::cli::{Failure, in_one_line, say};
use crate::result::{RawFormat, SweepResult};
use crate::sweep_checkpoint::{PartFile, SweepCheckpoint};

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

/// Merges the parts in some folders, and reports missing ones.
pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let paths = part_files(&args.merge)?;
    let mut notes = Vec::new();
    let mut parts = open(&paths, &mut notes)?;
    let Some(first) = parts.first() else {
        return Err(anyhow!("none of the parts has begun; merge them when some pixels are computed").into());
    };
    let PartLabel { part, title, description } = first.label.clone();
    let (spec, precision) = (Arc::new(first.spec.clone()), first.precision);
    let raw = first.keeps_runs.then(|| RawFormat::of(&spec)).transpose().map_err(Failure::bad_input)?;
    let folder = ResultFolder { path: &args.out, raw };
    let (checkpoint, overwrite) = match folder.open(&spec, precision, true)? {
        FolderState::Open { checkpoint, overwrite } => (checkpoint, overwrite),
        FolderState::Complete => {
            say(format_args!("this sweep is complete; its results are in {}", args.out.display()));
            return Ok(());
        }
    };
    let mut keeper = DiagramStore::new(Diagram::new(Arc::clone(&spec)), checkpoint)?;
    let mut found = BTreeMap::<SweepPart, Vec<&Path>>::new();
    let numbers = SweepPart::numbers(part.count(), &spec);
    for file in &mut parts {
        take(file, &numbers, &mut keeper, &mut notes)?;
        keeper.save()?;
        found.entry(file.label.part).or_default().push(file.path());
    }
    let DiagramStore { diagram, mut checkpoint, .. } = keeper;
    for (part, files) in found.iter().filter(|(_, files)| files.len() > 1) {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        notes.push(format!("part {part} is there {} times, with the same numbers: {}", files.len(), files.join(", ")));
    }
    notes.iter().for_each(|note| say(format_args!("{note}")));
    let result = SweepResult { title, description, diagram, precision };
    let all = spec.shape().iter().product::<usize>();
    if !result.diagram.is_complete() {
        folder.draw_so_far(&result)?;
        let missing = missing(part.count(), &numbers, &result.diagram, &found);
        return Err(anyhow!(
            "{} of {all} pixels are there; {missing}. A picture of what is there is {}",
            result.diagram.complete(),
            args.out.join(ResultFolder::PARTIAL_PICTURE).display()
        )
        .into());
    }
    folder.finish(&result, &mut checkpoint, overwrite)?;
    folder.remove_so_far()?;
    checkpoint.remove().context("the results are complete, but the checkpoint beside them cannot be removed")?;
    say(format_args!("{all} pixels of {} parts; results are in {}", found.len(), args.out.display()));
    Ok(())
}

/// Returns the files of parts in some folders, and the named files.
fn part_files(places: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = BTreeSet::new();
    for place in places {
        if !place.is_dir() {
            files.insert(place.clone());
            continue;
        }
        let cannot = || format!("cannot look into {}", place.display());
        for entry in fs::read_dir(place).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            if entry.file_name().to_str().is_some_and(SweepPart::is_file_name) {
                files.insert(entry.path());
            }
        }
    }
    if files.is_empty() {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        return Err(Failure::BadInput(anyhow!(
            "expected parts of a sweep, files such as part-3-of-8.bin, in {}, found none; `valleyscope sweep PRESET --part \
             3/8 --out FOLDER` computes one",
            places.join(", ")
        )));
    }
    Ok(files.into_iter().collect())
}

/// Opens the files of parts, all of the same sweep, in the order of the parts.
fn open(paths: &[PathBuf], notes: &mut Vec<String>) -> Result<Vec<PartFile>, Failure> {
    let mut parts: Vec<PartFile> = Vec::new();
    for path in paths {
        let Some(file) = PartFile::open(path).map_err(refused)? else {
            notes.push(format!("{} has just begun, or could not be written: nothing is in it", path.display()));
            continue;
        };
        let (this, place) = (env!("CARGO_PKG_VERSION"), path.display());
        if file.program != this {
            return Err(Failure::BadInput(anyhow!(
                "{place} is of Valleyscope {}, and this is {this}; merge parts with the version that has computed them",
                file.program
            )));
        }
        if let Some((first, [name, here, there])) = parts.first().and_then(|it| Some((it, file.difference(it)?))) {
            return Err(Failure::BadInput(anyhow!(
                "{place} is of another sweep than {}: its {name} is {here}, and not {there}; merge only parts of one sweep",
                first.path().display()
            )));
        }
        if file.is_at_work {
            notes.push(format!("{place} is being computed"));
        }
        parts.push(file);
    }
    parts.sort_by_key(|file| file.label.part);
    Ok(parts)
}

/// Adds the pixels of a part that the diagram lacks.
fn take(
    file: &mut PartFile,
    numbers: &[u32],
    keeper: &mut DiagramStore,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let own = file.label.part.number();
    let columns = file.spec.shape()[1];
    let (mut differs, mut foreign) = (None, None);
    let damaged = file.read(|finished| {
        let pixel @ [row, column] = finished.pixel;
        match keeper.diagram.cell(pixel) {
            _ if numbers[row * columns + column] != own => foreign = Some(pixel),
            None => keeper.add(&finished),
            Some(there) if is_same(there, &finished.cell) => {}
            Some(_) => differs = Some(pixel),
        }
    });
    let place = file.path().display();
    let damaged = damaged.with_context(|| format!("cannot read {place}"))?;
    if let Some([row, column]) = foreign {
        let part = file.label.part;
        return Err(Failure::BadInput(anyhow!(
            "{place} says that it is part {part}, and has the pixel of row {row} and column {column}, which is none of that \
             part's; remove the file, and run the part again"
        )));
    }
    if let Some([row, column]) = differs {
        return Err(Failure::BadInput(anyhow!(
            "{place} has other numbers for the pixel of row {row} and column {column} than a file of the same part, or than \
             what is in --out; one of them is damaged: remove it, and run the part again"
        )));
    }
    if damaged > 0 {
        notes.push(format!("{place} has {damaged} damaged records, which are left out"));
    }
    Ok(())
}

/// Returns whether two cells have the same bits.
fn is_same(one: &Cell, other: &Cell) -> bool {
    let bits = |cell: &Cell| -> Vec<u64> {
        let numbers = cell.averages.iter().chain(&cell.deviations).flatten().flatten();
        numbers.map(|number| number.to_bits()).collect()
    };
    let replicates = |cell: &Cell| cell.sampled.as_ref().map(|sampled| sampled.replicates.clone());
    one.replicates == other.replicates
        && one.diverged == other.diverged
        && replicates(one) == replicates(other)
        && bits(one) == bits(other)
}

/// Returns, in words, the missing parts and those with missing pixels.
fn missing(count: u32, numbers: &[u32], diagram: &Diagram, found: &BTreeMap<SweepPart, Vec<&Path>>) -> String {
    let columns = diagram.spec().shape()[1];
    let mut pixels = vec![[0, 0]; count as usize];
    for (index, number) in numbers.iter().enumerate() {
        let [all, known] = &mut pixels[*number as usize - 1];
        *all += 1;
        *known += usize::from(diagram.cell([index / columns, index % columns]).is_some());
    }
    let (mut absent, mut unfinished) = (Vec::new(), Vec::new());
    for (part, [all, known]) in SweepPart::all(count).zip(pixels).filter(|(_, [all, known])| known < all) {
        if found.contains_key(&part) {
            unfinished.push(format!("{part} ({known} of {all} pixels)"));
        } else {
            absent.push(part.number());
        }
    }
    let mut words = Vec::new();
    if !absent.is_empty() {
        words.push(format!("missing of {count} parts: {}", ranges(&absent)));
    }
    if !unfinished.is_empty() {
        words.push(format!("not finished: {}", unfinished.join(", ")));
    }
    format!("{}; run these again, with the same --part and --out as before, and merge once more", words.join("; "))
}

/// Formats numbers in order, such as `1-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let groups = numbers.chunk_by(|one, next| one + 1 == *next);
    let words = groups.map(|group| match group {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("a group has a number"),
    });
    words.collect::<Vec<_>>().join(",")
}
