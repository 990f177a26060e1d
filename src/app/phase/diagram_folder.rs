//! The folders of the library's diagrams with their limits, and the thread that reads and writes them.
//!
//! Each folder is one of a sweep's results: it has `phase.npz` or, while the diagram is unfinished, records; and
//! `spec.ron`. It also has a small picture, and `kept.ron`, which describes the diagram in the library and is written
//! last, so that it never states more than there is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context};
use image::ImageDecoder as _;
use image::codecs::png::PngDecoder;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use valleyscope_engine::sweep::{Diagram, Finished, Precision, SweepSpec};
use valleyscope_experiments::preset::{FormatVersion, Preset, SweepPreset};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

use super::diagram::TitledDiagram;
use crate::app::shell::export::decoded;
use crate::app::shell::presets::file_stem;
use crate::draw::{Map, MapImage};
use crate::sweep::result::{LIBRARY_RECORD, StoreError, SweepHeader, SweepRecords, SweepResult, SweepStore};

const PICTURE: &str = "thumbnail.png";
/// The files of a diagram.
const FILES: [&str; 7] = [
    SweepResult::ARRAYS,
    SweepResult::TABLE,
    SweepRecords::FILE,
    SweepStore::RACES,
    PICTURE,
    SweepResult::SPEC,
    LIBRARY_RECORD,
];
/// The largest text of a description or a preset, in bytes.
const MOST_TEXT: u64 = 4 << 20;

/// How much of a diagram is known. Of two states of a diagram, the later one is not smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Coverage {
    /// Pixels computed from all replicates.
    pub pixels: usize,
    /// The runs of all pixels.
    pub runs: u64,
}

impl Coverage {
    pub(super) fn of(diagram: &Diagram) -> Coverage {
        Coverage { pixels: diagram.complete(), runs: diagram.runs() }
    }
}

/// The description of a diagram in the library, `kept.ron`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiagramDescription {
    pub version: FormatVersion,
    /// The name that the user gave; without it, the diagram has a title made from its settings.
    pub name: Option<String>,
    /// Whether it stays until the user removes it.
    pub pinned: bool,
    /// The index in the order of creation.
    pub order: u64,
    /// The computing time.
    #[serde(rename = "worked_secs", serialize_with = "to_seconds", deserialize_with = "of_seconds")]
    pub worked: Duration,
    pub coverage: Coverage,
    pub precision: Precision,
    /// The preset as opened or saved, before changes that led to the diagram.
    #[serde(serialize_with = "preset_to_text", deserialize_with = "preset_of_text")]
    pub preset: Arc<SweepPreset>,
}

fn to_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(serializer)
}

fn of_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn preset_to_text<S: Serializer>(preset: &Arc<SweepPreset>, serializer: S) -> Result<S::Ok, S::Error> {
    Preset::Sweep((**preset).clone()).to_ron().serialize(serializer)
}

fn preset_of_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SweepPreset>, D::Error> {
    let preset = sweep_preset(&String::deserialize(deserializer)?, "the preset");
    preset.map(Arc::new).map_err(serde::de::Error::custom)
}

/// Parses the preset of a sweep. Errors name `origin` as its source.
fn sweep_preset(text: &str, origin: &str) -> Result<SweepPreset, String> {
    match Preset::parse(text, origin).map_err(|error| error.to_string())? {
        Preset::Sweep(preset) => Ok(preset),
        other => Err(format!("{origin}: expected the preset of a sweep, found a {}", other.kind())),
    }
}

/// A diagram that was found in a folder. Its results are read when they are needed.
pub(super) struct FoundDiagram {
    pub folder: PathBuf,
    pub description: DiagramDescription,
    pub spec: Arc<SweepSpec>,
    pub picture: Option<ColorImage>,
    /// The size of its files.
    pub bytes: u64,
}

/// The diagrams in a folder with their limits, and those that cannot be used: the name of each, and why.
#[derive(Default)]
pub(super) struct FoundLibrary {
    pub diagrams: Vec<FoundDiagram>,
    pub limits: Option<Limits>,
    /// Whether the stored limits cannot be used.
    pub are_limits_refused: bool,
    pub refused: Vec<(String, String)>,
}

