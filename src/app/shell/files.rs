//! Opens and saves files without blocking the window: separate threads wait for dialogs and disks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Context, Key, TextEdit};
use valleyscope_experiments::preset::{Preset, PresetError};
use valleyscope_machine::{Detection, has_portal};
use valleyscope_runs::RunFolder;
use valleyscope_runs::atomic_file::{Overwrite, write_file};

use super::editor::PresetDraft;
use super::jobs::Job;
use super::messages;
use super::messages::Question;
use crate::app::landscape::animation_export::AnimationJob;
use crate::app::phase::RawPlan;
use crate::player::RecordedCloud;
use crate::sweep::result::SweepResult;

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum FileEvent {
    Opened {
        path: PathBuf,
        content: OpenedContent,
    },
    Saved {
        path: PathBuf,
        content: FileContent,
    },
    Data(PathBuf),
    Runs {
        follows: bool,
        folder: PathBuf,
    },
    /// An operation failed, for this reason.
    Failed {
        title: String,
        reason: String,
    },
    /// The file to open no longer exists.
    Gone(PathBuf),
}

/// The purpose of a chosen path.
#[derive(Clone, Debug)]
pub enum Purpose {
    Open,
    Save {
        content: FileContent,
        suggested_name: String,
    },
    /// The folder of a training's data, with the dialog's initial folder.
    Data(Option<PathBuf>),
    /// A folder of runs from elsewhere, which are followed as they are written, or imported once.
    Runs {
        follows: bool,
    },
}

impl Purpose {
    /// The title of the dialog, the name of the path field, and the text of the button.
    fn texts(&self) -> [&'static str; 3] {
        match self {
            Purpose::Open => ["Open a preset, a result or a recording", "Path of the file", "Open"],
            Purpose::Save { content: FileContent::Raw(_), .. } => {
                ["A folder for the raw arrays", "Path of the folder", "Export"]
            }
            Purpose::Save { .. } => ["Save", "Path of the file", "Save"],
            Purpose::Data(_) => ["The folder with the data to learn from", "Path of the folder", "Use"],
            Purpose::Runs { follows } => {
                let button = if *follows { "Follow" } else { "Import" };
                ["A folder with runs of other programs or machines", "Path of the folder", button]
            }
        }
    }
}

enum Answer {
    Chosen {
        purpose: Purpose,
        path: Option<PathBuf>,
        waited: Duration,
    },
    /// An existing file, and the content that would replace it.
    Exists(PathBuf, FileContent),
    Ended(Vec<FileEvent>),
}

#[derive(Default)]
pub(crate) struct Files {
    /// Uses the system's file dialogs if true; else paths are typed.
    native_dialogs: bool,
    /// The initial folder of dialogs about presets.
    folder: Option<PathBuf>,
    /// The folder of the last export.
    exported_to: Option<PathBuf>,
    context: Context,
    jobs: Vec<Job<Answer>>,
    /// The outcomes that have not been taken.
    events: Vec<FileEvent>,
    /// The purpose of a path that is typed because the system has no file dialog, and its text so far.
    entry: Option<(Purpose, String)>,
    /// An existing file, and the content that would replace it.
    replace: Option<(PathBuf, FileContent)>,
}

/// The shortest time in which a user can close a dialog; one that ends sooner was never shown.
const NEVER_SHOWN: Duration = Duration::from_millis(400);

impl Files {
    pub(crate) fn new(context: Context, native_dialogs: bool, folder: Option<PathBuf>) -> Files {
        Files { native_dialogs, folder, context, ..Files::default() }
    }

    /// Reads a preset, a sweep's result, recorded clouds or a run.
    pub(crate) fn open(&mut self, path: PathBuf) {
        self.in_background(move || match OpenedContent::read(&path, Preset::read) {
            Ok(content) => {
                Answer::Ended(vec![FileEvent::Opened { path: path.canonicalize().unwrap_or(path), content }])
            }
            Err(reason) => {
                let title = format!("{} was not opened", file_name(&path));
                let gone = (!path.exists()).then_some(FileEvent::Gone(path));
                Answer::Ended([FileEvent::Failed { title, reason }].into_iter().chain(gone).collect())
            }
        });
    }

    /// Writes a file; asks before it replaces one, unless `overwrite` allows it.
    pub(crate) fn save(&mut self, path: PathBuf, content: FileContent, overwrite: Overwrite) {
        self.in_background(move || match write(&path, &content, overwrite) {
            Ok(()) => Answer::Ended(vec![FileEvent::Saved { path: path.canonicalize().unwrap_or(path), content }]),
            Err(Refused::Exists) => Answer::Exists(path, content),
            Err(Refused::Failed(reason)) => {
                Answer::Ended(vec![FileEvent::Failed { title: format!("{} was not saved", file_name(&path)), reason }])
            }
        });
    }

