//! The library of diagrams: in memory, and in folders that survive the program.
//!
//! Each diagram is a folder of results (see [`diagram_folder`]), and the library lists them. `limits.ron`, beside the
//! folders, holds the limits of their number and size.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use valleyscope_engine::sweep::{Diagram, Precision, SweepSpec};
use valleyscope_experiments::preset::FormatVersion;

use super::diagram::TitledDiagram;
use super::diagram_folder::{
    self, Answer, Command, Coverage, DiagramDescription, FoundDiagram, LibraryThread, Limits, LoadedResults,
};
use crate::sweep::titles::as_changed;

/// The shortest time between two states of a diagram that are written while it is computed, and that time as a multiple
/// of the time that writing takes: races of adaptive sampling are large.
const INTERVAL: Duration = Duration::from_secs(2);
const WRITING_SHARE: u32 = 20;
/// The number of diagrams whose results stay in memory while they are not shown.
const MOST_IN_MEMORY: usize = 8;
const MEGABYTE: u64 = 1_000_000;

/// The results that were read of the diagram with a number; none where they cannot be read.
pub(super) type ReadResults = (u64, Option<(Diagram, Precision)>);

/// The diagrams, in the order of their creation.
pub(super) struct Library {
    thread: LibraryThread,
    /// True if diagrams are written to a folder.
    has_folder: bool,
    entries: BTreeMap<u64, LibraryEntry>,
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
        let (mut entries, mut folders) = (BTreeMap::new(), HashMap::new());
        for (number, FoundDiagram { folder, description, spec, picture, bytes }) in (1..).zip(found.diagrams) {
            let saved = description.coverage;
            folders.insert(number, (folder, saved));
            entries.insert(number, LibraryEntry { saved, bytes, picture, ..LibraryEntry::new(description, spec) });
        }
        let limits = found.limits.unwrap_or_default();
        let are_limits_refused = found.are_limits_refused;
        let mut library = Library {
            has_folder: root.is_some(),
            thread: LibraryThread::start(root, folders, context),
            entries,
            refused: found.refused,
            limits,
            stored_limits: limits,
            are_limits_refused,
            used: Vec::new(),
        };
        if found.limits.is_none() && !are_limits_refused {
            // Without known limits, no diagram is dropped.
            library.raise_limits();
        }
        library
    }

    /// Lists the numbers of the diagrams, the oldest first.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.entries.keys().copied().collect()
    }

    pub(super) fn get(&self, number: u64) -> Option<&LibraryEntry> {
        self.entries.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut LibraryEntry> {
        self.entries.get_mut(&number)
    }

    pub(super) fn results(&self, number: u64) -> Option<&TitledDiagram> {
        self.entries.get(&number)?.results.as_ref()
    }

    /// Returns the diagram of a sweep, in any colours.
    pub(super) fn find(&self, sweep: &SweepSpec) -> Option<u64> {
        let is_usable = |entry: &LibraryEntry| entry.fault.is_none() && entry.spec.is_alike_but_for_colors(sweep);
        self.entries.iter().rev().find(|(_, entry)| is_usable(entry)).map(|(number, _)| *number)
    }

    /// Returns whether all that is known of a diagram is on the disk, or will be before the program ends.
    pub(super) fn is_safe(&self, titled: &TitledDiagram) -> bool {
        let has_all =
            |entry: &LibraryEntry| entry.is_safe() && entry.description.coverage >= Coverage::of(&titled.diagram);
        self.has_folder
            && match self.entries.get(&titled.number) {
                Some(entry) => entry.is_safe(),
                None => self.alike(titled).is_some_and(|(_, entry)| has_all(entry)),
            }
    }

    /// Saves a state of a diagram. While it `is_running`, states are written every few seconds.
    pub(super) fn save(&mut self, titled: &TitledDiagram, worked: Duration, is_running: bool) {
        let coverage = Coverage::of(&titled.diagram);
        if !self.entries.contains_key(&titled.number) && !self.take_over_alike(titled) {
            return;
        }
        let order = self.entries.values().map(|entry| entry.description.order + 1).max().unwrap_or(0);
        let entry = self.entries.entry(titled.number).or_insert_with(|| {
            let description = DiagramDescription {
                version: FormatVersion,
                name: None,
                pinned: false,
                order,
                worked,
                coverage,
                precision: titled.precision,
                preset: Arc::clone(&titled.preset),
            };
            LibraryEntry::new(description, Arc::clone(titled.spec()))
        });
        let is_drawn = entry.next.is_some() || entry.texture.is_some() || entry.picture.is_some();
        let is_further = coverage > entry.description.coverage;
        let is_alike = entry.spec == *titled.spec() && entry.description.preset == titled.preset;
        let is_recent = is_running && entry.next.is_some_and(|next| Instant::now() < next);
        // Only the last state of a diagram waits in the thread behind one that is being saved.
        let waits = is_recent || (entry.is_being_saved && (is_running || !is_further));
        if waits || entry.fault.is_some() || (is_drawn && is_alike && !is_further) {
            return;
        }
        entry.begin_saving(titled, worked);
        if entry.is_refused {
            return;
        }
        entry.is_being_saved = true;
        self.thread.send(Command::Save(Box::new((titled.clone(), entry.description.clone()))));
    }

    fn alike(&self, titled: &TitledDiagram) -> Option<(u64, &LibraryEntry)> {
        let is_alike = |entry: &LibraryEntry| {
            entry.fault.is_none()
                && entry.description.precision == titled.precision
                && entry.spec.is_alike_but_for_colors(titled.spec())
        };
        self.entries.iter().find(|(_, entry)| is_alike(entry)).map(|(number, entry)| (*number, entry))
    }

    /// Replaces the entry of the same sweep with no more pixels, if there is one, by that of a diagram, which gets its
    /// name, its computing time and its folder, whose files stay until they are replaced. Returns false if there is one
    /// with more pixels, which makes the diagram needless.
    fn take_over_alike(&mut self, titled: &TitledDiagram) -> bool {
        let Some((number, entry)) = self.alike(titled) else { return true };
        if entry.description.coverage.pixels > titled.diagram.complete() {
            return false;
        }
        if let Some(entry) = self.entries.remove(&number) {
            self.used.retain(|used| *used != number);
            self.thread.send(Command::Renumber { from: number, to: titled.number });
            self.entries.insert(titled.number, entry.for_another());
        }
        true
    }

    /// Takes the results of a diagram that is no longer the present one.
    pub(super) fn put_back(&mut self, titled: TitledDiagram) {
        let number = titled.number;
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.results = Some(titled);
            self.touch(number);
        }
    }

    /// Takes the results of a diagram out of memory; begins to read them where they are not there.
    pub(super) fn take(&mut self, number: u64) -> Option<TitledDiagram> {
        self.used.retain(|used| *used != number);
        let taken = self.entries.get_mut(&number)?.results.take();
        if taken.is_none() {
            self.load(number);
        }
        taken
    }

    /// Reads the results of a diagram in the background, unless they are in memory. Whether it is loading then states
    /// whether [`Library::poll`] will return it.
    pub(super) fn load(&mut self, number: u64) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        if entry.results.is_none() && entry.fault.is_none() && !entry.is_loading {
            entry.is_loading = self.thread.send(Command::Load(number, Arc::clone(&entry.spec)));
        }
        self.touch(number);
    }

    /// Makes a diagram the last used one, and drops the results of others from memory that can be read again.
    fn touch(&mut self, number: u64) {
        self.used.retain(|used| *used != number);
        self.used.push(number);
        while self.used.len() > MOST_IN_MEMORY {
            let is_read_again = |number: &u64| {
                let entry = self.entries.get(number);
                let is_written = |entry: &LibraryEntry| {
                    let known = entry.results.as_ref().map(|titled| Coverage::of(&titled.diagram));
                    entry.saved >= known.unwrap_or_default().max(entry.description.coverage)
                };
                entry.is_none_or(|entry| self.has_folder && entry.fault.is_none() && is_written(entry))
            };
            let Some(index) = self.used.iter().position(is_read_again) else { return };
            let oldest = self.used.remove(index);
            if let Some(entry) = self.entries.get_mut(&oldest) {
                entry.results = None;
            }
        }
    }

    /// Changes the description of a diagram.
    pub(super) fn describe(&mut self, number: u64, change: impl FnOnce(&mut DiagramDescription)) {
        if let Some(entry) = self.entries.get_mut(&number) {
            change(&mut entry.description);
            self.thread.send(Command::Describe(number, Box::new(entry.description.clone())));
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        if self.entries.remove(&number).is_some() {
            self.used.retain(|used| *used != number);
            self.thread.send(Command::Remove(number));
        }
    }

    /// Returns the number and the total size, in bytes, of the diagrams.
    pub(super) fn taken(&self) -> (usize, u64) {
        (self.entries.len(), self.entries.values().map(LibraryEntry::bytes).fold(0, u64::saturating_add))
    }

    /// Returns the diagram that is to make room where the limits are exceeded: one that was computed in less than
    /// `dear` and has no name before others, and the oldest of these. Those in use and those that are pinned stay.
    pub(super) fn surplus(&self, in_use: &HashSet<u64>, dear: Duration) -> Option<u64> {
        let (count, bytes) = self.taken();
        let has_room = count <= self.limits.diagrams && bytes <= self.limits.megabytes.saturating_mul(MEGABYTE);
        if has_room || self.are_limits_refused {
            return None;
        }
        let free = self.entries.iter().filter(|(number, entry)| !entry.description.pinned && !in_use.contains(number));
        let first = free.min_by_key(|(number, entry)| (entry.is_dear(dear), **number));
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
            self.thread.send(Command::StoreLimits(self.limits));
        }
    }

    /// Returns what was read since the last call. Adds failures to report, each with a title.
    pub(super) fn poll(&mut self, failures: &mut Vec<(&'static str, String)>) -> Vec<ReadResults> {
        let mut read = Vec::new();
        for (number, answer) in self.thread.answers().collect::<Vec<_>>() {
            let name = self.entries.get(&number).map_or_else(String::new, LibraryEntry::title);
            let entry = self.entries.get_mut(&number);
            let mut failed = |title, text| failures.push((title, text));
            match answer {
                Answer::Drawn(picture) => {
                    if let Some(entry) = entry {
                        entry.picture = Some(picture);
                        entry.is_being_saved &= self.has_folder;
                    }
                }
                Answer::Saved { coverage, bytes, took } => {
                    if let Some(entry) = entry {
                        (entry.saved, entry.bytes, entry.is_being_saved) = (coverage, bytes, false);
                        entry.next = entry.next.max(Some(Instant::now() + took * WRITING_SHARE));
                    }
                }
                Answer::NotSaved(reason) => {
                    if let Some(entry) = entry {
                        (entry.is_refused, entry.is_being_saved) = (true, false);
                    }
                    let text = format!(
                        "{reason}\n\n“{name}” stays in this window, but the next start may not have it. Make the folder \
                         writable or make room on its disk, and start again; or export the whole result as NPZ."
                    );
                    failed("A diagram is not kept on the disk", text);
                }
                Answer::Loaded(LoadedResults { diagram, precision, lost_races }) => {
                    if let Some(entry) = entry {
                        // It may be less than the description states.
                        (entry.saved, entry.is_loading) = (Coverage::of(&diagram), false);
                        entry.description.coverage = entry.saved;
                    }
                    if let Some(reason) = lost_races {
                        let text =
                            format!("{reason}\n\nThe pixels of “{name}” that are not decided are computed anew.");
                        failed("A part of a kept diagram can't be read", text);
                    }
                    read.push((number, Some((diagram, precision))));
                }
                Answer::NotLoaded(reason) => {
                    let text = format!("{reason}\n\nThe files of “{name}” are left as they are.");
                    if let Some(entry) = entry {
                        (entry.fault, entry.is_loading) = (Some(reason), false);
                    }
                    failed("A kept diagram can't be read", text);
                    read.push((number, None));
                }
                Answer::Failed(title, text) => failed(title, text),
            }
        }
        read
    }
}