/// The largest file of limits, in bytes.
const MOST_BYTES: u64 = 4096;

/// The limits of kept diagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub diagrams: usize,
    pub megabytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { diagrams: 40, megabytes: 1000 }
    }
}

impl Limits {
    /// The most megabytes that a limit may be, more than any disk has.
    const MOST_MEGABYTES: u64 = 1_000_000_000;

    /// The name of their file in the folder of diagrams.
    const FILE: &'static str = "limits.ron";

    /// Reads the limits in a folder of diagrams; `None` if none were stored. Limits that cannot be meant are refused.
    fn read(root: &Path) -> Result<Option<Limits>, String> {
        let refused = |reason| format!("{reason}; no diagram makes room for others until you set the limits");
        let path = root.join(Self::FILE);
        let text = match plain_file::read_text(&path, Links::Refused, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(error.to_string())),
        };
        let limits: Limits = ron::from_str(&text).map_err(|error| refused(format!("it is damaged: {error}")))?;
        if limits.diagrams == 0 || !(1..=Self::MOST_MEGABYTES).contains(&limits.megabytes) {
            let Limits { diagrams, megabytes } = limits;
            let most = Self::MOST_MEGABYTES;
            let expected = format!("expected 1 diagram or more, and 1 to {most} megabytes");
            return Err(refused(format!("{expected}, found {diagrams} and {megabytes}")));
        }
        Ok(Some(limits))
    }

    fn write(self, root: &Path) -> io::Result<()> {
        std::fs::create_dir_all(root)?;
        let text = ron::to_string(&self).expect("limits hold no value that RON cannot express");
        write_file(&root.join(Self::FILE), Overwrite::Yes, text.as_bytes())
    }
}

