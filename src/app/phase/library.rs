//! The library of diagrams: in memory, and in folders that survive the program.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use serde::{Deserialize, Serialize};
use valleyscope_engine::sweep::{Diagram, Precision, SweepSpec};
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::diagram_folder;
use super::diagram_folder::{Answer, Command, FoundDiagram, Keeper, KeptRecord, Snapshot};
use super::diagram_store::TitledDiagram;
use crate::figure::as_changed;

/// The time between two states of a diagram that are written while it is computed.
const INTERVAL: Duration = Duration::from_secs(2);
/// The number of diagrams whose results stay in memory while they are not shown.
const MOST_IN_MEMORY: usize = 8;
const MEGABYTE: u64 = 1_000_000;

/// A change of the library that the other parts of the tab take over.
pub(super) enum LibraryEvent {
    Loaded {
        number: u64,
        diagram: Diagram,
        precision: Precision,
    },
    NotLoaded {
        number: u64,
    },
    /// A failure to report, with a title.
    Failed {
        title: &'static str,
        text: String,
    },
}

/// The kept diagrams, in the order of their creation.
pub(super) struct Library {
    keeper: Keeper,
    /// True if diagrams are written to a folder.
    has_folder: bool,
    kept: BTreeMap<u64, KeptDiagram>,
    /// The names of folders that cannot be used, and why.
    pub refused: Vec<(String, String)>,
    pub limits: Limits,
    /// The limits in the folder.
    stored_limits: Limits,
    /// True while the limits in the folder cannot be used; no diagram makes room then.
    are_limits_refused: bool,
    /// The numbers whose results are in memory, the last used one at the end.
    used: Vec<u64>,
}

impl Library {
    /// Opens the diagrams in a folder, which get numbers from 1 on. Their results are read when they are needed.
    pub(super) fn open(root: Option<PathBuf>, context: Context) -> Library {
        let found = root.as_deref().map(diagram_folder::find).unwrap_or_default();
        let (mut kept, mut folders) = (BTreeMap::new(), HashMap::new());
        for (number, found) in (1..).zip(found.diagrams) {
            let (diagram, folder) = KeptDiagram::found(found);
            folders.insert(number, (folder, diagram.saved));
            kept.insert(number, diagram);
        }
        let has_folder = root.is_some();
        let keeper = Keeper::start(root, folders, context);
        let limits = found.limits.unwrap_or_default();
        let (refused, are_limits_refused, used) = (found.refused, found.are_limits_refused, Vec::new());
        let stored_limits = limits;
        let mut library =
            Library { keeper, has_folder, kept, refused, limits, stored_limits, are_limits_refused, used };
        if found.limits.is_none() && !are_limits_refused {
            // Without known limits, no diagram is dropped.
            library.raise_limits();
        }
        library
    }

    /// Returns the largest number in use.
    pub(super) fn last_number(&self) -> u64 {
        self.kept.keys().next_back().copied().unwrap_or(0)
    }