/// A diagram of the library.
pub(super) struct LibraryEntry {
    /// The coverage is that of the state that was last given to the thread, or that was found on the disk.
    pub description: DiagramDescription,
    pub spec: Arc<SweepSpec>,
    /// The results, where they are in memory and the diagram is not shown in place of the present one.
    results: Option<TitledDiagram>,
    pub is_loading: bool,
    /// The pixels and runs on the disk.
    saved: Coverage,
    bytes: u64,
    picture: Option<ColorImage>,
    texture: Option<TextureHandle>,
    /// The reason why its results cannot be read.
    pub fault: Option<String>,
    /// True once its results could not be written.
    is_refused: bool,
    /// The time from which another state is written while the diagram is computed; none before the first.
    next: Option<Instant>,
    is_being_saved: bool,
    /// The title made from its settings.
    made_title: OnceCell<String>,
}

impl LibraryEntry {
    fn new(description: DiagramDescription, spec: Arc<SweepSpec>) -> LibraryEntry {
        LibraryEntry {
            description,
            spec,
            results: None,
            is_loading: false,
            saved: Coverage::default(),
            bytes: 0,
            picture: None,
            texture: None,
            fault: None,
            is_refused: false,
            next: None,
            is_being_saved: false,
            made_title: OnceCell::new(),
        }
    }