/// Reads the descriptions of all diagrams in a folder. Nothing is changed.
pub(super) fn find(root: &Path) -> FoundLibrary {
    let mut found = FoundLibrary::default();
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
        match find_diagram(entry.path()) {
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
    found.diagrams.sort_by_key(|diagram| diagram.description.order);
    found.refused.sort();
    found
}

fn find_diagram(folder: PathBuf) -> Result<FoundDiagram, String> {
    let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_folder {
        return Err(format!("expected the folder of a diagram, found another file: {}", folder.display()));
    }
    let text = |name: &str| {
        let path = folder.join(name);
        let text = plain_file::read_text(&path, Links::Refused, MOST_TEXT);
        let origin = path.display().to_string();
        text.map_err(|error| format!("cannot read {origin}: {error}")).map(|text| (text, origin))
    };
    let (description, origin) = text(LIBRARY_RECORD)?;
    let description = ron::from_str(&description).map_err(|error| format!("{origin} is damaged: {error}"))?;
    let (spec, origin) = text(SweepResult::SPEC)?;
    let spec = Arc::new(sweep_preset(&spec, &origin)?.sweep);
    let picture = read_picture(&folder.join(PICTURE));
    Ok(FoundDiagram { description, spec, picture, bytes: size(&folder), folder })
}

/// Returns the size of a diagram's files, as far as they take room on the disk: a sparse file may have any length. The
/// races do not count, as they disappear when the diagram is complete, nor do other files, which stay when the diagram
/// is removed.
fn size(folder: &Path) -> u64 {
    let files = FILES.iter().filter(|name| **name != SweepStore::RACES);
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

/// The folder of a diagram.
struct DiagramFolder {
    path: PathBuf,
    /// The pixels and runs in the folder's files.
    saved: Coverage,
    /// The records, once they were opened.
    store: Option<SweepStore>,
}

impl DiagramFolder {
    /// Creates an unused folder whose name begins with `stem`.
    fn create(root: &Path, stem: &str) -> io::Result<DiagramFolder> {
        std::fs::create_dir_all(root)?;
        let names = std::iter::once(stem.to_owned()).chain((2_u32..).map(|number| format!("{stem}-{number}")));
        for path in names.map(|name| root.join(name)) {
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| DiagramFolder { path, saved: Coverage::default(), store: None }),
            }
        }
        unreachable!("there are endless names")
    }

    fn has(&self, file: &str) -> bool {
        self.path.join(file).symlink_metadata().is_ok()
    }

    fn write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        write_file(&self.path.join(file), Overwrite::Yes, content)
    }

    /// Writes a description, with the coverage of the results in the folder.
    fn describe(&self, description: &DiagramDescription) -> io::Result<()> {
        let described = DiagramDescription { coverage: self.saved, ..description.clone() };
        let text = ron::ser::to_string_pretty(&described, ron::ser::PrettyConfig::default());
        self.write(LIBRARY_RECORD, text.expect("a description holds no value that RON cannot express").as_bytes())
    }

    /// Writes a state of the diagram; returns the size of its files.
    fn save(&mut self, (titled, description): &DiagramState, picture: &ColorImage) -> io::Result<u64> {
        let (result, diagram) = (titled.result(), &titled.diagram);
        if !self.has(LIBRARY_RECORD) {
            self.describe(description)?;
        }
        self.write(SweepResult::SPEC, result.preset().to_ron().as_bytes())?;
        self.write(PICTURE, &encoded(picture))?;
        if diagram.is_complete() {
            let mut arrays = AtomicFile::for_target(&self.path.join(SweepResult::ARRAYS))?;
            result.write_arrays(&mut arrays)?;
            arrays.flush()?;
            arrays.commit(Overwrite::Yes)?;
            let left = self.has(SweepRecords::FILE).then(|| SweepStore::open(&self.path, None).ok()).flatten();
            if let Some(store) = self.store.take().or(left.map(|(store, _)| store)) {
                store.remove()?;
            }
        } else {
            let store = match &mut self.store {
                Some(store) => store,
                closed => closed.insert(open(&self.path, &result).map_err(|error| io::Error::other(in_window(error)))?),
            };
            save_results(store, diagram)?;
        }
        self.saved = description.coverage;
        self.describe(description)?;
        Ok(size(&self.path))
    }

    /// Reads the results: the arrays, else the records, else none. They must be those of this sweep, in any colours.
    fn load(&mut self, expected: &SweepSpec) -> Result<LoadedResults, String> {
        let folder = self.path.display();
        // Another window may have removed it.
        if !self.has(LIBRARY_RECORD) {
            return Err(format!("there is no diagram in {folder} any more"));
        }
        // Its lock would refuse another reader.
        self.store = None;
        let loaded = if self.has(SweepResult::ARRAYS) {
            let SweepResult { diagram, precision, .. } = SweepResult::open(&self.path).map_err(|it| it.to_string())?;
            LoadedResults { diagram, precision, lost_races: None }
        } else if self.has(SweepRecords::FILE) {
            let (store, mut diagram) = SweepStore::open(&self.path, None).map_err(in_window)?;
            let (precision, lost_races) = (store.header().precision, store.read_races(&mut diagram).err());
            self.store = Some(store);
            LoadedResults { diagram, precision, lost_races }
        } else {
            let diagram = Diagram::new(Arc::new(expected.clone()));
            LoadedResults { diagram, precision: Precision::default(), lost_races: None }
        };
        if !loaded.diagram.spec().is_alike_but_for_colors(expected) {
            let spec = SweepResult::SPEC;
            return Err(format!("{folder} contradicts itself: its results are of another sweep than its {spec}"));
        }
        self.saved = Coverage::of(&loaded.diagram);
        Ok(loaded)
    }

    /// Removes the diagram's files and its folder, also the table that a repair has written, and replaced files that it
    /// keeps. A folder with other files stays with these.
    fn remove(self) -> io::Result<()> {
        let DiagramFolder { path, store, .. } = self;
        // An open file could not be removed everywhere.
        drop(store);
        AtomicFile::clear(&path)?;
        for entry in std::fs::read_dir(&path)? {
            let file = entry?.file_name();
            let is_own = |name: &&str| {
                let rest = file.to_str().and_then(|file| file.strip_prefix(name));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".kept-"))
            };
            if FILES.iter().any(is_own) {
                std::fs::remove_file(path.join(&file))?;
            }
        }
        std::fs::remove_dir(path)
    }
}

