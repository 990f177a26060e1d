//! The folders of the library's diagrams, and the thread that reads and writes them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context};
use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder as _, RgbaImage};
use serde::{Deserialize, Serialize};
use valleyscope_engine::sweep::{Diagram, Finished, Precision, SweepSpec};
use valleyscope_experiments::preset::{Preset, SweepPreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::diagram_store::TitledDiagram;
use super::library::Limits;
use crate::app::save_preset::file_stem;
use crate::figure::{Map, MapImage};
use crate::result::{KEPT_RECORD, SweepResult};
use crate::sweep_checkpoint::{RACES, SweepCheckpoint, SweepCheckpointError, read_races, write_races};

/// A state of a diagram that is to be kept.
pub(super) struct Snapshot {
    pub titled: TitledDiagram,
    pub record: KeptRecord,
    /// Whether the diagram is still being computed, so that another state follows.
    pub is_running: bool,
}

pub(super) enum Command {
    Keep(Box<Snapshot>),
    /// Writes a changed description.
    Describe(u64, Box<KeptRecord>),
    /// Reads the results of this sweep.
    Load(u64, Arc<SweepSpec>),
    Remove(u64),
    /// Gives the folder of one diagram to another.
    Renumber {
        from: u64,
        to: u64,
    },
    StoreLimits(Limits),
}

/// An answer of the thread about the diagram of a number.
pub(super) enum Answer {
    /// A picture of the state that is being kept.
    Drawn(ColorImage),
    /// So many complete pixels, and so many runs in all, are on the disk, in files of so many bytes.
    Kept {
        pixels: usize,
        runs: u64,
        bytes: u64,
    },
    NotKept(String),
    Loaded(Diagram, Precision),
    NotLoaded(String),
    /// The diagram was read without its pixels that are not complete.
    RacesLost(String),
    NotRemoved(String),
    LimitsNotStored(String),
}

/// The thread; it ends after its last command when this is dropped.
pub(super) struct Keeper {
    commands: Option<Sender<Command>>,
    answers: Receiver<(u64, Answer)>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread. Without a folder, diagrams are only drawn. `known` are the folders of the diagrams in it, with
    /// the pixels that their descriptions state.
    pub(super) fn start(root: Option<PathBuf>, known: HashMap<u64, (PathBuf, usize)>, context: Context) -> Keeper {
        let (commands, receiver) = channel();
        let (sender, answers) = channel();
        let place = |(number, (folder, saved))| (number, Place { saved, ..Place::new(folder) });
        let places = known.into_iter().map(place).collect();
        let mut worker = Worker { root, places };
        let thread = std::thread::spawn(move || {
            for command in receiver {
                let mut answer = |number, answer| {
                    // The window may be closed.
                    let _ = sender.send((number, answer));
                    context.request_repaint();
                };
                worker.execute(command, &mut answer);
            }
        });
        Keeper { commands: Some(commands), answers, thread: Some(thread) }
    }

    /// Returns whether the thread takes the command; one that has failed has reported that.
    pub(super) fn send(&self, command: Command) -> bool {
        self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok())
    }

    pub(super) fn answers(&self) -> impl Iterator<Item = (u64, Answer)> + '_ {
        self.answers.try_iter()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported by its thread.
            let _ = thread.join();
        }
    }
}

/// The folder of a diagram, and its checkpoint once it was opened.
struct Place {
    folder: PathBuf,
    /// Complete pixels in its files.
    saved: usize,
    checkpoint: Option<SweepCheckpoint>,
    races: SavedRaces,
}

impl Place {
    fn new(folder: PathBuf) -> Place {
        Place { folder, saved: 0, checkpoint: None, races: SavedRaces { runs: 0, next: Instant::now() } }
    }
}

/// The state of a diagram's file of races.
struct SavedRaces {
    /// The runs of the diagram whose races are in the file.
    runs: u64,
    /// The time from which they are written again while the diagram is computed.
    next: Instant,
}

/// The shortest time between two states of the races while a diagram is computed, and that time as a multiple of the time
/// that writing takes: the file is large.
const RACES_INTERVAL: Duration = Duration::from_secs(10);
const RACES_SHARE: u32 = 20;

struct Worker {
    root: Option<PathBuf>,
    places: HashMap<u64, Place>,
}