    /// Returns the name that the user gave, or else a title made from the settings.
    pub(super) fn title(&self) -> String {
        let made = || as_changed((*self.description.preset).clone(), (*self.spec).clone()).title;
        self.description.name.clone().unwrap_or_else(|| self.made_title.get_or_init(made).clone())
    }

    /// Returns the diagram without its results.
    pub(super) fn empty(&self, number: u64) -> TitledDiagram {
        let (preset, sweep) = (Arc::clone(&self.description.preset), (*self.spec).clone());
        TitledDiagram { worked: self.description.worked, ..TitledDiagram::empty(number, preset, sweep) }
    }

    /// Takes the state of the diagram that is about to be written.
    fn begin_saving(&mut self, titled: &TitledDiagram, worked: Duration) {
        // A result that is opened from a file states no computing time.
        self.description.worked = worked.max(self.description.worked);
        self.description.coverage = Coverage::of(&titled.diagram);
        self.description.preset = Arc::clone(&titled.preset);
        self.spec = Arc::clone(titled.spec());
        self.next = Some(Instant::now() + INTERVAL);
        self.made_title = OnceCell::new();
    }

    /// Returns the entry for another diagram of the same sweep, which is still to be written in place of this one.
    fn for_another(self) -> LibraryEntry {
        let description = DiagramDescription { coverage: Coverage::default(), ..self.description };
        LibraryEntry { bytes: self.bytes, ..LibraryEntry::new(description, self.spec) }
    }

