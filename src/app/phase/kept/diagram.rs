//! A kept diagram: its description, and its results while they are in memory.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use valleyscope_engine::sweep::SweepSpec;

use super::files::FoundDiagram;
use super::record::KeptRecord;
use crate::app::phase::titled_diagram::TitledDiagram;
use crate::figure::as_changed;

/// A kept diagram.
pub(in crate::app::phase) struct KeptDiagram {
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
    pub(in crate::app::phase) fn title(&self) -> String {
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

    pub(in crate::app::phase) fn is_loading(&self) -> bool {
        self.is_loading
    }

    /// Returns whether all that was computed of it is on the disk, or will be before the program ends.
    pub(super) fn is_safe(&self) -> bool {
        self.fault.is_none() && !self.is_refused
    }

    pub(in crate::app::phase) fn is_complete(&self) -> bool {
        let [rows, columns] = self.spec.shape();
        self.record.pixels == rows * columns
    }

    /// Returns the computed part of its pixels.
    pub(in crate::app::phase) fn part(&self) -> f32 {
        let [rows, columns] = self.spec.shape();
        self.record.pixels as f32 / (rows * columns) as f32
    }

    /// Returns the small picture, once it was drawn.
    pub(in crate::app::phase) fn texture(&mut self, context: &Context) -> Option<&TextureHandle> {
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
pub(in crate::app::phase) fn is_dear(record: &KeptRecord, dear: Duration) -> bool {
    record.name.is_some() || record.worked >= dear
}
