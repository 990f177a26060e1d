//! `valleyscope sweep --merge`: the parts of a sweep as one result.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use valleyscope_engine::sweep::{Cell, Diagram, SweepPart};

use super::folder::{ResultFolder, StoredDiagram, refused};
use super::{SweepArgs, SweepRunner};
use crate::cli::Failure;
use crate::cli::output::say;
use crate::sweep::result::{RawFormat, SweepHeader, SweepRecords, SweepResult};

struct PartFolder {
    part: SweepPart,
    path: PathBuf,
    records: SweepRecords,
}

pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let folders = part_folders(&args.merge)?;
    let mut notes = Vec::new();
    let parts = open(&folders, &mut notes)?;
    let Some(first) = parts.first() else {
        return Err(anyhow!("none of the parts has begun; merge them when some pixels are computed").into());
    };
    let (count, header) = (first.part.count(), SweepHeader { part: None, ..first.records.header.clone() });
    let spec = &header.preset.sweep;
    let raw = header.keeps_runs.then(|| RawFormat::of(spec)).transpose().map_err(Failure::bad_input)?;
    let folder = ResultFolder::make(&args.out, None, raw)?;
    let Some((mut stored, overwrite)) = folder.open(&header, true)? else {
        say(format_args!("this sweep is complete; its results are in {}", args.out.display()));
        return Ok(());
    };
    let mut found = BTreeMap::<SweepPart, Vec<&Path>>::new();
    let numbers = SweepPart::numbers(count, spec);
    for part in &parts {
        take(part, &numbers, &mut stored, &mut notes)?;
        stored.save()?;
        found.entry(part.part).or_default().push(&part.path);
    }
    let StoredDiagram { diagram, store, .. } = stored;
    for (part, folders) in found.iter().filter(|(_, folders)| folders.len() > 1) {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let (count, folders) = (folders.len(), folders.join(", "));
        notes.push(format!("part {part} is there {count} times, with the same numbers: {folders}"));
    }
    notes.iter().for_each(|note| say(format_args!("{note}")));
    let mut result = SweepResult::of(&header.preset, diagram, header.precision);
    let all = numbers.len();
    if !result.diagram.is_complete() {
        folder.draw_so_far(&result)?;
        let missing = missing(count, &numbers, &result.diagram, &found);
        return Err(anyhow!(
            "{} of {all} pixels are there; {missing}. A picture of what is there is {}",
            result.diagram.complete(),
            args.out.join(ResultFolder::PARTIAL_PICTURE).display()
        )
        .into());
    }
    if args.measured {
        SweepRunner::open(None, header.precision)?.measure(&mut result.diagram)?;
    }
    folder.finish(&result, &store, overwrite)?;
    folder.remove_records(store)?;
    say(format_args!("{all} pixels of {} parts; results are in {}", found.len(), args.out.display()));
    Ok(())
}

fn part_folders(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    for folder in given {
        if folder.join(SweepRecords::FILE).exists() {
            found.insert(folder.clone());
            continue;
        }
        let cannot = || format!("cannot look into {}", folder.display());
        for entry in fs::read_dir(folder).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let has_name = |name: &OsStr| name.to_str().is_some_and(SweepPart::is_stem);
            if path.file_name().is_some_and(has_name) && path.is_dir() {
                found.insert(path);
            }
        }
    }
    if found.is_empty() {
        let given: Vec<String> = given.iter().map(|folder| folder.display().to_string()).collect();
        return Err(Failure::BadInput(anyhow!(
            "expected parts of a sweep, folders such as part-3-of-8, in {}, found none; `valleyscope sweep PRESET --part 3/8 \
             --out FOLDER` computes one",
            given.join(", ")
        )));
    }
    Ok(found.into_iter().collect())
}

/// Opens the folders of parts, all of the same sweep, in the order of the parts.
fn open(folders: &[PathBuf], notes: &mut Vec<String>) -> Result<Vec<PartFolder>, Failure> {
    let mut parts: Vec<PartFolder> = Vec::new();
    for path in folders {
        let shown = path.display();
        let Some(records) = SweepRecords::open(path).map_err(refused)? else {
            notes.push(format!("{shown} has just begun, or could not be written: nothing is in it"));
            continue;
        };
        if records.is_at_work {
            notes.push(format!("{shown} is being computed"));
        }
        // A part may begin or continue meanwhile.
        records.release().with_context(|| format!("cannot unlock {shown}"))?;
        let Some(part) = records.header.part else {
            return Err(Failure::BadInput(anyhow!(
                "expected a part of a sweep in {shown}, found a whole sweep; go on with it by --resume, or leave it out"
            )));
        };
        if let Some(first) = parts.first()
            && let Some([name, here, there]) = difference(&records.header, part, first)
        {
            return Err(Failure::BadInput(anyhow!(
                "{shown} is of another sweep than {}: its {name} is {here}, and not {there}; merge only parts of one sweep",
                first.path.display()
            )));
        }
        parts.push(PartFolder { part, path: path.clone(), records });
    }
    parts.sort_by_key(|folder| folder.part);
    Ok(parts)
}

/// Finds the first difference between the sweeps of two parts: a name, and the values of both.
fn difference(header: &SweepHeader, part: SweepPart, first: &PartFolder) -> Option<[String; 3]> {
    let [here, there] = [part, first.part].map(SweepPart::count);
    if here != there {
        return Some(["number of parts".to_owned(), here.to_string(), there.to_string()]);
    }
    header.difference(&SweepHeader { part: Some(part), ..first.records.header.clone() })
}

/// Adds the pixels of a part that the diagram lacks.
fn take(
    folder: &PartFolder,
    numbers: &[u32],
    stored: &mut StoredDiagram,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let PartFolder { part, path, records } = folder;
    let columns = records.header.preset.sweep.shape()[1];
    let (mut differs, mut foreign) = (None, None);
    let read = records.read(|_, finished| {
        let pixel @ [row, column] = finished.pixel;
        match stored.diagram.cell(pixel) {
            _ if numbers[row * columns + column] != part.number() => foreign = Some(pixel),
            Some(there) if stored.store.is_known(pixel) => {
                if !is_same(there, &finished.cell) {
                    differs = Some(pixel);
                }
            }
            _ => stored.add(finished),
        }
    });
    let shown = path.display();
    let read = read.with_context(|| format!("cannot read {shown}"))?;
    if let Some([row, column]) = foreign {
        return Err(Failure::BadInput(anyhow!(
            "{shown} is of part {part}, and has the pixel of row {row} and column {column}, which is none of that part's; \
             remove the folder, and run the part again"
        )));
    }
    if let Some([row, column]) = differs {
        return Err(Failure::BadInput(anyhow!(
            "{shown} has other numbers for the pixel of row {row} and column {column} than a folder of the same part, or than \
             what is in --out; one of them is damaged: remove it, and run the part again"
        )));
    }
    if read.damaged > 0 {
        notes.push(format!("{shown} has {} damaged records, which are left out", read.damaged));
    }
    Ok(())
}

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
    let mut texts = Vec::new();
    if !absent.is_empty() {
        texts.push(format!("missing of {count} parts: {}", ranges(&absent)));
    }
    if !unfinished.is_empty() {
        texts.push(format!("not finished: {}", unfinished.join(", ")));
    }
    format!("{}; run these again, with the same --part and --out as before, and merge once more", texts.join("; "))
}

fn ranges(numbers: &[u32]) -> String {
    let groups = numbers.chunk_by(|one, next| one + 1 == *next);
    let texts = groups.map(|group| match group {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("a group has a number"),
    });
    texts.collect::<Vec<_>>().join(",")
}