/// Opens the records of an unfinished diagram, or begins them. The colours of existing ones may be those of before.
fn open(folder: &Path, result: &SweepResult) -> Result<SweepStore, StoreError> {
    if folder.join(SweepRecords::FILE).symlink_metadata().is_ok() {
        return SweepStore::open(folder, None).map(|(store, _)| store);
    }
    let preset = Arc::new(result.sweep_preset());
    let header = SweepHeader { preset, precision: result.precision, keeps_runs: false, part: None };
    SweepStore::open(folder, Some(&header)).map(|(store, _)| store)
}

/// Adds the pixels and the races that records lack, and returns when they have reached the disk.
fn save_results(store: &mut SweepStore, diagram: &Diagram) -> io::Result<()> {
    let replicates = diagram.spec().replicates.get();
    for pixel in diagram.spec().pixels() {
        let cell = diagram.cell(pixel).filter(|cell| cell.is_complete(replicates) && !store.is_known(pixel));
        if let Some(cell) = cell {
            store.add(&Finished { pixel, cell: (**cell).clone(), runs: None });
        }
    }
    store.save()?;
    store.save_races(diagram)
}

/// Describes why records cannot be used, with what can be done in the window.
fn in_window(error: StoreError) -> String {
    match error {
        StoreError::Busy(path) => {
            format!("another window is at work on {}; close it, and show the diagram again", path.display())
        }
        error @ (StoreError::File { .. } | StoreError::Version { .. }) => error.to_string(),
        error => format!("{error}; or remove the diagram from the kept ones, and compute it again"),
    }
}

/// The results of a diagram as they were read.
pub(super) struct LoadedResults {
    pub diagram: Diagram,
    pub precision: Precision,
    /// The reason why races cannot be used; their pixels are computed anew.
    pub lost_races: Option<String>,
}

/// A state of a diagram that is to be saved.
pub(super) type DiagramState = (TitledDiagram, DiagramDescription);

pub(super) enum Command {
    Save(Box<DiagramState>),
    /// Writes a changed description.
    Describe(u64, Box<DiagramDescription>),
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
    /// A picture of the state that is being saved.
    Drawn(ColorImage),
    /// This much is on the disk, in files of so many bytes; writing it took so long.
    Saved {
        coverage: Coverage,
        bytes: u64,
        took: Duration,
    },
    NotSaved(String),
    Loaded(LoadedResults),
    NotLoaded(String),
    /// Something else failed; a title and a text.
    Failed(&'static str, String),
}

/// The thread; it ends after its last command when this is dropped.
pub(super) struct LibraryThread {
    commands: Option<Sender<Command>>,
    answers: Receiver<(u64, Answer)>,
    thread: Option<JoinHandle<()>>,
}

impl LibraryThread {
    /// Starts the thread. Without a folder, diagrams are only drawn. `known` are the folders of the diagrams in it,
    /// with what their descriptions state.
    pub(super) fn start(
        root: Option<PathBuf>,
        known: HashMap<u64, (PathBuf, Coverage)>,
        context: Context,
    ) -> LibraryThread {
        let (commands, receiver) = channel();
        let (sender, answers) = channel();
        let folder = |(number, (path, saved))| (number, DiagramFolder { path, saved, store: None });
        let mut worker = Worker { root, folders: known.into_iter().map(folder).collect() };
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
        LibraryThread { commands: Some(commands), answers, thread: Some(thread) }
    }

    /// Returns whether the thread takes the command; one that has failed has reported that.
    pub(super) fn send(&self, command: Command) -> bool {
        self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok())
    }

    pub(super) fn answers(&self) -> impl Iterator<Item = (u64, Answer)> + '_ {
        self.answers.try_iter()
    }
}

impl Drop for LibraryThread {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported by its thread.
            let _ = thread.join();
        }
    }
}

struct Worker {
    root: Option<PathBuf>,
    folders: HashMap<u64, DiagramFolder>,
}

