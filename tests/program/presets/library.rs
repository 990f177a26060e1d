//! Preset files, and the user's own presets by name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use valleyscope_experiments::preset::{Library, Preset, PresetError, PresetSource, built_ins};
use valleyscope_runs::atomic_file::Overwrite;

use super::refusals::GOOD;

fn fixture() -> (tempfile::TempDir, Library, Preset) {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::in_folder(folder.path().join("settings/presets"));
    (folder, library, built_ins()[1].preset.clone())
}

/// Saves a preset among the user's own, as the app does.
fn save(library: &Library, name: &str, preset: &Preset, overwrite: Overwrite) -> Result<PathBuf, PresetError> {
    let folder = library.folder().expect("the library has a folder");
    fs::create_dir_all(folder).expect("the folder can be made");
    let path = folder.join(format!("{name}.ron"));
    preset.write(&path, overwrite).map(|()| path)
}

#[test]
fn a_preset_is_saved_listed_and_loaded() {
    let (_folder, library, preset) = fixture();
    assert!(library.user_presets().unwrap().is_empty());
    let path = save(&library, "my valley", &preset, Overwrite::No).unwrap();
    assert_eq!(path.parent(), library.folder());
    let listed = library.user_presets().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), &listed[0].path), ("my valley", &path));
    assert_eq!(listed[0].preset.as_ref().unwrap(), &preset);
    let loaded = library.load(OsStr::new("my valley")).unwrap();
    assert_eq!(loaded.preset, preset);
    assert_eq!(loaded.source, PresetSource::User { name: "my valley".to_owned(), path: path.clone() });
    assert_eq!(library.load(path.as_os_str()).unwrap().source, PresetSource::File(path));
}

#[test]
fn nothing_is_overwritten_unless_requested() {
    let (_folder, library, preset) = fixture();
    let other = built_ins()[2].preset.clone();
    let path = save(&library, "mine", &preset, Overwrite::No).unwrap();
    let error = save(&library, "mine", &other, Overwrite::No).unwrap_err();
    assert!(matches!(&error, PresetError::Exists { path: existing } if *existing == path), "{error}");
    assert_eq!(Preset::read(&path).unwrap(), preset);
    save(&library, "mine", &other, Overwrite::Yes).unwrap();
    assert_eq!(Preset::read(&path).unwrap(), other);
    // No temporary file stays behind.
    assert_eq!(fs::read_dir(library.folder().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_preset_that_could_not_be_read_again_is_not_saved() {
    let (folder, library, _) = fixture();
    let Preset::Landscape(mut broken) = built_ins()[1].preset.clone() else { panic!("a simulation") };
    broken.spec_mut().optimizers[1].id = broken.spec().optimizers[0].id;
    let error = save(&library, "mine", &Preset::Landscape(broken), Overwrite::No).unwrap_err();
    assert!(error.to_string().contains("spec.optimizers[1].id"), "{error}");
    assert!(!folder.path().join("settings/presets/mine.ron").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    let error = built_ins()[0].preset.write(&missing.join("x.ron"), Overwrite::No).unwrap_err().to_string();
    assert!(error.contains(&format!("no folder {}", missing.display())), "{error}");
    assert!(error.contains("another folder"), "{error}");
}

#[test]
fn a_users_broken_preset_is_listed_with_its_fault() {
    let (_folder, library, preset) = fixture();
    let path = save(&library, "a", &preset, Overwrite::No).unwrap();
    fs::write(path.with_file_name("b.ron"), "Landscape(version: 9)").unwrap();
    fs::write(path.with_file_name("notes.txt"), "no preset").unwrap();
    let listed = library.user_presets().unwrap();
    assert_eq!(listed.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(listed[1].preset.as_ref().unwrap_err().to_string().contains("newer"));
}

#[test]
fn names_that_cannot_be_files_everywhere_are_refused() {
    Library::check_name("my valley").unwrap();
    for name in ["", " ", "a/b", "a\\b", "..", ".hidden", "what?", "x.ron", "fig1c", "Fig1C", "line\nbreak", "-x", "x."]
    {
        let error = Library::check_name(name).unwrap_err();
        assert!(matches!(error, PresetError::BadName { .. }), "{name}: {error}");
    }
}

#[test]
fn a_name_means_a_file_then_a_built_in_preset_then_a_users_own() {
    let (folder, library, preset) = fixture();
    let built_in = library.load(OsStr::new("fig1c")).unwrap();
    assert_eq!(built_in.source, PresetSource::BuiltIn("fig1c"));
    assert!(built_in.text.starts_with("//"));
    let path = folder.path().join("fig1c");
    preset.write(&path, Overwrite::No).unwrap();
    assert_eq!(library.load(path.as_os_str()).unwrap().source, PresetSource::File(path));
    // A name that ends in .ron or has a separator is a file, and its absence is reported as such.
    for missing in ["none.ron", "fig1c.ron", "none/fig1c"] {
        let error = library.load(OsStr::new(missing)).unwrap_err();
        assert!(matches!(error, PresetError::Read { .. }), "{missing}: {error}");
    }
    let error = library.load(OsStr::new("saturaton")).unwrap_err().to_string();
    assert!(error.contains("`saturaton`") && error.contains("`saturation`"), "{error}");
    let error = library.load(OsStr::new("qqq")).unwrap_err().to_string();
    assert!(!error.contains("did you mean") && error.contains("presets list"), "{error}");
}

#[test]
fn files_that_are_no_presets_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let expect = |path: &Path, words: &[&str]| {
        let error = Preset::read(path).unwrap_err().to_string();
        let path = path.display().to_string();
        for word in words.iter().chain([&path.as_str()]) {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    };
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    expect(folder.path(), &["is a folder"]);
    expect(&folder.path().join("none.ron"), &["cannot read"]);
    expect(&file("png.ron", b"\x89PNG\r\n\x1a\n\0\0"), &["not a text file", "0x89", "line 1"]);
    expect(&file("utf16.ron", b"\xff\xfeL\0a\0"), &["UTF-16", "UTF-8"]);
    expect(&file("zeros.ron", &[0; 100]), &["1:1"]);
    expect(&file("empty.ron", b""), &["1:1", "no preset"]);
    expect(&file("windows.ron", GOOD.replace('\n', "\r\n").replace("gamma: 0.2", "gamma: 20").as_bytes()), &["12:64"]);
    #[cfg(unix)]
    expect(Path::new("/dev/zero"), &["expected a plain file, found a device"]);
    Preset::read(&file("crlf.ron", GOOD.replace('\n', "\r\n").as_bytes())).unwrap();
}
