//! Opening the window, and opening it again when the graphics fail.

use std::collections::HashMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use eframe::{NativeOptions, egui_wgpu};

use super::graphics::{self, Tried};
use super::icons;
use super::session;
use super::shell::{Aftermath, Options, Valleyscope};
use crate::preset::Loaded;
use crate::result::SweepResult;
use crate::run::RunFolder;

const APP_ID: &str = "valleyscope";
/// An app that fails sooner than this after its start would only fail again.
const SHORTEST_LIFE: Duration = Duration::from_secs(20);
/// Tells the program, started anew after a failure, why.
const RETURNED: &str = "VALLEYSCOPE_RETURNED_BECAUSE";
/// How often the window is opened again after its graphics device was lost.
const MOST_RETURNS: u32 = 3;

/// What the window opens instead of the last session's document.
#[derive(Clone, Default)]
pub struct Opened {
    pub preset: Option<Loaded>,
    pub result: Option<SweepResult>,
    pub run: Option<RunFolder>,
}

/// Opens the window and stays until it is closed.
pub fn run(mut opened: Opened) -> anyhow::Result<()> {
    let store = eframe::storage_dir(APP_ID).map(|folder| folder.join("app.ron"));
    let mut report = returned().or_else(|| store.as_deref().and_then(check_store));
    let begin = Instant::now();
    let mut tried = Tried::default();
    let mut returns = 0;
    loop {
        let aftermath = Aftermath::default();
        let kept = (opened.clone(), report.clone());
        let Opened { preset, result, run } = std::mem::take(&mut opened);
        let options = Options {
            preset,
            result,
            run,
            report: report.take(),
            play: returns == 0,
            aftermath: aftermath.clone(),
            ..Options::default()
        };
        let tried_before = tried.count();
        let ended = catch_unwind(AssertUnwindSafe(|| open(options, store.clone(), &tried)));
        let remains = aftermath.take();
        match ended {
            Ok(Ok(())) => match remains.device_lost {
                None => return Ok(()),
                Some(reason) if returns < MOST_RETURNS => {
                    returns += 1;
                    tried = Tried::default();
                    report = Some(("The graphics device was lost".to_owned(), device_lost(&reason)));
                }
                Some(reason) => {
                    return Err(anyhow!("the graphics device was lost {} times: {reason}", returns + 1))
                        .context(GRAPHICS_HELP);
                }
            },
            // The adapter that was chosen does not work; there may be others.
            Ok(Err(eframe::Error::Wgpu(_))) if tried.count() > tried_before => (opened, report) = kept,
            Ok(Err(error)) => return Err(explained(error)),
            Err(panic) => {
                let kept = keep_session(store.as_deref(), remains.session);
                let reason = remains.device_lost.unwrap_or_else(|| panic_message(&*panic));
                if begin.elapsed() > SHORTEST_LIFE && come_back(&reason).is_ok() {
                    return Ok(());
                }
                return Err(anyhow!("the app has stopped because of an internal error: {reason}\n{kept}"));
            }
        }
    }
}

fn open(options: Options, store: Option<PathBuf>, tried: &Tried) -> eframe::Result {
    let viewport = egui::ViewportBuilder::default()
        .with_title("Valleyscope")
        .with_app_id(APP_ID)
        .with_icon(icons::window_icon())
        .with_inner_size([1360.0, 860.0])
        .with_min_inner_size([640.0, 420.0])
        .with_drag_and_drop(true);
    let native = NativeOptions {
        viewport,
        persistence_path: store,
        wgpu_options: egui_wgpu::WgpuConfiguration { wgpu_setup: graphics::setup(tried), ..Default::default() },
        // The bundled font has a glyph for everything that is shown.
        system_font_fallback: false,
        ..NativeOptions::default()
    };
    eframe::run_native(APP_ID, native, Box::new(|cc| Ok(Box::new(Valleyscope::new(cc, options)))))
}

/// Starts the program anew; the event loop of one that has panicked can't be used again. The session is
/// found in the store.
fn come_back(reason: &str) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    std::process::Command::new(program).arg("app").env(RETURNED, reason).spawn().map(drop)
}

/// What a program that was started anew after a failure has to say.
fn returned() -> Option<(String, String)> {
    let reason = std::env::var(RETURNED).ok()?;
    let text = format!(
        "{reason}\n\nValleyscope was started again with your session; the run begins again at step 0. A graphics \
         driver that was updated or reset, or a laptop that was asleep, can cause this. `valleyscope doctor` shows \
         the graphics drivers that were found."
    );
    Some(("The app had to be started again".to_owned(), text))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").to_owned()
}