impl Worker {
    fn execute(&mut self, command: Command, answer: &mut impl FnMut(u64, Answer)) {
        match command {
            Command::Keep(snapshot) => {
                let number = snapshot.titled.number;
                let picture = draw(&snapshot.titled.diagram);
                answer(number, Answer::Drawn(picture.clone()));
                if let Some(root) = self.root.clone() {
                    let kept = self.keep(&root, &snapshot, &picture);
                    let pixels = snapshot.titled.diagram.complete();
                    let runs = self.places.get(&number).map_or(0, |place| place.races.runs);
                    answer(number, kept.map_or_else(Answer::NotKept, |bytes| Answer::Kept { pixels, runs, bytes }));
                }
            }
            Command::Describe(number, record) => {
                if let Some(place) = self.places.get(&number)
                    && let Err(error) = write_record(&place.folder, &KeptRecord { pixels: place.saved, ..*record })
                {
                    answer(number, Answer::NotKept(cannot_write(&place.folder, &error)));
                }
            }
            Command::Load(number, spec) => match self.load(number, &spec) {
                Ok(ReadResults { diagram, precision, lost_races, .. }) => {
                    answer(number, Answer::Loaded(diagram, precision));
                    if let Some(reason) = lost_races {
                        answer(number, Answer::RacesLost(reason));
                    }
                }
                Err(reason) => answer(number, Answer::NotLoaded(reason)),
            },
            Command::Remove(number) => {
                if let Some(Place { folder, checkpoint, .. }) = self.places.remove(&number) {
                    // An open file could not be removed everywhere.
                    drop(checkpoint);
                    if let Err(error) = remove(&folder) {
                        answer(number, Answer::NotRemoved(format!("cannot remove {}: {error}", folder.display())));
                    }
                }
            }
            Command::Renumber { from, to } => {
                let place = self.places.remove(&from);
                self.places.extend(place.map(|place| (to, place)));
            }
            Command::StoreLimits(limits) => {
                if let Some(root) = &self.root
                    && let Err(error) = limits.write(root)
                {
                    answer(0, Answer::LimitsNotStored(cannot_write(root, &error)));
                }
            }
        }
    }

    /// Writes a state of a diagram; returns the size of its files. Its description comes last: it never states more
    /// pixels than are in the other files.
    fn keep(&mut self, root: &Path, snapshot: &Snapshot, picture: &ColorImage) -> Result<u64, String> {
        let Snapshot { titled, record, is_running } = snapshot;
        let result = titled.result();
        let place = match self.places.entry(titled.number) {
            Entry::Occupied(place) => place.into_mut(),
            Entry::Vacant(place) => {
                let folder = create(root, &file_stem(&result.title));
                let folder = folder.map_err(|error| cannot_write(root, &error))?;
                place.insert(Place::new(folder))
            }
        };
        let failed = |error: std::io::Error| cannot_write(&place.folder, &error);
        if !place.folder.join(KeptRecord::FILE).exists() {
            write_record(&place.folder, &KeptRecord { pixels: 0, ..record.clone() }).map_err(failed)?;
        }
        write_look(&place.folder, &result, picture).map_err(failed)?;
        if titled.diagram.is_complete() {
            write_arrays(&place.folder, &result).map_err(failed)?;
            if place.checkpoint.is_none() && place.folder.join(SweepCheckpoint::FILE).symlink_metadata().is_ok() {
                let spec = titled.diagram.spec();
                place.checkpoint = open_checkpoint(&place.folder, spec, titled.precision).ok();
            }
            if let Some(checkpoint) = place.checkpoint.take() {
                checkpoint.remove().map_err(failed)?;
            }
            save_races(&place.folder, &titled.diagram, titled.precision).map_err(failed)?;
            place.races.runs = titled.diagram.runs();
        } else {
            if place.checkpoint.is_none() {
                let spec = titled.diagram.spec();
                place.checkpoint = Some(open_checkpoint(&place.folder, spec, titled.precision)?);
            }
            if let Some(checkpoint) = &mut place.checkpoint {
                save_pixels(checkpoint, &titled.diagram).map_err(failed)?;
            }
            if !is_running || Instant::now() >= place.races.next {
                let begun = Instant::now();
                // Decided pixels are saved also where the disk has no room for the races.
                if let Err(error) = save_races(&place.folder, &titled.diagram, titled.precision) {
                    log::warn!("undecided pixels are not saved: {}", failed(error));
                }
                let took = begun.elapsed();
                let next = Instant::now() + RACES_INTERVAL.max(took * RACES_SHARE);
                place.races = SavedRaces { runs: titled.diagram.runs(), next };
            }
        }
        write_record(&place.folder, record).map_err(failed)?;
        place.saved = record.pixels;
        Ok(size(&place.folder))
    }