impl Worker {
    fn execute(&mut self, command: Command, answer: &mut impl FnMut(u64, Answer)) {
        match command {
            Command::Save(state) => {
                let (titled, description) = &*state;
                let picture = drawn(&titled.diagram);
                answer(titled.number, Answer::Drawn(picture.clone()));
                if let Some(root) = self.root.clone() {
                    let (begun, coverage) = (Instant::now(), description.coverage);
                    let saved = self.save(&root, &state, &picture);
                    let saved = saved.map(|bytes| Answer::Saved { coverage, bytes, took: begun.elapsed() });
                    answer(titled.number, saved.unwrap_or_else(Answer::NotSaved));
                }
            }
            Command::Describe(number, description) => {
                if let Some(folder) = self.folders.get(&number)
                    && let Err(error) = folder.describe(&description)
                {
                    answer(number, Answer::NotSaved(cannot_write(&folder.path, &error)));
                }
            }
            Command::Load(number, spec) => {
                let loaded = self.folders.get_mut(&number).ok_or("it is in no folder".to_owned());
                let loaded = loaded.and_then(|folder| folder.load(&spec));
                answer(number, loaded.map_or_else(Answer::NotLoaded, Answer::Loaded));
            }
            Command::Remove(number) => {
                if let Some(folder) = self.folders.remove(&number) {
                    let path = folder.path.clone();
                    if let Err(error) = folder.remove() {
                        let text = format!(
                            "cannot remove {}: {error}\n\nRemove the folder yourself, or it is found again at the next start.",
                            path.display()
                        );
                        answer(number, Answer::Failed("A kept diagram was not removed", text));
                    }
                }
            }
            Command::Renumber { from, to } => {
                let folder = self.folders.remove(&from);
                self.folders.extend(folder.map(|folder| (to, folder)));
            }
            Command::StoreLimits(limits) => {
                if let Some(root) = &self.root
                    && let Err(error) = limits.write(root)
                {
                    let title = "The limits of kept diagrams are not stored";
                    answer(0, Answer::Failed(title, cannot_write(root, &error)));
                }
            }
        }
    }

    fn save(&mut self, root: &Path, state: &DiagramState, picture: &ColorImage) -> Result<u64, String> {
        let (titled, _) = state;
        let folder = match self.folders.entry(titled.number) {
            Entry::Occupied(folder) => folder.into_mut(),
            Entry::Vacant(folder) => {
                let created = DiagramFolder::create(root, &file_stem(&titled.title()));
                folder.insert(created.map_err(|error| cannot_write(root, &error))?)
            }
        };
        folder.save(state, picture).map_err(|error| cannot_write(&folder.path, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write to {}: {error}", path.display())
}

/// The largest side of a picture, in pixels.
const SIDE: usize = 128;
/// The largest file of a picture, in bytes.
const MOST_PICTURE: u64 = 1 << 20;

/// Draws the winners of a diagram, by the metric of its sweep; some rows and columns of a large one are left out.
fn drawn(diagram: &Diagram) -> ColorImage {
    let image = Map::Winner { certainty: true }.image(&diagram.filled(), diagram.spec().metric);
    let MapImage { width, height, rgba } = image.thinned(SIDE);
    ColorImage::from_rgba_unmultiplied([width, height], &rgba)
}

/// Encodes a picture as PNG.
fn encoded(image: &ColorImage) -> Vec<u8> {
    let rgba: Vec<u8> = image.pixels.iter().flat_map(|color| color.to_array()).collect();
    crate::draw::encoded(&rgba, image.size.map(|side| side as u32)).expect("an image has a color for each pixel")
}

/// Reads the picture in a file; `None` if there is none that could have been written by [`encoded`].
fn read_picture(path: &Path) -> Option<ColorImage> {
    let bytes = plain_file::read(path, Links::Refused, MOST_PICTURE).ok()?;
    let (width, height) = PngDecoder::new(Cursor::new(&bytes)).ok()?.dimensions();
    if width.max(height) as usize > SIDE { None } else { decoded(&bytes).ok() }
}
