//! Opens the window, and reopens it when the graphics fail.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use eframe::{NativeOptions, egui_wgpu};
use valleyscope_runs::data_folder;

use super::Valleyscope;
use super::files::OpenedContent;
use super::graphics::{TriedAdapters, setup};
use super::session::Store;
use super::tab::{AppOptions, ExitState};
use crate::app::training::TrainingPaths;
use crate::app::widgets::icons;

const APP_ID: &str = "valleyscope";
/// The life of an app within which its session may be the cause of a failure.
const SHORTEST_LIFE: Duration = Duration::from_secs(20);
/// The largest number of times that the window is reopened after its graphics device was lost.
const MOST_RESTARTS: u32 = 3;

/// Opens the window, with another folder of runs if one is named, and returns when it is closed.
pub fn run(mut opened: Vec<(OpenedContent, Option<PathBuf>)>, runs: Option<PathBuf>) -> anyhow::Result<()> {
    let mut training = TrainingPaths::of_user();
    training.are_runs_named |= runs.is_some();
    training.runs = runs.or(training.runs);
    let store = data_folder().map(|folder| Store::new(folder.join("app.ron")));
    let (mut session, mut report) = store.as_ref().map(Store::restore).unwrap_or_default();
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
        let count = |tried: &TriedAdapters| tried.lock().unwrap_or_else(PoisonError::into_inner).len();
        let tried_before = count(&tried_adapters);
        let ended = catch_unwind(AssertUnwindSafe(|| open(options, store.as_ref(), &tried_adapters)));
        let exit_report = exit_state.take();
        match ended {
            Ok(Ok(())) => match exit_report.device_lost {
                None => {
                    return exit_report.unsaved.map_or(Ok(()), |error| Err(anyhow!(unsaved(store.as_ref(), &error))));
                }
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
            Ok(Err(eframe::Error::Wgpu(_))) if count(&tried_adapters) > tried_before => {
                (opened, report, session) = backup;
            }
            Ok(Err(error)) => return Err(explained(error)),
            Err(panic) => {
                let is_suspect = begin.elapsed() <= SHORTEST_LIFE && exit_report.device_lost.is_none();
                let reason = exit_report.device_lost.unwrap_or_else(|| panic_message(&*panic));
                let about_session = match (exit_report.unsaved, store.as_ref()) {
                    (Some(error), store) => unsaved(store, &error),
                    (None, Some(store)) if is_suspect => set_aside(store, &reason),
                    (None, _) => "Your session was saved; the next start restores it.".to_owned(),
                };
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

/// Sets the session aside, which may be the cause of a failure. Returns a message about it.
fn set_aside(store: &Store, reason: &str) -> String {
    match store.set_aside(reason) {
        Ok(Some(aside)) => {
            format!("Your session was set aside as {}; the next start begins without it.", aside.display())
        }
        Ok(None) => "There was no session to save.".to_owned(),
        Err(error) => unsaved(Some(store), &error),
    }
}

fn unsaved(store: Option<&Store>, error: &io::Error) -> String {
    let path = store.map(|store| format!("cannot write {}: ", store.path().display())).unwrap_or_default();
    format!("The session could not be saved: {path}{error}.")
}
