//! The file that holds the session between two starts, with damaged files and bad sessions.

use std::fs;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;

use egui::Theme;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, SnapshotOptions};
use tempfile::TempDir;
use valleyscope::app::shell::session::{SessionTexts, Store};
use valleyscope::player::PlayerCommand;
use valleyscope_engine::simulation::ParticleId;

use super::canvas_space::{Shown, Stage, advance_to, install_font, render_state, three_optimizers};

const KEY: &str = "valleyscope.session";

fn store(folder: &TempDir) -> Store {
    Store::new(folder.path().join("app.ron"))
}

fn stored(path: PathBuf) -> SessionTexts {
    ron::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn session(text: &str) -> SessionTexts {
    SessionTexts::from([(KEY.to_owned(), text.to_owned())])
}

#[test]
fn a_missing_store_is_not_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("not/yet/app.ron"));
    assert_eq!(store.restore(), Default::default());
    store.keep(&session("mine")).unwrap();
    assert_eq!(store.restore().1, None);
    assert_eq!(stored(store.path().to_owned())[KEY], "mine");
}

#[test]
fn a_session_that_crashed_the_window_is_set_aside_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    store.keep(&session("bad")).unwrap();
    let aside = store.set_aside("index out of bounds").unwrap().unwrap();
    assert_eq!(stored(aside.clone())[KEY], "bad");
    assert!(!stored(store.path().to_owned()).contains_key(KEY), "the next start does not find it");
    let (title, text) = store.restore().1.unwrap();
    assert_eq!(title, "The last session was not restored");
    assert!(text.contains("index out of bounds") && text.contains(&*aside.to_string_lossy()), "{text}");
    assert_eq!(store.restore().1, None);

    fs::rename(aside, store.path()).unwrap();
    assert_eq!(store.restore().1, None);
    assert_eq!(stored(store.path().to_owned())[KEY], "bad", "it can be tried again");
}

#[test]
fn files_set_aside_before_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let asides = ["first", "second", "third"].map(|text| {
        store.keep(&session(text)).unwrap();
        store.set_aside("again").unwrap().unwrap()
    });
    assert_eq!(asides.map(|aside| stored(aside)[KEY].clone()), ["first", "second", "third"]);
    fs::remove_file(store.path()).unwrap();
    assert_eq!(store.set_aside("again").unwrap(), None, "there is none");
}

#[test]
fn a_damaged_store_is_set_aside_and_the_session_of_the_start_before_restored() {
    for damaged in [&b"{\"valleyscope.session\": \"cut"[..], b"\xff\xfe\x00", b""] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        fs::write(store.path(), damaged).unwrap();
        let (texts, report) = store.restore();
        let (_, text) = report.unwrap();
        assert!(text.contains("cannot be read") && text.contains("app.unreadable.ron"), "{text}");
        assert!(text.contains("starts with a built-in preset") && texts.is_empty(), "{text}");
        assert_eq!(fs::read(folder.path().join("app.unreadable.ron")).unwrap(), damaged);
        assert_eq!(store.restore(), Default::default());

        for texts in [["first", "last of the first"], ["second", "last of the second"]] {
            store.restore();
            texts.iter().for_each(|text| store.keep(&session(text)).unwrap());
        }
        fs::write(store.path(), damaged).unwrap();
        let (texts, report) = store.restore();
        let (_, text) = report.unwrap();
        assert_eq!(texts[KEY], "last of the first");
        assert!(text.contains("app.unreadable-2.ron") && text.contains("app.previous.ron"), "{text}");
        assert_eq!(stored(folder.path().join("app.previous.ron"))[KEY], "last of the first", "it is the last good one");
        store.keep(&session("third")).unwrap();
        assert_eq!(store.restore(), (session("third"), None));
    }
}

#[test]
fn a_start_without_a_session_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["good", "bad"] {
        store(&folder).restore();
        store(&folder).keep(&session(text)).unwrap();
    }
    store(&folder).set_aside("index out of bounds").unwrap();
    store(&folder).restore();
    store(&folder).keep(&session("new")).unwrap();
    assert_eq!(stored(folder.path().join("app.previous.ron"))[KEY], "good");
}

#[cfg(unix)]
#[test]
fn a_fifo_in_place_of_the_file_is_set_aside_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    for text in ["first", "second"] {
        store.restore();
        store.keep(&session(text)).unwrap();
    }
    fs::remove_file(store.path()).unwrap();
    assert!(Command::new("mkfifo").arg(store.path()).status().unwrap().success());
    let (texts, report) = store.restore();
    assert!(!store.path().exists(), "it blocks no later start");
    let (_, text) = report.unwrap();
    assert!(text.contains("expected a plain file, found a FIFO"), "{text}");
    assert_eq!(texts[KEY], "first");
}

#[cfg(unix)]
#[test]
fn a_session_that_does_not_fit_on_the_disk_leaves_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    store(&folder).keep(&session("good")).unwrap();
    // A limit of 16 KiB or less on the size of files imitates a full disk. It needs a separate process.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\" --exact session_store::on_a_full_disk --ignored";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    let output = shell.env("FOLDER", folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(store(&folder).restore(), (session("good"), None));
}

#[test]
#[ignore = "the test above starts it in a process of its own"]
fn on_a_full_disk() {
    let path = PathBuf::from(std::env::var_os("FOLDER").unwrap()).join("app.ron");
    let error = Store::new(path).keep(&session(&"new".repeat(100_000))).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
}

// Compares pictures of panels with those in `tests/snapshots`.
//
// They are drawn by Mesa's Vulkan driver for the processor. `UPDATE_SNAPSHOTS=true cargo test --test window snapshots`
// makes them anew after a wanted change; look at them before they are committed.

/// Makes panels whose pictures are drawn.
pub fn harness(shown: Shown, theme: Theme, size: [f32; 2]) -> Harness<'static, Stage> {
    let graphics = render_state();
    let mut stage = Stage::new(three_optimizers(30), shown, Some(&graphics));
    stage.document.view.follow = false;
    Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_context_setup(install_font)
        .renderer(WgpuTestRenderer::from_render_state(graphics))
        .build_ui_state(|ui: &mut egui::Ui, stage: &mut Stage| stage.frame(ui), stage)
}

fn compare(harness: &mut Harness<'_, Stage>, name: &str) {
    harness.snapshot_options(name, &SnapshotOptions::new().threshold(1.0).max_failed_pixels(10));
}

#[test]
fn landscape_with_three_ensembles() {
    let mut harness = harness(Shown::Landscape, Theme::Dark, [560.0, 420.0]);
    harness.state().player.send(PlayerCommand::TrailLength(60));
    advance_to(&mut harness, 150);
    compare(&mut harness, "landscape");
}

#[test]
fn formulas_of_a_focus_particle() {
    let mut harness = harness(Shown::Formulas, Theme::Light, [420.0, 520.0]);
    // One step only, as results keep the places that the widest numbers so far have left.
    advance_to(&mut harness, 39);
    let particle = ParticleId { optimizer: 2, particle: 4 };
    harness.state_mut().live.selected = Some(particle);
    harness.state().player.send(PlayerCommand::Select(Some(particle)));
    advance_to(&mut harness, 40);
    compare(&mut harness, "formulas");
}

#[test]
fn diagnostics_after_some_steps() {
    let mut harness = harness(Shown::Diagnostics, Theme::Light, [520.0, 560.0]);
    advance_to(&mut harness, 150);
    compare(&mut harness, "diagnostics");
}