    /// Lists the numbers of the diagrams, the oldest first.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.kept.keys().copied().collect()
    }

    pub(super) fn get(&self, number: u64) -> Option<&KeptDiagram> {
        self.kept.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut KeptDiagram> {
        self.kept.get_mut(&number)
    }

    /// Returns the results of a diagram that are in memory.
    pub(super) fn results(&self, number: u64) -> Option<&TitledDiagram> {
        self.kept.get(&number)?.results.as_ref()
    }

    pub(super) fn results_mut(&mut self, number: u64) -> Option<&mut TitledDiagram> {
        self.kept.get_mut(&number)?.results.as_mut()
    }

    /// Returns the diagram of a sweep, in any colours.
    pub(super) fn find(&self, sweep: &SweepSpec) -> Option<u64> {
        let is_usable = |kept: &KeptDiagram| kept.fault.is_none() && kept.spec.is_alike_but_for_colors(sweep);
        self.kept.iter().rev().find(|(_, kept)| is_usable(kept)).map(|(number, _)| *number)
    }

    /// Returns whether all that is known of a diagram is on the disk, or will be before the program ends.
    pub(super) fn is_safe(&self, titled: &TitledDiagram) -> bool {
        let has_all = |kept: &KeptDiagram| kept.is_safe() && kept.record.pixels >= titled.diagram.complete();
        self.has_folder
            && match self.kept.get(&titled.number) {
                Some(kept) => kept.is_safe(),
                None => self.alike(titled).is_some_and(|(_, kept)| has_all(kept)),
            }
    }

    /// Keeps a state of a diagram. While it `is_running`, states are written every few seconds.
    pub(super) fn keep(&mut self, titled: &TitledDiagram, worked: Duration, is_running: bool) {
        let (pixels, runs) = (titled.diagram.complete(), titled.diagram.runs());
        if !self.kept.contains_key(&titled.number) && !self.take_over_alike(titled) {
            return;
        }
        let order = self.kept.values().map(|kept| kept.record.order + 1).max().unwrap_or(0);
        let kept = self.kept.entry(titled.number).or_insert_with(|| {
            let record = KeptRecord {
                name: None,
                pinned: false,
                order,
                worked,
                pixels,
                precision: titled.precision,
                preset: Arc::clone(&titled.preset),
            };
            KeptDiagram::new(record, Arc::clone(titled.spec()))
        });
        let is_new = kept.asked.is_none() && kept.texture.is_none() && kept.picture.is_none();
        let is_drawn =
            kept.record.pixels >= pixels && kept.asked_runs >= runs && kept.spec == *titled.spec() && !is_new;
        let is_recent = is_running && kept.asked.is_some_and(|asked| asked.elapsed() < INTERVAL);
        let is_written = (kept.saved >= pixels && kept.saved_runs >= runs) || !self.has_folder || kept.is_refused;
        let is_same = is_drawn && kept.record.preset == titled.preset && is_written;
        if kept.is_being_kept || is_same || is_recent || kept.fault.is_some() {
            return;
        }
        kept.begin_keeping(titled, worked);
        kept.is_asked_running = is_running;
        if kept.is_refused {
            return;
        }
        kept.is_being_kept = true;
        let snapshot = Snapshot { titled: titled.clone(), record: kept.record.clone(), is_running };
        self.keeper.send(Command::Keep(Box::new(snapshot)));
    }

    /// Keeps the last state of a diagram before the program ends.
    pub(super) fn keep_last(&mut self, titled: &TitledDiagram) {
        if let Some(kept) = self.kept.get_mut(&titled.number) {
            let (pixels, runs) = (titled.diagram.complete(), titled.diagram.runs());
            let is_in_last = kept.record.pixels >= pixels && kept.asked_runs >= runs && !kept.is_asked_running;
            if kept.is_being_kept && is_in_last {
                return;
            }
            kept.is_being_kept = false;
        }
        self.keep(titled, titled.worked, false);
    }

    /// Keeps the last states of all diagrams in memory before the program ends.
    pub(super) fn keep_all_last(&mut self) {
        for titled in self.unwritten(|_| true) {
            self.keep_last(&titled);
        }
    }

    /// Keeps what was computed while an earlier state was being written.
    fn keep_rest(&mut self) {
        for titled in self.unwritten(|kept| !kept.is_being_kept) {
            self.keep(&titled, titled.worked, false);
        }
    }

    /// Returns the diagrams in memory with results that are not on the disk.
    fn unwritten(&self, is_meant: impl Fn(&KeptDiagram) -> bool) -> Vec<TitledDiagram> {
        let has_more = |kept: &&KeptDiagram| {
            let has_more = |titled: &TitledDiagram| {
                titled.diagram.complete() > kept.saved || titled.diagram.runs() > kept.saved_runs
            };
            self.has_folder && kept.is_safe() && kept.results.as_ref().is_some_and(has_more) && is_meant(kept)
        };
        self.kept.values().filter(has_more).filter_map(|kept| kept.results.clone()).collect()
    }

    /// Returns the kept diagram of the same sweep and precision.
    fn alike(&self, titled: &TitledDiagram) -> Option<(u64, &KeptDiagram)> {
        let is_alike = |kept: &KeptDiagram| {
            kept.fault.is_none()
                && kept.record.precision == titled.precision
                && kept.spec.is_alike_but_for_colors(titled.spec())
        };
        self.kept.iter().find(|(_, kept)| is_alike(kept)).map(|(number, kept)| (*number, kept))
    }

    /// Gives a diagram the place of one of the same sweep with no more pixels: its name, its computing time and its
    /// folder, whose files stay until they are replaced. Returns false if there is one with more pixels, which makes it
    /// needless.
    fn take_over_alike(&mut self, titled: &TitledDiagram) -> bool {
        let Some((number, kept)) = self.alike(titled) else { return true };
        if kept.record.pixels > titled.diagram.complete() {
            return false;
        }
        if let Some(kept) = self.kept.remove(&number) {
            self.used.retain(|used| *used != number);
            self.keeper.send(Command::Renumber { from: number, to: titled.number });
            self.kept.insert(titled.number, kept.for_another());
        }
        true
    }

    /// Takes the results of a diagram that is no longer the present one.
    pub(super) fn put_back(&mut self, titled: TitledDiagram) {
        let number = titled.number;
        if let Some(kept) = self.kept.get_mut(&number) {
            kept.results = Some(titled);
            self.touch(number);
        }
    }

    /// Takes the results of a diagram out of memory; begins to read them where they are not there.
    pub(super) fn take(&mut self, number: u64) -> Option<TitledDiagram> {
        self.used.retain(|used| *used != number);
        let taken = self.kept.get_mut(&number)?.results.take();
        if taken.is_none() {
            self.load(number);
        }
        taken
    }

    /// Reads the results of a diagram in the background, unless they are in memory. Whether it
    /// [is loading](KeptDiagram::is_loading) then states whether an event will follow.
    pub(super) fn load(&mut self, number: u64) {
        let Some(kept) = self.kept.get_mut(&number) else { return };
        if kept.results.is_none() && kept.fault.is_none() && !kept.is_loading {
            kept.is_loading = self.keeper.send(Command::Load(number, Arc::clone(&kept.spec)));
        }
        self.touch(number);
    }

    /// Makes a diagram the last used one, and drops the results of others from memory that can be read again.
    fn touch(&mut self, number: u64) {
        self.used.retain(|used| *used != number);
        self.used.push(number);
        while self.used.len() > MOST_IN_MEMORY {
            let is_read_again = |number: &u64| {
                let kept = self.kept.get(number);
                let is_written = |kept: &KeptDiagram| {
                    let runs = kept.results.as_ref().map_or(0, |titled| titled.diagram.runs());
                    kept.saved >= kept.record.pixels && kept.saved_runs >= runs
                };
                kept.is_none_or(|kept| self.has_folder && kept.fault.is_none() && is_written(kept))
            };
            let Some(place) = self.used.iter().position(is_read_again) else { return };
            let oldest = self.used.remove(place);
            if let Some(kept) = self.kept.get_mut(&oldest) {
                kept.results = None;
            }
        }
    }

    /// Changes the description of a diagram.
    pub(super) fn describe(&mut self, number: u64, change: impl FnOnce(&mut KeptRecord)) {
        if let Some(kept) = self.kept.get_mut(&number) {
            change(&mut kept.record);
            self.keeper.send(Command::Describe(number, Box::new(kept.record.clone())));
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        if self.kept.remove(&number).is_some() {
            self.used.retain(|used| *used != number);
            self.keeper.send(Command::Remove(number));
        }
    }

    /// Returns the number and the total size, in bytes, of the diagrams.
    pub(super) fn taken(&self) -> (usize, u64) {
        (self.kept.len(), self.kept.values().map(KeptDiagram::bytes).fold(0, u64::saturating_add))
    }

    /// Returns the diagram that is to make room where the limits are exceeded: one that was computed in less than `dear`
    /// and has no name before others, and the oldest of these. Those in use and those that are pinned stay.
    pub(super) fn surplus(&self, in_use: &HashSet<u64>, dear: Duration) -> Option<u64> {
        let (count, bytes) = self.taken();
        let has_room = count <= self.limits.diagrams && bytes <= self.limits.megabytes.saturating_mul(MEGABYTE);
        if has_room || self.are_limits_refused {
            return None;
        }
        let free = self.kept.iter().filter(|(number, kept)| !kept.record.pinned && !in_use.contains(number));
        let first = free.min_by_key(|(number, kept)| (is_dear(&kept.record, dear), **number));
        first.map(|(number, _)| *number)
    }

    /// Raises the limits so that all diagrams have room.
    pub(super) fn raise_limits(&mut self) {
        let (count, bytes) = self.taken();
        self.limits.diagrams = self.limits.diagrams.max(count);
        self.limits.megabytes = self.limits.megabytes.max(bytes.div_ceil(MEGABYTE));
        self.store_limits();
    }

    /// Writes the limits beside the diagrams, if they were changed.
    pub(super) fn store_limits(&mut self) {
        if self.limits != self.stored_limits {
            (self.stored_limits, self.are_limits_refused) = (self.limits, false);
            self.keeper.send(Command::StoreLimits(self.limits));
        }
    }

    /// Returns the changes since the last call.
    pub(super) fn poll(&mut self) -> Vec<LibraryEvent> {
        let mut events = Vec::new();
        for (number, answer) in self.keeper.answers().collect::<Vec<_>>() {
            let title = |kept: &KeptDiagram| kept.title();
            let name = self.kept.get(&number).map_or_else(String::new, title);
            let kept = self.kept.get_mut(&number);
            match answer {
                Answer::Drawn(picture) => {
                    if let Some(kept) = kept {
                        kept.picture = Some(picture);
                        kept.is_being_kept &= self.has_folder;
                    }
                }
                Answer::Kept { pixels, runs, bytes } => {
                    if let Some(kept) = kept {
                        (kept.saved, kept.saved_runs, kept.bytes, kept.is_being_kept) = (pixels, runs, bytes, false);
                    }
                }
                Answer::RacesLost(reason) => {
                    let text = format!("{reason}\n\nThe pixels of “{name}” that are not decided are computed anew.");
                    events.push(LibraryEvent::Failed { title: "A part of a kept diagram can't be read", text });
                }
                Answer::NotKept(reason) => {
                    let text = format!(
                        "{reason}\n\n“{name}” stays in this window, but the next start may not have it. Make the folder \
                         writable or make room on its disk, and start again; or export the whole result as NPZ."
                    );
                    if let Some(kept) = kept {
                        (kept.is_refused, kept.is_being_kept) = (true, false);
                    }
                    events.push(LibraryEvent::Failed { title: "A diagram is not kept on the disk", text });
                }
                Answer::Loaded(diagram, precision) => {
                    if let Some(kept) = kept {
                        kept.found_on_disk(diagram.complete(), diagram.runs());
                    }
                    events.push(LibraryEvent::Loaded { number, diagram, precision });
                }
                Answer::NotLoaded(reason) => {
                    let text = format!("{reason}\n\nThe files of “{name}” are left as they are.");
                    if let Some(kept) = kept {
                        (kept.fault, kept.is_loading) = (Some(reason), false);
                    }
                    events.push(LibraryEvent::Failed { title: "A kept diagram can't be read", text });
                    events.push(LibraryEvent::NotLoaded { number });
                }
                Answer::LimitsNotStored(text) => {
                    events.push(LibraryEvent::Failed { title: "The limits of kept diagrams are not stored", text });
                }
                Answer::NotRemoved(reason) => {
                    let text =
                        format!("{reason}\n\nRemove the folder yourself, or it is found again at the next start.");
                    events.push(LibraryEvent::Failed { title: "A kept diagram was not removed", text });
                }
            }
        }
        self.keep_rest();
        events
    }
}

/// A kept diagram.
pub(super) struct KeptDiagram {
    pub record: KeptRecord,
    pub spec: Arc<SweepSpec>,
    /// The results, where they are in memory and the diagram is not shown in place of the present one.
    pub(super) results: Option<TitledDiagram>,
    /// True while the results are being read.
    pub(super) is_loading: bool,
    /// Complete pixels that are on the disk.
    pub(super) saved: usize,
    /// The runs of all pixels that are on the disk, and those of the state that was last written or drawn.
    pub(super) saved_runs: u64,
    pub(super) asked_runs: u64,
    pub(super) bytes: u64,
    pub(super) picture: Option<ColorImage>,
    pub(super) texture: Option<TextureHandle>,
    /// The reason why its results cannot be read.
    pub fault: Option<String>,
    /// True once its results could not be written.
    pub(super) is_refused: bool,
    /// The time of its last snapshot, and whether that is being written.
    pub(super) asked: Option<Instant>,
    pub(super) is_being_kept: bool,
    /// Whether the diagram was being computed then, so that its races may not have been written.
    pub(super) is_asked_running: bool,
    /// The title made from its settings.
    made_title: OnceCell<String>,
}

impl KeptDiagram {
    pub(super) fn new(record: KeptRecord, spec: Arc<SweepSpec>) -> KeptDiagram {
        KeptDiagram {
            record,
            spec,
            results: None,
            is_loading: false,
            saved: 0,
            saved_runs: 0,
            asked_runs: 0,
            bytes: 0,
            picture: None,
            texture: None,
            fault: None,
            is_refused: false,
            asked: None,
            is_being_kept: false,
            is_asked_running: false,
            made_title: OnceCell::new(),
        }
    }

    pub(super) fn found(found: FoundDiagram) -> (KeptDiagram, PathBuf) {
        let FoundDiagram { folder, record, sweep, thumbnail, bytes } = found;
        let kept = KeptDiagram {
            saved: record.pixels,
            bytes,
            picture: thumbnail,
            ..KeptDiagram::new(record, Arc::new(sweep.sweep))
        };
        (kept, folder)
    }

    /// Returns the name that the user gave, or else a title made from the settings.
    pub(super) fn title(&self) -> String {
        let made = || as_changed((*self.record.preset).clone(), (*self.spec).clone()).title;
        self.record.name.clone().unwrap_or_else(|| self.made_title.get_or_init(made).clone())
    }

    /// Takes the state of the diagram that is about to be written.
    pub(super) fn begin_keeping(&mut self, titled: &TitledDiagram, worked: Duration) {
        // A result that is opened from a file states no computing time.
        let worked = worked.max(self.record.worked);
        let (pixels, preset) = (titled.diagram.complete(), Arc::clone(&titled.preset));
        self.record = KeptRecord { worked, pixels, preset, ..self.record.clone() };
        self.spec = Arc::clone(titled.spec());
        (self.asked, self.asked_runs) = (Some(Instant::now()), titled.diagram.runs());
        self.made_title = OnceCell::new();
    }

    /// Returns the entry for another diagram of the same sweep, which is still to be written in place of this one.
    pub(super) fn for_another(self) -> KeptDiagram {
        KeptDiagram { bytes: self.bytes, ..KeptDiagram::new(KeptRecord { pixels: 0, ..self.record }, self.spec) }
    }

    /// Takes the pixels that were found on the disk, which may be fewer than its description states, and the runs.
    pub(super) fn found_on_disk(&mut self, pixels: usize, runs: u64) {
        (self.saved, self.record.pixels, self.is_loading) = (pixels, pixels, false);
        (self.saved_runs, self.asked_runs) = (runs, runs);
    }

    pub(super) fn is_loading(&self) -> bool {
        self.is_loading
    }

    /// Returns whether all that was computed of it is on the disk, or will be before the program ends.
    pub(super) fn is_safe(&self) -> bool {
        self.fault.is_none() && !self.is_refused
    }

    pub(super) fn is_complete(&self) -> bool {
        let [rows, columns] = self.spec.shape();
        self.record.pixels == rows * columns
    }

    /// Returns the computed part of its pixels.
    pub(super) fn part(&self) -> f32 {
        let [rows, columns] = self.spec.shape();
        self.record.pixels as f32 / (rows * columns) as f32
    }

    /// Returns the small picture, once it was drawn.
    pub(super) fn texture(&mut self, context: &Context) -> Option<&TextureHandle> {
        if let Some(picture) = self.picture.take() {
            let picture = Arc::new(picture);
            match &mut self.texture {
                Some(texture) => texture.set(picture, TextureOptions::LINEAR),
                None => self.texture = Some(context.load_texture("kept diagram", picture, TextureOptions::LINEAR)),
            }
        }
        self.texture.as_ref()
    }

    /// Returns the size of its files, or about that of its complete pixels.
    pub(super) fn bytes(&self) -> u64 {
        let candidates = self.spec.candidate_counts().into_iter().max().unwrap_or(1);
        let numbers = self.record.pixels * self.spec.optimizers.len() * (6 * candidates + 12);
        if self.bytes > 0 { self.bytes } else { 8 * numbers as u64 }
    }
}

/// Returns whether a diagram has a name, or took at least `dear` to compute.
pub(super) fn is_dear(record: &KeptRecord, dear: Duration) -> bool {
    record.name.is_some() || record.worked >= dear
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
    pub(super) const FILE: &'static str = "limits.ron";

    /// Reads the limits in a folder of diagrams; `None` if none were stored. Limits that cannot be meant are refused.
    pub(super) fn read(root: &Path) -> Result<Option<Limits>, String> {
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

    pub(super) fn write(self, root: &Path) -> io::Result<()> {
        std::fs::create_dir_all(root)?;
        let text = ron::to_string(&self).expect("limits hold no value that RON cannot express");
        write_file(&root.join(Self::FILE), Overwrite::Yes, text.as_bytes())
    }
}
