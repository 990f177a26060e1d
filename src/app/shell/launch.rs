//! Opens the window with its options and its graphics adapter, and reopens it when the graphics fail.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use eframe::egui_wgpu::{RenderState, WgpuSetup, WgpuSetupCreateNew};
use eframe::{NativeOptions, egui_wgpu};
use egui::Context;
use valleyscope_experiments::preset::{Library, Loaded};
use valleyscope_runs::{RunFolder, data_folder};
use wgpu::{Adapter, Backend, DeviceType, Surface};

use super::Valleyscope;
use super::session::{SessionTexts, Store};
use crate::app::landscape::transport::PlaybackPace;
use crate::app::training::TrainingPaths;
use crate::app::widgets::icons;
use crate::player::RecordedCloud;
use crate::sweep::result::SweepResult;

const APP_ID: &str = "valleyscope";
/// The shortest life of an app that is restarted after a failure; one that fails sooner would only fail again.
const SHORTEST_LIFE: Duration = Duration::from_secs(20);
/// The environment variable with the reason for a restart after a failure.
const RESTART_REASON: &str = "VALLEYSCOPE_RETURNED_BECAUSE";
/// The largest number of times that the window is reopened after its graphics device was lost.
const MOST_RESTARTS: u32 = 3;

/// The document to open instead of the last session's.
#[derive(Clone, Default)]
pub struct Opened {
    pub preset: Option<Loaded>,
    pub result: Option<SweepResult>,
    pub recorded: Option<Vec<RecordedCloud>>,
    pub run: Option<RunFolder>,
}

impl From<Loaded> for Opened {
    fn from(preset: Loaded) -> Opened {
        Opened { preset: Some(preset), ..Opened::default() }
    }
}

