//! Presets by name: the built-in ones, and a user's own in a folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use valleyscope_engine::identifier::folded;

use super::read::PresetError;
use super::{Preset, read};

/// The built-in presets together with the user's own.
#[derive(Clone, Debug)]
pub struct Library {
    /// The folder of the user's own presets, which is created when the first is saved.
    folder: Option<PathBuf>,
}

/// A preset, its text, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub preset: Preset,
    /// The text of the file, with its comments.
    pub text: String,
    pub source: PresetSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetSource {
    BuiltIn(&'static str),
    User { name: String, path: PathBuf },
    File(PathBuf),
}

/// One of the user's own presets.
#[derive(Debug)]
pub struct UserPreset {
    pub name: String,
    pub path: PathBuf,
    /// The preset, or why it cannot be read: broken ones are listed too.
    pub preset: Result<Preset, PresetError>,
}

const EXTENSION: &str = "ron";

impl Library {
    /// Returns the library with the user's presets in the platform's folder for settings.
    pub fn open() -> Library {
        let folder =
            directories::ProjectDirs::from("", "", "valleyscope").map(|dirs| dirs.config_dir().join("presets"));
        Library { folder }
    }

    /// Returns the library with the user's presets in `folder`.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Library {
        Library { folder: Some(folder.into()) }
    }

    /// Returns the folder of the user's presets, which may not exist yet.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the user's own presets by name.
    pub fn user_presets(&self) -> Result<Vec<UserPreset>, PresetError> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let failed = |source| PresetError::ReadFolder { folder: folder.clone(), source };
        let files = match std::fs::read_dir(folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut presets = Vec::new();
        for file in files {
            let path = file.map_err(failed)?.path();
            let name = path.file_stem().and_then(OsStr::to_str).map(str::to_owned);
            if let Some(name) = name
                && path.extension() == Some(OsStr::new(EXTENSION))
                && !name.starts_with('.')
            {
                presets.push(UserPreset { name, preset: Preset::read(&path), path });
            }
        }
        presets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(presets)
    }

    /// Loads the preset that a name or a path refers to: an existing file; else a built-in preset; else one of the
    /// user's own; else one with this name or this title, up to what [`folded`] leaves out.
    pub fn load(&self, name_or_file: &OsStr) -> Result<Loaded, PresetError> {
        let path = Path::new(name_or_file);
        let looks_like_path = path.components().count() > 1 || path.extension() == Some(OsStr::new(EXTENSION));
        let name = name_or_file.to_string_lossy();
        if path.exists() && (looks_like_path || !path.is_dir()) {
            return Library::load_file(path);
        }
        if let Some(found) = built_ins().iter().find(|built_in| built_in.name == name) {
            return Ok(built_in(found));
        }
        let own = |name: String, path: PathBuf| {
            let text = read::text_of_plain_file(&path)?;
            loaded(text, &path.clone(), PresetSource::User { name, path })
        };
        if let Some(path) = self.path_of(&name).filter(|path| path.exists()) {
            return own(name.into_owned(), path);
        }
        let wanted = folded(&name);
        let is_meant =
            |name: &str, preset: &Preset| !wanted.is_empty() && [name, preset.title()].map(folded).contains(&wanted);
        if let Some(found) = built_ins().iter().find(|it| is_meant(it.name, &it.preset)) {
            return Ok(built_in(found));
        }
        let mut others = self.user_presets().unwrap_or_default().into_iter();
        if let Some(found) = others.find(|it| it.preset.as_ref().is_ok_and(|preset| is_meant(&it.name, preset))) {
            return own(found.name, found.path);
        }
        if looks_like_path {
            return Library::load_file(path);
        }
        if path.is_dir() {
            return Err(PresetError::Folder { path: path.to_owned() });
        }
        Err(PresetError::NotFound { closest: self.closest(&name), name: name.into_owned() })
    }

    /// Loads the preset in a file that a user has named. It need not be a regular file: `/dev/stdin` is read to its
    /// end; a FIFO in a folder is refused.
    pub fn load_file(path: &Path) -> Result<Loaded, PresetError> {
        loaded(read::text_of_file(path)?, path, PresetSource::File(path.to_owned()))
    }

    /// Checks that one of the user's own presets can have this name, which must be valid as a file's name on every
    /// system and identify the file.
    pub fn check_name(name: &str) -> Result<(), PresetError> {
        fault_of_name(name).map_or(Ok(()), |reason| Err(PresetError::BadName { name: name.to_owned(), reason }))
    }

    fn path_of(&self, name: &str) -> Option<PathBuf> {
        Library::check_name(name).ok()?;
        Some(self.folder.as_ref()?.join(name).with_added_extension(EXTENSION))
    }

    /// Returns up to three names of which `name` may be a misspelling.
    fn closest(&self, name: &str) -> Vec<String> {
        let own = self.user_presets().unwrap_or_default().into_iter().map(|preset| preset.name);
        let mut ranked: Vec<(f64, String)> = built_ins()
            .iter()
            .map(|built_in| built_in.name.to_owned())
            .chain(own)
            .map(|candidate| (strsim::jaro_winkler(&candidate, &name.to_lowercase()), candidate))
            .filter(|&(likeness, _)| likeness > 0.75)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().take(3).map(|(_, candidate)| candidate).collect()
    }
}

