//! Opens the window, and reopens it when the graphics fail.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use eframe::{NativeOptions, egui_wgpu};
use valleyscope_runs::{RUNS_VARIABLE, data_folder};

use super::Valleyscope;
use super::files::OpenedContent;
use super::graphics::{TriedAdapters, setup};
use super::session::Store;
use super::tab::{AppOptions, ExitState};
use crate::app::training::TrainingPaths;
use crate::app::widgets::icons;

const APP_ID: &str = "valleyscope";
/// The shortest life of an app that is restarted after a failure; one that fails sooner would only fail again.
const SHORTEST_LIFE: Duration = Duration::from_secs(20);
/// The environment variable with the reason for a restart after a failure.
const RESTART_REASON: &str = "VALLEYSCOPE_RETURNED_BECAUSE";
/// The largest number of times that the window is reopened after its graphics device was lost.
const MOST_RESTARTS: u32 = 3;

/// Opens the window, with another folder of runs if one is named, and returns when it is closed.
pub fn run(mut opened: Vec<(OpenedContent, Option<PathBuf>)>, runs: Option<PathBuf>) -> anyhow::Result<()> {
    let mut training = TrainingPaths::of_user();
    training.runs = runs.or(training.runs);
    let store = data_folder().map(|folder| Store::new(folder.join("app.ron")));
    let (mut session, unrestored) = store.as_ref().map(Store::restore).unwrap_or_default();
    let mut report = restart_message().or(unrestored);
    let is_first = session.is_empty() && report.is_none();
    let begin = Instant::now();
    let mut tried_adapters = TriedAdapters::default();
    let mut returns = 0;
    loop {
        let exit_state = ExitState::default();
        let backup = (opened.clone(), report.clone(), session.clone());
        let options = AppOptions {
            opened: std::mem::take(&mut opened),
            report: report.take(),
            session: std::mem::take(&mut session),
            store: store.clone(),
            training: training.clone(),
            opening: is_first && returns == 0,
            exit_state: exit_state.clone(),
            ..AppOptions::default()
        };
        let tried_before = tried_adapters.count();
        let ended = catch_unwind(AssertUnwindSafe(|| open(options, store.as_ref(), &tried_adapters)));
        let exit_report = exit_state.take();
        match ended {
            Ok(Ok(())) => match exit_report.device_lost {
                None => return exit_report.saved.map_err(|error| anyhow!(unsaved(store.as_ref(), &error))),
                Some(reason) if returns < MOST_RESTARTS => {
                    returns += 1;
                    session = store.as_ref().map(|store| store.restore().0).unwrap_or_default();
                    tried_adapters = TriedAdapters::default();
                    report = Some(("The graphics device was lost".to_owned(), device_lost(&reason)));
                }
                Some(reason) => {
                    return Err(anyhow!("the graphics device was lost {} times: {reason}", returns + 1))
                        .context(GRAPHICS_HELP);
                }
            },
            // Another adapter may work.
            Ok(Err(eframe::Error::Wgpu(_))) if tried_adapters.count() > tried_before => {
                (opened, report, session) = backup;
            }
            Ok(Err(error)) => return Err(explained(error)),
            Err(panic) => {
                let restarts = begin.elapsed() > SHORTEST_LIFE;
                let is_suspect = !restarts && exit_report.device_lost.is_none();
                let reason = exit_report.device_lost.unwrap_or_else(|| panic_message(&*panic));
                let about_session = set_session_aside(store.as_ref(), exit_report.saved, is_suspect.then_some(&reason));
                if restarts && restart(&reason, training.runs.as_deref()).is_ok() {
                    return Ok(());
                }
                return Err(anyhow!("the app has stopped because of an internal error: {reason}\n{about_session}"));
            }
        }
    }
}

fn open(options: AppOptions, store: Option<&Store>, tried_adapters: &TriedAdapters) -> eframe::Result {
    let viewport = egui::ViewportBuilder::default()
        .with_title("Valleyscope")
        .with_app_id(APP_ID)
        .with_icon(icons::window_icon())
        .with_inner_size([1360.0, 860.0])
        .with_min_inner_size([640.0, 420.0])
        .with_drag_and_drop(true);
    let native = NativeOptions {
        viewport,
        persistence_path: store.map(Store::window),
        wgpu_options: egui_wgpu::WgpuConfiguration { wgpu_setup: setup(tried_adapters), ..Default::default() },
        // `FallbackFonts` provides the system's fonts.
        system_font_fallback: false,
        ..NativeOptions::default()
    };
    eframe::run_native(APP_ID, native, Box::new(|cc| Ok(Box::new(Valleyscope::new(cc, options)))))
}

/// Restarts the program, as the event loop cannot be reused after a panic. The session is in the store.
fn restart(reason: &str, runs: Option<&Path>) -> io::Result<()> {
    let program =
        std::env::var_os(valleyscope_runs::COMMAND).map_or_else(std::env::current_exe, |path| Ok(path.into()))?;
    let mut command = std::process::Command::new(program);
    command.arg("app").env(RESTART_REASON, reason).envs(runs.map(|folder| (RUNS_VARIABLE, folder)));
    command.spawn().map(drop)
}

fn restart_message() -> Option<(String, String)> {
    let reason = std::env::var(RESTART_REASON).ok()?;
    let text = format!(
        "{reason}\n\nValleyscope was restarted with your session. The simulation starts again at step 0; trainings \
         continue. If the message is about the graphics device, an updated or reset driver, or a laptop that was \
         asleep, can be the cause; `valleyscope doctor` shows the drivers found. Any other message is a bug: please \
         report it."
    );
    Some(("Valleyscope was restarted".to_owned(), text))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").to_owned()
}

fn device_lost(reason: &str) -> String {
    format!(
        "{reason}\n\nThe window was reopened with your session, and nothing is lost. The simulation starts again at \
         step 0; trainings continue. An updated or reset driver, or a laptop that was asleep, can cause this. If it \
         happens again, `valleyscope doctor` shows the graphics drivers found."
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
        error @ eframe::Error::AppCreation(_) => anyhow!("the app could not start: {error}"),
    }
}

/// Makes an error without the library's source position, "os error at FILE:LINE: ".
fn no_window(error: &str) -> anyhow::Error {
    let located = error.split_once("os error at ").and_then(|(_, located)| located.split_once(": "));
    let cause = located.map_or(error, |(_, cause)| cause);
    anyhow!("no window could be opened: {cause}\n\n{DISPLAY_HELP}")
}

/// Sets the session aside if a `suspect` failure may be caused by it. Returns a message about the session, which was
/// saved when the window ended.
fn set_session_aside(store: Option<&Store>, saved: io::Result<()>, suspect: Option<&String>) -> String {
    let set_aside = match (store, suspect, saved) {
        (_, _, Err(error)) => return unsaved(store, &error),
        (_, None, Ok(())) => return "Your session was saved; the next start restores it.".to_owned(),
        (None, Some(_), Ok(())) => Ok(None),
        (Some(store), Some(reason), Ok(())) => store.set_aside(reason),
    };
    match set_aside {
        Ok(Some(aside)) => {
            format!("Your session was set aside as {}; the next start begins without it.", aside.display())
        }
        Ok(None) => "There was no session to save.".to_owned(),
        Err(error) => unsaved(store, &error),
    }
}

fn unsaved(store: Option<&Store>, error: &io::Error) -> String {
    let path = store.map(|store| format!("cannot write {}: ", store.path().display())).unwrap_or_default();
    format!("The session could not be saved: {path}{error}.")
}