    fn load(&mut self, number: u64, spec: &SweepSpec) -> Result<ReadResults, String> {
        let place = self.places.get_mut(&number).ok_or("it is in no folder")?;
        // Another window may have removed it.
        if !place.folder.join(KeptRecord::FILE).exists() {
            return Err(format!("there is no diagram in {} any more", place.folder.display()));
        }
        // Its lock would refuse another reader.
        place.checkpoint = None;
        let mut read = read_results(&place.folder, spec)?;
        (place.checkpoint, place.saved, place.races.runs) =
            (read.checkpoint.take(), read.diagram.complete(), read.diagram.runs());
        Ok(read)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write to {}: {error}", path.display())
}

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
        thumbnail: read(&folder.join(PICTURE)),
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
    write_file(&folder.join(PICTURE), Overwrite::Yes, &encode(picture))
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

const VERSION: u32 = 1;

/// The description of a kept diagram.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeptRecord {
    /// The name that the user gave; without it, the diagram has a title made from its settings.
    pub name: Option<String>,
    /// Whether it stays until the user removes it.
    pub pinned: bool,
    /// The place in the order of creation.
    pub order: u64,
    /// The computing time.
    pub worked: Duration,
    /// Pixels computed from all replicates.
    pub pixels: usize,
    pub precision: Precision,
    /// The preset as opened or saved, before changes that led to the diagram.
    pub preset: Arc<SweepPreset>,
}

/// A description as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    name: Option<String>,
    pinned: bool,
    order: u64,
    worked_secs: f64,
    pixels: usize,
    precision: String,
    preset: String,
}

impl KeptRecord {
    pub(super) const FILE: &'static str = KEPT_RECORD;

    pub(super) fn to_text(&self) -> String {
        let stored = Stored {
            version: VERSION,
            name: self.name.clone(),
            pinned: self.pinned,
            order: self.order,
            worked_secs: self.worked.as_secs_f64(),
            pixels: self.pixels,
            precision: self.precision.name().to_owned(),
            preset: Preset::Sweep((*self.preset).clone()).to_ron(),
        };
        ron::ser::to_string_pretty(&stored, ron::ser::PrettyConfig::default())
            .expect("a description holds no value that RON cannot express")
    }

    /// Parses the description at `path`, or returns why it cannot be used.
    pub(super) fn parse(text: &str, path: &Path) -> Result<KeptRecord, String> {
        let stored: Stored = ron::from_str(text).map_err(|error| format!("{} is damaged: {error}", path.display()))?;
        if stored.version != VERSION {
            let found = stored.version;
            return Err(format!("{}: expected version {VERSION}, found version {found}", path.display()));
        }
        let precision = Precision::ALL.into_iter().find(|precision| precision.name() == stored.precision);
        let precision = precision
            .ok_or_else(|| format!("{}: expected precision f32 or f64, found {}", path.display(), stored.precision))?;
        let worked = Duration::try_from_secs_f64(stored.worked_secs)
            .map_err(|error| format!("{}: the computing time is no time: {error}", path.display()))?;
        let preset = sweep_preset(&stored.preset, &format!("the preset in {}", path.display()))?;
        let Stored { name, pinned, order, pixels, .. } = stored;
        Ok(KeptRecord { name, pinned, order, worked, pixels, precision, preset: Arc::new(preset) })
    }
}

/// Parses the preset of a sweep. `what` names it in the error.
pub(super) fn sweep_preset(text: &str, what: &str) -> Result<SweepPreset, String> {
    match Preset::parse(text, what).map_err(|error| error.to_string())? {
        Preset::Sweep(preset) => Ok(preset),
        other => Err(format!("{what}: expected the preset of a sweep, found a {}", other.kind())),
    }
}

/// The largest side of a picture, in pixels.
const SIDE: usize = 128;
/// The largest file of a picture, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Draws the winners of a diagram, by the metric of its sweep; some rows and columns of a large one are left out.
pub(super) fn draw(diagram: &Diagram) -> ColorImage {
    let image = Map::Winner { certainty: true }.image(&diagram.filled(), diagram.spec().metric);
    let MapImage { width, height, rgba } = image.thinned(SIDE);
    ColorImage::from_rgba_unmultiplied([width, height], &rgba)
}

/// Encodes a picture as PNG.
pub(super) fn encode(image: &ColorImage) -> Vec<u8> {
    let [width, height] = image.size.map(|side| side as u32);
    let rgba = image.pixels.iter().flat_map(|color| color.to_array()).collect();
    let image = RgbaImage::from_raw(width, height, rgba).expect("an image has a color for each pixel");
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).expect("memory can be written");
    bytes.into_inner()
}

/// Reads the picture in a file; `None` if there is none that could have been written by [`encode`].
pub(super) fn read(path: &Path) -> Option<ColorImage> {
    use valleyscope_runs::plain_file::{self, Links};
    let bytes = plain_file::read(path, Links::Refused, MOST_BYTES).ok()?;
    let decoder = PngDecoder::new(Cursor::new(bytes)).ok()?;
    let (width, height) = decoder.dimensions();
    if width.max(height) as usize > SIDE {
        return None;
    }
    let image = DynamicImage::from_decoder(decoder).ok()?.into_rgba8();
    Some(ColorImage::from_rgba_unmultiplied([width as usize, height as usize], &image))
}