    pub(crate) fn take_events(&mut self) -> Vec<FileEvent> {
        for ended in Job::take_ended(&mut self.jobs) {
            match ended {
                Ok(Answer::Chosen { purpose, path: Some(path), .. }) => self.chosen(purpose, path, Overwrite::Yes),
                Ok(Answer::Chosen { purpose, waited, .. }) if waited < NEVER_SHOWN => self.type_path(purpose),
                Ok(Answer::Chosen { .. }) => {}
                Ok(Answer::Exists(path, content)) => self.replace = Some((path, content)),
                Ok(Answer::Ended(events)) => self.events.extend(events),
                Err(failed) => {
                    let title = "A file was not opened or saved".to_owned();
                    self.events.push(FileEvent::Failed { title, reason: format!("{failed}.") });
                }
            }
        }
        for event in &self.events {
            if let FileEvent::Saved { path, content } = event
                && !matches!(content, FileContent::Preset(_))
            {
                self.exported_to = path.parent().map(Path::to_owned);
            }
        }
        std::mem::take(&mut self.events)
    }

    pub(crate) fn show(&mut self, ctx: &Context) {
        self.show_entry(ctx);
        self.show_replace(ctx);
    }

    pub(crate) fn ask(&mut self, purpose: Purpose) {
        if !self.native_dialogs || !has_native_dialogs() {
            return self.type_path(purpose);
        }
        let mut dialog = rfd::FileDialog::new();
        if let Some(folder) = self.folder_for(&purpose) {
            dialog = dialog.set_directory(folder);
        }
        self.in_background(move || {
            let asked = Instant::now();
            let dialog = dialog.set_title(purpose.texts()[0]);
            let path = match &purpose {
                Purpose::Open => dialog.add_filter("Presets, results, recordings", &["ron", "npz"]).pick_file(),
                Purpose::Save { content: FileContent::Raw(_), .. } | Purpose::Data(_) | Purpose::Runs { .. } => {
                    dialog.pick_folder()
                }
                Purpose::Save { suggested_name, .. } => {
                    let extension = extension(suggested_name);
                    let dialog = dialog.set_file_name(suggested_name);
                    match extension.is_empty() {
                        true => dialog.save_file(),
                        false => dialog.add_filter(extension.to_uppercase(), &[extension]).save_file(),
                    }
                }
            };
            Answer::Chosen { purpose, path, waited: asked.elapsed() }
        });
    }

    /// Chooses the initial folder of a dialog: that of the presets, or for an export that of the last one, at first the
    /// user's pictures or documents.
    fn folder_for(&self, purpose: &Purpose) -> Option<PathBuf> {
        let is_picture = match purpose {
            Purpose::Open | Purpose::Save { content: FileContent::Preset(_), .. } => {
                return self.folder.clone().filter(|folder| folder.is_dir());
            }
            Purpose::Data(Some(begin)) if begin.is_dir() => return Some(begin.clone()),
            Purpose::Save { content: FileContent::Animation(_), .. } => true,
            Purpose::Save { suggested_name, .. } => suggested_name.ends_with(".png"),
            Purpose::Data(_) | Purpose::Runs { .. } => false,
        };
        let user = directories::UserDirs::new();
        let usual = user.as_ref().and_then(|user| if is_picture { user.picture_dir() } else { user.document_dir() });
        let home = user.as_ref().map(directories::UserDirs::home_dir);
        let folders = [self.exported_to.as_deref(), usual, home];
        folders.into_iter().flatten().find(|folder| folder.is_dir()).map(Path::to_owned)
    }

    /// Handles a chosen path. `overwrite` is allowed if the dialog has already asked about replacing exactly this path.
    fn chosen(&mut self, purpose: Purpose, path: PathBuf, overwrite: Overwrite) {
        match purpose {
            Purpose::Open => self.open(path),
            // A dialog for a folder has not asked about the files in it.
            Purpose::Save { content: content @ FileContent::Raw(_), .. } => self.save(path, content, Overwrite::No),
            Purpose::Save { content, suggested_name } if path.extension().is_none() => {
                let path = path.with_extension(extension(&suggested_name));
                self.save(path, content, Overwrite::No);
            }
            Purpose::Save { content, .. } => self.save(path, content, overwrite),
            Purpose::Data(_) => self.events.push(FileEvent::Data(path)),
            Purpose::Runs { follows } => self.events.push(FileEvent::Runs { follows, folder: path }),
        }
        self.context.request_repaint();
    }

    fn type_path(&mut self, purpose: Purpose) {
        let name = match &purpose {
            Purpose::Open | Purpose::Data(_) | Purpose::Runs { .. } => "",
            Purpose::Save { suggested_name, .. } => suggested_name,
        };
        let folder = self.folder_for(&purpose).or_else(|| std::env::current_dir().ok());
        let path = folder.unwrap_or_default().join(name);
        self.entry = Some((purpose, path.display().to_string()));
    }