    /// Returns whether all that was computed of it is on the disk, or will be before the program ends.
    fn is_safe(&self) -> bool {
        self.fault.is_none() && !self.is_refused
    }

    pub(super) fn is_complete(&self) -> bool {
        self.part() == 1.0
    }

    pub(super) fn part(&self) -> f32 {
        let [rows, columns] = self.spec.shape();
        self.description.coverage.pixels as f32 / (rows * columns) as f32
    }

    /// Returns the small picture, once it was drawn.
    pub(super) fn texture(&mut self, context: &Context) -> Option<&TextureHandle> {
        if let Some(picture) = self.picture.take() {
            let picture = Arc::new(picture);
            match &mut self.texture {
                Some(texture) => texture.set(picture, TextureOptions::LINEAR),
                None => self.texture = Some(context.load_texture("thumbnail", picture, TextureOptions::LINEAR)),
            }
        }
        self.texture.as_ref()
    }

    /// Returns the size of its files, or about that of its complete pixels.
    fn bytes(&self) -> u64 {
        let candidates = self.spec.candidate_counts().into_iter().max().unwrap_or(1);
        let numbers = self.description.coverage.pixels * self.spec.optimizers.len() * (6 * candidates + 12);
        if self.bytes > 0 { self.bytes } else { 8 * numbers as u64 }
    }

    /// Returns whether it has a name, or took at least `dear` to compute.
    pub(super) fn is_dear(&self, dear: Duration) -> bool {
        self.description.name.is_some() || self.description.worked >= dear
    }
}