fn built_in(found: &BuiltIn) -> Loaded {
    let (preset, text) = (found.preset.clone(), found.text.to_owned());
    Loaded { preset, text, source: PresetSource::BuiltIn(found.name) }
}

fn loaded(text: String, path: &Path, source: PresetSource) -> Result<Loaded, PresetError> {
    let preset = Preset::parse(&text, &path.display().to_string())?;
    Ok(Loaded { preset, text, source })
}

/// Returns the reason why a preset cannot have this name.
fn fault_of_name(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        return Some("it is empty");
    }
    if name.len() > 100 {
        return Some("it is longer than 100 bytes");
    }
    if name.contains(|c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c)) {
        return Some(r#"it holds a control character or one of / \ : * ? " < > |"#);
    }
    if name.starts_with(['.', ' ', '-']) || name.ends_with(['.', ' ']) {
        return Some("it begins with a dot, a space or a dash, or ends with a dot or a space");
    }
    if Path::new(name).extension() == Some(OsStr::new(EXTENSION)) {
        return Some("the extension .ron is added by itself");
    }
    if built_ins().iter().any(|built_in| built_in.name.eq_ignore_ascii_case(name)) {
        return Some("a built-in preset has this name");
    }
    None
}

/// A built-in preset.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text of the file, with its comments.
    pub text: &'static str,
    pub preset: Preset,
}

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../presets/", $name, ".ron")))),+]
    };
}

/// Returns the built-in lesson that follows the one of this title in teaching.
pub fn next_lesson(title: &str) -> Option<&'static Preset> {
    let lessons = built_ins().iter().map(|built_in| &built_in.preset);
    let lessons = lessons.filter(|preset| matches!(preset, Preset::Landscape(it) if !it.lesson.is_empty()));
    lessons.skip_while(|preset| preset.title() != title).nth(1)
}

/// Returns all built-in presets, in the best order for teaching.
pub fn built_ins() -> &'static [BuiltIn] {
    static BUILT_INS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
        let files = files![
            "lesson",
            "lesson-noise",
            "lesson-focus",
            "three-reasons",
            "opening",
            "fig1c",
            "saturation",
            "adam-wins",
            "signum-wins",
            "focus-wins",
            "side-by-side",
            "unrotated",
            "four-optimizers",
            "zoo",
            "own-rule",
            "own-landscape",
            "fig2a",
            "fig2b",
            "fig2b-unrotated",
            "fig2b-100d",
            "twelve",
            "rotation",
            "decay",
            "gamma",
            "narrowing-0",
            "narrowing-1",
            "narrowing-3",
            "narrowing-4",
            "minimum",
            "bend",
            "additive-noise",
            "heavy-tails",
            "mnist",
            "fig2cd",
            "mnist-optimizers",
            "gpt2-shakespeare",
            "fig3-cpu",
            "gpt2-optimizers",
            "gpt2-small",
            "fig3a",
            "fig3b",
            "fig3c",
            "fig3d",
            "weightd",
            "walltime",
            "fig3a-bf16",
            "fig3b-bf16",
            "fig3c-bf16",
            "fig3d-bf16",
            "weightd-bf16",
            "walltime-bf16",
        ];
        files
            .into_iter()
            .map(|(name, text)| {
                let preset = Preset::parse(text, name).expect("the tests parse every built-in preset");
                BuiltIn { name, text, preset }
            })
            .collect()
    });
    &BUILT_INS
}
