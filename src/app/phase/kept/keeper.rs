//! The thread that reads and writes the folders of kept diagrams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context};
use valleyscope_engine::sweep::{Diagram, Precision, SweepSpec};

use super::files::{self, ReadResults};
use super::limits::Limits;
use super::record::KeptRecord;
use super::thumbnail;
use crate::app::phase::titled_diagram::TitledDiagram;
use crate::app::save_preset::file_stem;
use crate::sweep_checkpoint::SweepCheckpoint;

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
                let picture = thumbnail::draw(&snapshot.titled.diagram);
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
                    && let Err(error) =
                        files::write_record(&place.folder, &KeptRecord { pixels: place.saved, ..*record })
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
                    if let Err(error) = files::remove(&folder) {
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
                let folder = files::create(root, &file_stem(&result.title));
                let folder = folder.map_err(|error| cannot_write(root, &error))?;
                place.insert(Place::new(folder))
            }
        };
        let failed = |error: std::io::Error| cannot_write(&place.folder, &error);
        if !place.folder.join(KeptRecord::FILE).exists() {
            files::write_record(&place.folder, &KeptRecord { pixels: 0, ..record.clone() }).map_err(failed)?;
        }
        files::write_look(&place.folder, &result, picture).map_err(failed)?;
        if titled.diagram.is_complete() {
            files::write_arrays(&place.folder, &result).map_err(failed)?;
            if place.checkpoint.is_none() && place.folder.join(SweepCheckpoint::FILE).symlink_metadata().is_ok() {
                let spec = titled.diagram.spec();
                place.checkpoint = files::open_checkpoint(&place.folder, spec, titled.precision).ok();
            }
            if let Some(checkpoint) = place.checkpoint.take() {
                checkpoint.remove().map_err(failed)?;
            }
            files::save_races(&place.folder, &titled.diagram, titled.precision).map_err(failed)?;
            place.races.runs = titled.diagram.runs();
        } else {
            if place.checkpoint.is_none() {
                let spec = titled.diagram.spec();
                place.checkpoint = Some(files::open_checkpoint(&place.folder, spec, titled.precision)?);
            }
            if let Some(checkpoint) = &mut place.checkpoint {
                files::save_pixels(checkpoint, &titled.diagram).map_err(failed)?;
            }
            if !is_running || Instant::now() >= place.races.next {
                let begun = Instant::now();
                // Decided pixels are saved also where the disk has no room for the races.
                if let Err(error) = files::save_races(&place.folder, &titled.diagram, titled.precision) {
                    log::warn!("undecided pixels are not saved: {}", failed(error));
                }
                let took = begun.elapsed();
                let next = Instant::now() + RACES_INTERVAL.max(took * RACES_SHARE);
                place.races = SavedRaces { runs: titled.diagram.runs(), next };
            }
        }
        files::write_record(&place.folder, record).map_err(failed)?;
        place.saved = record.pixels;
        Ok(files::size(&place.folder))
    }

    fn load(&mut self, number: u64, spec: &SweepSpec) -> Result<ReadResults, String> {
        let place = self.places.get_mut(&number).ok_or("it is in no folder")?;
        // Another window may have removed it.
        if !place.folder.join(KeptRecord::FILE).exists() {
            return Err(format!("there is no diagram in {} any more", place.folder.display()));
        }
        // Its lock would refuse another reader.
        place.checkpoint = None;
        let mut read = files::read_results(&place.folder, spec)?;
        (place.checkpoint, place.saved, place.races.runs) =
            (read.checkpoint.take(), read.diagram.complete(), read.diagram.runs());
        Ok(read)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write to {}: {error}", path.display())
}