fn device_lost(reason: &str) -> String {
    format!(
        "{reason}\n\nThe window was opened again with your session, and nothing is lost; the run begins again at step \
         0. A driver that was updated or reset, or a laptop that was asleep, can cause this. If it happens again, \
         `valleyscope doctor` shows the graphics drivers that were found."
    )
}

const GRAPHICS_HELP: &str = "\
Valleyscope draws with Vulkan, Metal, Direct3D 12 or OpenGL, and could use none of them here.
On Debian and Ubuntu this installs Mesa's drivers, one of which draws without a GPU:
    sudo apt-get install mesa-vulkan-drivers libgl1-mesa-dri
`valleyscope doctor` shows what was found. `valleyscope simulate` works without graphics.";

const DISPLAY_HELP: &str = "\
Valleyscope's window needs a display: a desktop session, or DISPLAY or WAYLAND_DISPLAY set to one.
Without one, `valleyscope simulate PRESET` runs the same simulation, and `valleyscope presets list` shows the presets.";

fn explained(error: eframe::Error) -> anyhow::Error {
    match error {
        eframe::Error::Wgpu(error) => anyhow!("the window could not be drawn: {error}").context(GRAPHICS_HELP),
        eframe::Error::Winit(error) => no_window(&error.to_string()),
        eframe::Error::WinitEventLoop(error) => no_window(&error.to_string()),
        error @ eframe::Error::AppCreation(_) => anyhow!("the app could not begin: {error}"),
    }
}

/// The library says first where in its source it failed, "os error at FILE:LINE: ", which helps nobody here.
fn no_window(error: &str) -> anyhow::Error {
    let located = error.split_once("os error at ").and_then(|(_, located)| located.split_once(": "));
    let cause = located.map_or(error, |(_, cause)| cause);
    anyhow!("no window could be opened: {cause}\n\n{DISPLAY_HELP}")
}

/// Looks whether the store of the last session can be read and written. One that is damaged is kept
/// aside; the answer is what the user should know.
fn check_store(store: &Path) -> Option<(String, String)> {
    let folder = store.parent()?;
    if let Err(error) = try_folder(folder) {
        let text = format!(
            "cannot write to the folder {}: {error}\n\nThe next start will not bring this session back: work that is \
             not saved as a preset elsewhere ends with the window. Make the folder writable, or make room on its \
             disk, and start Valleyscope again. `valleyscope doctor` shows how to move the folder.",
            folder.display()
        );
        return Some(("The session can't be kept".to_owned(), text));
    }
    let text = match std::fs::read_to_string(store) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some((
                "The last session was not restored".to_owned(),
                format!("cannot read {}: {error}", store.display()),
            ));
        }
    };
    let error = ron::from_str::<HashMap<String, String>>(&text).err()?;
    let aside = store.with_extension("unreadable.ron");
    let fate = match std::fs::rename(store, &aside) {
        Ok(()) => format!("It is kept as {}.", aside.display()),
        Err(error) => format!("It could not be kept aside: {error}."),
    };
    Some((
        "The last session was not restored".to_owned(),
        format!("{} is damaged: {error}\n\n{fate} Valleyscope begins with a built-in preset.", store.display()),
    ))
}

/// Makes the folder where it is missing, and writes to it.
fn try_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder)?.write_all(b"Valleyscope")
}

/// Puts the session where the next start finds it, and says whether that worked.
fn keep_session(store: Option<&Path>, session: Option<String>) -> String {
    let (Some(store), Some(session)) = (store, session) else {
        return "The session could not be kept.".to_owned();
    };
    let stored = std::fs::read_to_string(store).ok().and_then(|text| ron::from_str(&text).ok());
    let mut values: HashMap<String, String> = stored.unwrap_or_default();
    values.insert(session::KEY.to_owned(), session);
    let written = ron::ser::to_string(&values)
        .map_err(std::io::Error::other)
        .and_then(|text| crate::export::write_file(store, crate::export::Overwrite::Yes, text.as_bytes()));
    match written {
        Ok(()) => "Your session was kept; the next start brings it back.".to_owned(),
        Err(error) => format!("The session could not be kept: cannot write {}: {error}.", store.display()),
    }
}
