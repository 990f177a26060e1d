//! The presets to choose from: built-in ones, the user's own, and recent files.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use egui::Context;
use valleyscope_experiments::preset::{Library, PresetError};

/// One of the user's own presets.
#[derive(Debug)]
pub(super) struct OwnPreset {
    pub title: String,
    /// The preset's description, or the reason why it is invalid.
    pub about: Result<String, String>,
    pub path: PathBuf,
    /// The preset's kind, if it can be read.
    pub kind: Option<&'static str>,
}

/// The user's own presets, and recent files.
pub(super) struct PresetCatalog {
    library: Library,
    own: Result<Vec<OwnPreset>, String>,
    /// The recent files, the newest first.
    recent: Vec<PathBuf>,
    reading: Option<Receiver<Result<Vec<OwnPreset>, String>>>,
}

const MOST_RECENT_FILES: usize = 10;

impl PresetCatalog {
    pub(super) fn new(library: Library) -> PresetCatalog {
        PresetCatalog { library, own: Ok(Vec::new()), recent: Vec::new(), reading: None }
    }

    /// Returns the folder of the user's own presets.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.library.folder()
    }

    /// Reads the user's own presets again, in the background.
    pub(super) fn refresh(&mut self, ctx: &Context) {
        let (library, ctx) = (self.library.clone(), ctx.clone());
        let (sender, receiver) = channel();
        self.reading = Some(receiver);
        std::thread::spawn(move || {
            // A newer reading may have replaced the receiver.
            let _ = sender.send(read(&library).map_err(|error| error.to_string()));
            ctx.request_repaint();
        });
    }

    pub(super) fn poll(&mut self) {
        if let Some(own) = self.reading.as_ref().and_then(|reading| reading.try_recv().ok()) {
            self.own = own;
            self.reading = None;
        }
    }

    /// Returns the user's own presets, or why they can't be listed.
    pub(super) fn own(&self) -> &Result<Vec<OwnPreset>, String> {
        &self.own
    }

    pub(super) fn recent(&self) -> &[PathBuf] {
        &self.recent
    }

    /// Restores the list of recent files.
    pub(super) fn restore_recent(&mut self, mut recent: Vec<PathBuf>) {
        recent.truncate(MOST_RECENT_FILES);
        self.recent = recent;
    }

    /// Moves a file to the top of the recent files.
    pub(super) fn add_recent(&mut self, path: &Path) {
        self.recent.retain(|recent| recent != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(MOST_RECENT_FILES);
    }

    /// Removes a missing file from the recent files.
    pub(super) fn remove_recent(&mut self, path: &Path) {
        self.recent.retain(|recent| recent != path);
    }
}

fn read(library: &Library) -> Result<Vec<OwnPreset>, PresetError> {
    let presets = library.user_presets()?.into_iter().map(|user| match user.preset {
        Ok(preset) => {
            let (title, about) = (preset.title().to_owned(), Ok(preset.description().to_owned()));
            OwnPreset { title, about, path: user.path, kind: Some(preset.kind()) }
        }
        Err(error) => OwnPreset { title: user.name, about: Err(error.to_string()), path: user.path, kind: None },
    });
    Ok(presets.collect())
}