    fn show_entry(&mut self, ctx: &Context) {
        let Some((purpose, path)) = &mut self.entry else { return };
        let [title, what, action] = purpose.texts();
        let (mut go, mut cancel) = (false, false);
        let is_closed = messages::show_modal(ctx, "path entry", title, |ui| {
            ui.label(format!("{what}:"));
            let field = TextEdit::singleline(path).desired_width(f32::INFINITY).cursor_at_end(true);
            let field = ui.add(field).accessible_name(what);
            go = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if ui.memory(|memory| memory.focused().is_none()) && !go {
                field.request_focus();
            }
            ui.add_space(6.0);
            let [is_pressed, is_cancelled] = messages::decision_buttons(ui, action, "Cancel");
            (go, cancel) = (go || is_pressed, is_cancelled);
        });
        if cancel || is_closed {
            self.entry = None;
        } else if go && let Some((purpose, path)) = self.entry.take() {
            self.chosen(purpose, PathBuf::from(path.trim()), Overwrite::No);
        }
    }

    fn show_replace(&mut self, ctx: &Context) {
        let Some((path, content)) = &self.replace else { return };
        let name = path.display();
        let [heading, text] = match content {
            FileContent::Raw(_) => ["Replace the raw arrays?".to_owned(), format!("{name} holds raw arrays already.")],
            _ => [format!("Replace {}?", file_name(path)), format!("{name} exists already.")],
        };
        let text = &format!("{text} Replacing can't be undone.");
        let question =
            Question { id: "replace file", heading: &heading, text, yes: "Replace", no: "Keep what is there" };
        match (question.ask(ctx), self.replace.take()) {
            (Some(true), Some((path, content))) => self.save(path, content, Overwrite::Yes),
            (None, unanswered) => self.replace = unanswered,
            _ => {}
        }
    }

    fn in_background(&mut self, work: impl FnOnce() -> Answer + Send + 'static) {
        self.jobs.push(Job::start(&self.context, |_| work()));
    }
}

/// Returns the name of a file without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[derive(Clone, Debug)]
pub enum FileContent {
    Preset(Box<PresetDraft>),
    Bytes(Arc<Vec<u8>>),
    /// An animation that is drawn once its path is known.
    Animation(Arc<AnimationJob>),
    /// Raw arrays that are computed once their folder is known.
    Raw(RawPlan),
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> FileContent {
        FileContent::Bytes(Arc::new(bytes))
    }
}

/// Returns the extension of a file's name; empty for a folder of pictures.
fn extension(name: &str) -> String {
    Path::new(name).extension().unwrap_or_default().to_string_lossy().into_owned()
}

/// The reason why a file was not written.
enum Refused {
    Exists,
    Failed(String),
}

/// Writes a file; replaces an existing one only if `overwrite` allows it. The files of an animation and of raw arrays are
/// written later.
fn write(path: &Path, content: &FileContent, overwrite: Overwrite) -> Result<(), Refused> {
    let failed = |error: std::io::Error| Refused::Failed(format!("cannot write {}: {error}", path.display()));
    let bytes = match content {
        FileContent::Preset(draft) => {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            return draft.preset.write(path, overwrite).map_err(|error| match error {
                PresetError::Exists { .. } => Refused::Exists,
                other => Refused::Failed(other.to_string()),
            });
        }
        FileContent::Bytes(bytes) => bytes,
        FileContent::Animation(_) if overwrite == Overwrite::No && path.exists() => return Err(Refused::Exists),
        FileContent::Raw(plan) if overwrite == Overwrite::No && plan.has_files(path) => return Err(Refused::Exists),
        FileContent::Animation(_) | FileContent::Raw(_) => return Ok(()),
    };
    write_file(path, overwrite, bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Refused::Exists,
        _ => failed(error),
    })
}

/// The content of an opened file or folder, which one of the tabs shows.
#[derive(Clone, Debug)]
pub enum OpenedContent {
    Preset(Box<Preset>),
    Result(Box<SweepResult>),
    Recorded(Vec<RecordedCloud>),
    Run(RunFolder),
}

impl OpenedContent {
    /// Reads the sweep's result, the recorded clouds or the run at `path`, or else the preset by `preset`.
    pub(crate) fn read(
        path: &Path,
        preset: impl FnOnce(&Path) -> Result<Preset, PresetError>,
    ) -> Result<OpenedContent, String> {
        if RunFolder::is_at(path) {
            return RunFolder::open(path).map(OpenedContent::Run).map_err(|error| error.to_string());
        }
        if RecordedCloud::is_at(path) {
            return RecordedCloud::read(path).map(OpenedContent::Recorded).map_err(|error| error.to_string());
        }
        if SweepResult::is_at(path) {
            let result = SweepResult::open(path).map_err(|error| error.to_string())?;
            return Ok(OpenedContent::Result(Box::new(result)));
        }
        preset(path).map(|preset| OpenedContent::Preset(Box::new(preset))).map_err(|error| error.to_string())
    }
}

/// Detects whether the system has file dialogs. On Linux and similar systems the desktop's portal or the program zenity
/// provides them; without either, requesting a dialog fails silently. Other systems always have them.
pub(crate) fn has_native_dialogs() -> bool {
    !cfg!(all(unix, not(target_os = "macos"))) || has_portal() || Detection::Program("zenity").finds()
}
