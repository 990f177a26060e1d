//! The folders of kept diagrams.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::ColorImage;
use valleyscope_engine::sweep::{Diagram, Finished, Precision, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

use super::limits::Limits;
use super::record::{KeptRecord, sweep_preset};
use super::thumbnail;
use crate::result::SweepResult;
use crate::sweep_checkpoint::{RACES, SweepCheckpoint, SweepCheckpointError, read_races, write_races};

const PICTURE: &str = "thumbnail.png";
/// The files of a diagram.
const FILES: [&str; 7] = [
    SweepResult::ARRAYS,
    SweepResult::TABLE,
    SweepCheckpoint::FILE,
    RACES,
    PICTURE,
    SweepResult::SPEC,
    KeptRecord::FILE,
];
/// The largest text of a description or a preset, in bytes.
const MOST_TEXT: u64 = 4 << 20;

/// The description of a diagram that was found in a folder. Its results are read when they are needed.
pub(super) struct FoundDiagram {
    pub folder: PathBuf,
    pub record: KeptRecord,
    /// The diagram's own sweep, with the title that it had.
    pub sweep: SweepPreset,
    pub thumbnail: Option<ColorImage>,
    /// The size of its files.
    pub bytes: u64,
}

/// The folders of diagrams with their limits, and those that cannot be used: the name of each, and why.
#[derive(Default)]
pub(super) struct Found {
    pub diagrams: Vec<FoundDiagram>,
    pub limits: Option<Limits>,
    /// Whether the stored limits cannot be used.
    pub are_limits_refused: bool,
    pub refused: Vec<(String, String)>,
}

/// Reads the descriptions of all diagrams in a folder. Nothing is changed.
pub(super) fn find(root: &Path) -> Found {
    let mut found = Found::default();
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return found,
        Err(error) => {
            found.refused.push((root.display().to_string(), error.to_string()));
            return found;
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name == Limits::FILE {
            continue;
        }
        match describe(&entry.path()) {
            Ok(diagram) => found.diagrams.push(diagram),
            Err(reason) => found.refused.push((name, reason)),
        }
    }
    match Limits::read(root) {
        Ok(limits) => found.limits = limits,
        Err(reason) => {
            found.are_limits_refused = true;
            found.refused.push((Limits::FILE.to_owned(), reason));
        }
    }
    found.diagrams.sort_by_key(|diagram| diagram.record.order);
    found.refused.sort();
    found
}

fn describe(folder: &Path) -> Result<FoundDiagram, String> {
    let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_folder {
        return Err(format!("expected the folder of a diagram, found another file: {}", folder.display()));
    }
    let text = |name: &str| {
        let path = folder.join(name);
        let text = plain_file::read_text(&path, Links::Refused, MOST_TEXT);
        text.map(|text| (text, path.clone())).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let (description, path) = text(KeptRecord::FILE)?;
    let record = KeptRecord::parse(&description, &path)?;
    let (sweep, path) = text(SweepResult::SPEC)?;
    let sweep = sweep_preset(&sweep, &path.display().to_string())?;
    Ok(FoundDiagram {
        folder: folder.to_owned(),
        record,
        sweep,
        thumbnail: thumbnail::read(&folder.join(PICTURE)),
        bytes: size(folder),
    })
}

/// Returns the size of a diagram's files, as far as they take room on the disk: a sparse file may have any length. The
/// races do not count, as they disappear when the diagram is complete, nor do other files, which stay when the diagram is
/// removed.
pub(super) fn size(folder: &Path) -> u64 {
    let files = FILES.iter().filter(|name| **name != RACES);
    let known = files.filter_map(|name| folder.join(name).symlink_metadata().ok());
    known.fold(0, |size, metadata| size.saturating_add(allocated(&metadata)))
}

#[cfg(unix)]
fn allocated(metadata: &std::fs::Metadata) -> u64 {
    // The unit of this number, whatever the blocks of the file system.
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
fn allocated(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

/// Creates an unused folder whose name begins with `stem`.
pub(super) fn create(root: &Path, stem: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(root)?;
    let names = std::iter::once(stem.to_owned()).chain((2_u32..).map(|number| format!("{stem}-{number}")));
    for name in names {
        let folder = root.join(name);
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| folder),
        }
    }
    unreachable!("there are endless names")
}

/// Writes the description of a diagram.
pub(super) fn write_record(folder: &Path, record: &KeptRecord) -> io::Result<()> {
    write_file(&folder.join(KeptRecord::FILE), Overwrite::Yes, record.to_text().as_bytes())
}

/// Writes the preset and the picture of a diagram.
pub(super) fn write_look(folder: &Path, result: &SweepResult, picture: &ColorImage) -> io::Result<()> {
    write_file(&folder.join(SweepResult::SPEC), Overwrite::Yes, result.preset().to_ron().as_bytes())?;
    write_file(&folder.join(PICTURE), Overwrite::Yes, &thumbnail::encode(picture))
}

/// Writes the arrays of a diagram, as a whole or not at all.
pub(super) fn write_arrays(folder: &Path, result: &SweepResult) -> io::Result<()> {
    let mut arrays = AtomicFile::for_target(&folder.join(SweepResult::ARRAYS))?;
    result.write_arrays(&mut arrays)?;
    arrays.flush()?;
    arrays.commit(Overwrite::Yes)
}

/// Opens the checkpoint of an unfinished diagram, or begins one.
pub(super) fn open_checkpoint(
    folder: &Path,
    spec: &SweepSpec,
    precision: Precision,
) -> Result<SweepCheckpoint, String> {
    let path = folder.join(SweepCheckpoint::FILE);
    let opened = match path.symlink_metadata().is_ok() {
        // Its colours may be those of before.
        true => SweepCheckpoint::open_own(&path).map(|(checkpoint, ..)| checkpoint),
        false => SweepCheckpoint::open(&path, spec, precision, false),
    };
    opened.map_err(|error| in_window(&error))
}

/// Describes why a checkpoint cannot be used, with what can be done in the window.
fn in_window(error: &SweepCheckpointError) -> String {
    use SweepCheckpointError::{Busy, Damaged, Different, File, Foreign, Version};
    const REMOVE: &str = "remove the diagram from the kept ones, and compute it again";
    match error {
        Busy(path) => format!("another window is at work on {}; close it, and show the diagram again", path.display()),
        Foreign(path) => format!("{} is no checkpoint of a sweep; {REMOVE}", path.display()),
        Damaged(path) => format!("the beginning of {} is damaged; {REMOVE}", path.display()),
        Different { path, field, found, expected } => format!(
            "{} is of another sweep: its `{field}` is {found}, and that of the diagram is {expected}; {REMOVE}",
            path.display()
        ),
        error @ (File { .. } | Version { .. }) => error.to_string(),
    }
}

/// Adds the pixels that a checkpoint lacks, and returns when they have reached the disk.
pub(super) fn save_pixels(checkpoint: &mut SweepCheckpoint, diagram: &Diagram) -> io::Result<()> {
    let replicates = diagram.spec().replicates.get();
    for pixel in diagram.spec().pixels().filter(|pixel| !checkpoint.is_known(*pixel)).collect::<Vec<_>>() {
        if let Some(cell) = diagram.cell(pixel).filter(|cell| cell.is_complete(replicates)) {
            checkpoint.add(&Finished { pixel, cell: (**cell).clone(), runs: None });
        }
    }
    checkpoint.save()
}

/// Writes the races of a diagram that are not over; removes their file where there are none.
pub(super) fn save_races(folder: &Path, diagram: &Diagram, precision: Precision) -> io::Result<()> {
    let path = folder.join(RACES);
    if diagram.spec().pixels().any(|pixel| diagram.race(pixel).is_some()) {
        return write_races(&path, diagram, precision);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The results of a diagram as they were read.
pub(super) struct ReadResults {
    pub diagram: Diagram,
    pub precision: Precision,
    pub checkpoint: Option<SweepCheckpoint>,
    /// The reason why the races in the folder cannot be used; their pixels are computed anew.
    pub lost_races: Option<String>,
}

/// Reads the results in a folder: the arrays, else the pixels in the checkpoint, else none. They must be those of this
/// sweep, in any colours.
pub(super) fn read_results(folder: &Path, expected: &SweepSpec) -> Result<ReadResults, String> {
    let read = if folder.join(SweepResult::ARRAYS).symlink_metadata().is_ok() {
        let SweepResult { diagram, precision, .. } = SweepResult::open(folder).map_err(|error| error.to_string())?;
        ReadResults { diagram, precision, checkpoint: None, lost_races: None }
    } else if folder.join(SweepCheckpoint::FILE).symlink_metadata().is_ok() {
        read_checkpoint(folder)?
    } else {
        let diagram = Diagram::new(Arc::new(expected.clone()));
        ReadResults { diagram, precision: Precision::default(), checkpoint: None, lost_races: None }
    };
    if !read.diagram.spec().is_alike_but_for_colors(expected) {
        return Err(format!(
            "{} contradicts itself: its results are of another sweep than its {}",
            folder.display(),
            SweepResult::SPEC
        ));
    }
    Ok(read)
}

fn read_checkpoint(folder: &Path) -> Result<ReadResults, String> {
    let path = &folder.join(SweepCheckpoint::FILE);
    let (mut checkpoint, spec, precision) = SweepCheckpoint::open_own(path).map_err(|error| in_window(&error))?;
    let mut diagram = Diagram::new(Arc::new(spec));
    for pixel in diagram.spec().pixels() {
        let finished = checkpoint.read(pixel).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if let Some(Finished { pixel, cell, .. }) = finished {
            diagram.insert(pixel, cell);
        }
    }
    let races = folder.join(RACES);
    let lost_races = match races.symlink_metadata().is_ok().then(|| read_races(&races, diagram.spec(), precision)) {
        Some(Ok(races)) => {
            diagram.insert_races(races);
            None
        }
        Some(Err(reason)) => Some(reason),
        None => None,
    };
    Ok(ReadResults { diagram, precision, checkpoint: Some(checkpoint), lost_races })
}

/// Removes a diagram's files and its folder, also the table that a repair has written, and replaced files that it keeps.
/// A folder with other files stays with these.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    AtomicFile::clear(folder)?;
    for name in FILES {
        for entry in std::fs::read_dir(folder)? {
            let file = entry?.file_name();
            let rest = file.to_str().and_then(|file| file.strip_prefix(name));
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".kept-")) {
                std::fs::remove_file(folder.join(file))?;
            }
        }
    }
    std::fs::remove_dir(folder)
}