/// Opens the window and returns when it is closed.
pub fn run(mut opened: Opened) -> anyhow::Result<()> {
    let store = data_folder().map(|folder| Store::new(folder.join("app.ron")));
    let (mut session, unrestored) = store.as_ref().map(Store::restore).unwrap_or_default();
    let mut report = restart_message().or(unrestored);
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
            play: returns == 0,
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
                if restarts && restart(&reason).is_ok() {
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
fn restart(reason: &str) -> io::Result<()> {
    let program = std::env::current_exe()?;
    std::process::Command::new(program).arg("app").env(RESTART_REASON, reason).spawn().map(drop)
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

/// The app's start options.
pub struct AppOptions {
    pub opened: Opened,
    /// The paths of runs and of the training worker.
    pub training: TrainingPaths,
    pub library: Library,
    /// The folder of saved phase diagrams; without it, they stay in memory only.
    pub diagrams: Option<PathBuf>,
    /// Uses the system's file dialogs if true; else paths are typed.
    pub native_dialogs: bool,
    /// Plays at once if true.
    pub play: bool,
    /// The speed; `None` for that of the last session.
    pub pace: Option<PlaybackPace>,
    /// The last session, to restore.
    pub session: SessionTexts,
    /// The file that stores the session; without it, the next start cannot restore it.
    pub store: Option<Store>,
    /// A message from before the window opened: title and text.
    pub report: Option<(String, String)>,
    /// The computing time from which dropping a phase diagram that was not exported needs a question.
    pub worth_asking: Duration,
    /// Shared storage for the session when the app ends in any way.
    pub exit_state: ExitState,
}

impl Default for AppOptions {
    fn default() -> Self {
        AppOptions {
            opened: Opened::default(),
            training: TrainingPaths::of_user(),
            library: Library::open(),
            diagrams: data_folder().map(|folder| folder.join("diagrams")),
            native_dialogs: true,
            play: true,
            pace: None,
            session: SessionTexts::new(),
            store: None,
            report: None,
            // A diagram that is computed again in seconds needs no question.
            worth_asking: Duration::from_secs(10),
            exit_state: ExitState::default(),
        }
    }
}

#[derive(Clone, Default)]
pub struct ExitState(Arc<Mutex<ExitReport>>);

pub struct ExitReport {
    pub saved: io::Result<()>,
    /// The reason why the graphics device was lost, if it was.
    pub device_lost: Option<String>,
}

impl Default for ExitReport {
    fn default() -> ExitReport {
        ExitReport { saved: Ok(()), device_lost: None }
    }
}

impl ExitState {
    pub fn take(&self) -> ExitReport {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn leave(&self, change: impl FnOnce(&mut ExitReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

// Choice of a graphics adapter, and reports of its failures.
//
// Adapters are tried in order: a GPU through its native API, OpenGL, then a software driver. When the device is lost,
// the window is closed and reopened with its session.

/// The adapters that were tried and failed, which the next attempt skips.
#[derive(Clone, Default)]
pub(crate) struct TriedAdapters(Arc<Mutex<Vec<String>>>);

impl TriedAdapters {
    fn contains(&self, adapter: &Adapter) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&key(adapter))
    }

    fn add(&self, adapter: &Adapter) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(key(adapter));
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

fn key(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    format!("{} {:?} {:?} {}", info.name, info.backend, info.device_type, info.device_pci_bus_id)
}

/// Makes a set-up that takes the best untried adapter that can draw to the window: a GPU through its native API, then
/// through OpenGL, then a software driver.
pub(crate) fn setup(tried: &TriedAdapters) -> WgpuSetup {
    let tried = tried.clone();
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    setup.native_adapter_selector = Some(Arc::new(move |adapters: &[Adapter], surface: Option<&Surface<'_>>| {
        let fits = |adapter: &&Adapter| {
            !tried.contains(adapter) && surface.is_none_or(|surface| adapter.is_surface_supported(surface))
        };
        let best = adapters.iter().filter(fits).min_by_key(|adapter| rank(adapter));
        match best {
            Some(adapter) => {
                tried.add(adapter);
                Ok(adapter.clone())
            }
            None => Err(nothing_to_draw_with(adapters)),
        }
    }));
    WgpuSetup::CreateNew(setup)
}

/// Ranks an adapter; the lowest rank is the best.
fn rank(adapter: &Adapter) -> (u8, u8) {
    let info = adapter.get_info();
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        // OpenGL often does not report its device type.
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    };
    (kind, u8::from(info.backend == Backend::Gl))
}

/// The graphics driver on which pictures are drawn off screen.
#[derive(Clone)]
pub struct Graphics {
    pub(crate) instance: wgpu::Instance,
    pub(crate) adapter: Adapter,
}

impl Graphics {
    /// The driver that draws the window.
    pub fn of(window: &RenderState) -> Graphics {
        Graphics { instance: window.instance.clone(), adapter: window.adapter.clone() }
    }

    /// Finds the best driver of this machine, without a window.
    ///
    /// # Errors
    ///
    /// Fails with a message if there is none.
    pub fn without_window() -> Result<Graphics, String> {
        // Some drivers of OpenGL print complaints, so it is tried last.
        let found = [wgpu::Backends::PRIMARY, wgpu::Backends::GL].into_iter().find_map(|backends| {
            let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
            let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { backends, ..descriptor });
            let adapters = pollster::block_on(instance.enumerate_adapters(backends));
            let adapter = adapters.into_iter().min_by_key(rank)?;
            Some(Graphics { instance, adapter })
        });
        found.ok_or_else(|| "found no graphics adapter; `valleyscope doctor` shows what is missing".to_owned())
    }
}

fn nothing_to_draw_with(adapters: &[Adapter]) -> String {
    if adapters.is_empty() {
        return "found no graphics adapter".to_owned();
    }
    let names: Vec<String> = adapters
        .iter()
        .map(|adapter| {
            let info = adapter.get_info();
            format!("{} ({:?})", info.name, info.backend)
        })
        .collect();
    format!("none of the graphics adapters can draw to this window: {}", names.join(", "))
}

/// A graphics failure while the window was open.
#[derive(Debug)]
pub(crate) enum GraphicsFault {
    /// The device was lost; nothing can be drawn with it any more.
    Lost(String),
    /// Something was not drawn.
    Error(String),
}

/// Collects graphics failures from all threads.
pub(crate) struct GraphicsFaults {
    device: wgpu::Device,
    faults: Receiver<GraphicsFault>,
}

impl GraphicsFaults {
    /// Installs the error handlers, without which wgpu panics.
    pub(crate) fn watch(render_state: &RenderState, ctx: &Context) -> GraphicsFaults {
        let (sender, faults) = channel();
        let (device, ctx) = (render_state.device.clone(), ctx.clone());
        let report = move |fault| {
            // The window may be closed.
            let _ = sender.send(fault);
            ctx.request_repaint();
        };
        let report_loss = report.clone();
        device.on_uncaptured_error(Arc::new(move |error| report(GraphicsFault::Error(error.to_string()))));
        device.set_device_lost_callback(move |reason, message| {
            report_loss(GraphicsFault::Lost(format!("{reason:?}: {message}")));
        });
        GraphicsFaults { device, faults }
    }

    pub(crate) fn take(&self) -> Vec<GraphicsFault> {
        // Polling reports a lost device before egui draws with it, which would panic.
        if let Err(error) = self.device.poll(wgpu::PollType::Poll) {
            log::warn!("the graphics device did not answer: {error}");
        }
        self.faults.try_iter().collect()
    }
}
