//! `valleyscope doctor`: the parts of this machine that the program uses, those that are missing, and remedies.

use std::path::{Path, PathBuf};
use std::{env, fmt, fs, thread};

use anyhow::anyhow;
use directories::ProjectDirs;
use valleyscope_experiments::dataset::FOLDER_VARIABLE;
use valleyscope_experiments::preset::Library;
use valleyscope_experiments::workload::{DATASETS, DatasetFiles};
use valleyscope_machine as machine;
use valleyscope_machine::{Detection, Display, Need, PackageManager, Packages, SetUpState, SetUpStatus, WorkerFolder};
use valleyscope_runs::{Handshake, LaunchError, RUNS_VARIABLE, SETUP, WorkerProgram, runs_folder};

use super::Failure;
use super::output::print;

pub use valleyscope_experiments::run::SystemMemory;

/// Prints the report on stdout. Fails if the window could not open.
pub(super) fn run() -> Result<(), Failure> {
    let facts = Facts::of_this_machine();
    print(&facts.to_string())?;
    if facts.problems().iter().any(|problem| problem.blocks_window) {
        return Err(Failure::Failed(anyhow!("the window cannot open here until this is fixed")));
    }
    Ok(())
}

/// Something that is missing or does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub what: String,
    /// The command or the change that solves it.
    pub remedy: String,
    /// Whether the window cannot open without it; otherwise only a part of the program is affected.
    pub blocks_window: bool,
}

impl Facts {
    /// Lists the problems that prevent the program, or a part of it, from working here.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.has_window {
            problems.extend(self.display_problem());
            problems.extend(self.library_problem());
            problems.extend(self.adapter_problem());
            problems.extend(self.dialog_problem());
        }
        problems.extend(self.worker.problem());
        problems.extend(self.folders.iter().filter_map(FolderFacts::problem));
        problems
    }

    fn display_problem(&self) -> Option<Problem> {
        let what = match self.display {
            None => "no display: neither WAYLAND_DISPLAY nor DISPLAY is set".to_owned(),
            Some(_) if !self.display_answers => {
                format!("no display: {} is set, but nothing answers there", self.display_name)
            }
            Some(_) => return None,
        };
        let remedy = "start valleyscope in a desktop session, or through `ssh -X`; \
                      `valleyscope simulate` and `valleyscope presets` need no display";
        Some(Problem { what, remedy: remedy.to_owned(), blocks_window: true })
    }

    fn library_problem(&self) -> Option<Problem> {
        let libraries: Vec<_> =
            self.missing.iter().copied().filter(|need| matches!(need.detection, Detection::Library(_))).collect();
        if libraries.is_empty() {
            return None;
        }
        let names: Vec<_> = libraries.iter().map(|need| need.to_string()).collect();
        let what = format!("not installed: {}", names.join(", "));
        Some(Problem { what, remedy: self.install(&libraries), blocks_window: true })
    }

    fn adapter_problem(&self) -> Option<Problem> {
        if !self.adapters.is_empty() {
            return None;
        }
        let drivers: Vec<_> =
            self.missing.iter().copied().filter(|need| need.detection == Detection::GraphicsDriver).collect();
        let (what, remedy) = if drivers.is_empty() {
            let what = "a graphics driver is installed, but it offers no adapter";
            (what, "install the driver made for this machine's graphics card, or Mesa's Vulkan drivers".to_owned())
        } else {
            ("no Vulkan or OpenGL driver is installed", self.install(&drivers))
        };
        Some(Problem { what: what.to_owned(), remedy, blocks_window: true })
    }

    fn dialog_problem(&self) -> Option<Problem> {
        let dialog = self.missing.iter().copied().find(|need| need.detection == ZENITY.detection)?;
        let what = "no file dialogs: neither xdg-desktop-portal nor zenity is installed".to_owned();
        Some(Problem { what, remedy: self.install(&[dialog]), blocks_window: false })
    }

    fn install(&self, needs: &[&Need]) -> String {
        match self.package_manager {
            Some(manager) => manager.command(needs, self.root),
            None => {
                let names: Vec<_> = needs.iter().map(|need| need.to_string()).collect();
                format!("install with the system's package manager: {}", names.join(", "))
            }
        }
    }
}

impl FolderFacts {
    fn problem(&self) -> Option<Problem> {
        let reason = self.refusal.as_ref()?;
        Some(Problem {
            what: format!("the folder for {} cannot be written: {} ({reason})", self.holds, self.path.display()),
            remedy: format!("make it writable, or set {} to a folder that is", self.variable),
            blocks_window: false,
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [version, system, processor] = [env!("CARGO_PKG_VERSION"), env::consts::OS, env::consts::ARCH];
        writeln!(f, "valleyscope {version} for {system} on {processor}\n")?;
        self.write_machine(f)?;
        self.write_window(f)?;
        self.worker.write(f)?;
        for folder in &self.folders {
            let state = match (&folder.refusal, folder.exists) {
                (Some(_), _) => "cannot be written",
                (None, true) => "can be written",
                (None, false) => "will be made when needed",
            };
            line(f, folder.holds, &format!("{} ({state})", folder.path.display()))?;
        }
        if let Some((folder, datasets)) = &self.data {
            let found = datasets.join("; ");
            line(f, "data", &format!("{}={} ({found})", FOLDER_VARIABLE, folder.display()))?;
        }
        let problems = self.problems();
        writeln!(f)?;
        for (number, problem) in problems.iter().enumerate() {
            writeln!(f, "{}. {}\n   {}", number + 1, problem.what, problem.remedy)?;
        }
        match problems.len() {
            0 => writeln!(f, "Everything needed is here."),
            1 => writeln!(f, "\n1 thing is missing."),
            n => writeln!(f, "\n{n} things are missing."),
        }
    }
}

impl Facts {
    fn write_machine(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Processor { model, threads, features } = &self.processor;
        line(f, "processor", &format!("{model}, {threads} threads"))?;
        for (name, present) in features {
            line(f, "", &format!("{name}: {}", if *present { "yes" } else { "no" }))?;
        }
        match self.memory {
            Some(SystemMemory { total, available }) => {
                let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
                line(f, "memory", &format!("{:.1} GiB, {:.1} GiB of it free", gib(total), gib(available)))
            }
            None => line(f, "memory", "not known"),
        }
    }

    fn write_window(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_window {
            return line(f, "window", "none: this program was built without it (--no-default-features)");
        }
        if self.adapters.is_empty() {
            line(f, "graphics", "no adapter")?;
        }
        for (index, adapter) in self.adapters.iter().enumerate() {
            line(f, if index == 0 { "graphics" } else { "" }, &adapter.to_string())?;
        }
        if !self.adapters.is_empty() && self.adapters.iter().all(|adapter| adapter.software) {
            line(f, "", "(the processor draws; a graphics card with its driver would be smoother)")?;
        }
        let display = match self.display {
            None => "none",
            Some(Display::Native) => "the system's own",
            Some(Display::Wayland | Display::X11) => &self.display_name,
        };
        line(f, "display", display)
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.name, self.kind, self.backend)?;
        if !self.driver.is_empty() {
            write!(f, ", {}", self.driver)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "{label:<11} {text}")
}

/// The facts found on a machine.
#[derive(Clone, Debug)]
pub struct Facts {
    pub processor: Processor,
    pub memory: Option<SystemMemory>,
    /// Whether this program was built with the window.
    pub has_window: bool,
    pub adapters: Vec<Adapter>,
    pub display: Option<Display>,
    /// The variable that names the display, with its value.
    pub display_name: String,
    /// Whether a server may answer for the display; false only where it is certain that none does.
    pub display_answers: bool,
    /// Requirements of the window that this machine lacks.
    pub missing: Vec<&'static Need>,
    pub worker: WorkerFacts,
    pub folders: Vec<FolderFacts>,
    /// The folder searched for datasets besides the cache, and descriptions of whether it has them.
    pub data: Option<(PathBuf, Vec<String>)>,
    pub package_manager: Option<PackageManager>,
    pub root: bool,
}

/// An adapter that the graphics drivers offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub name: String,
    /// The kind of device, for users.
    pub kind: &'static str,
    /// Whether it draws on the processor.
    pub software: bool,
    pub backend: String,
    pub driver: String,
}

/// A folder that the program writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFacts {
    pub holds: &'static str,
    pub path: PathBuf,
    pub exists: bool,
    /// The reason why nothing can be written there.
    pub refusal: Option<String>,
    /// The environment variable that moves it.
    pub variable: &'static str,
}

/// Opens file dialogs where the desktop has no portal for them.
static ZENITY: Need = Need {
    name: "a program for file dialogs",
    detection: Detection::Program("zenity"),
    packages: Packages { apt: "zenity", dnf: "zenity", pacman: "zenity", zypper: "zenity" },
};

impl Facts {
    pub fn of_this_machine() -> Facts {
        let display = Display::here();
        let has_window = cfg!(feature = "app");
        let mut missing = if has_window { machine::missing(machine::for_window(display)) } else { Vec::new() };
        // Without its libraries, nothing can connect.
        let display_answers = display.is_none() || !missing.is_empty() || answers();
        if has_window && cfg!(target_os = "linux") && display.is_some() && !machine::has_portal() {
            missing.extend(machine::missing(vec![&ZENITY]));
        }
        Facts {
            processor: Processor::here(),
            memory: SystemMemory::here(),
            has_window,
            adapters: adapters(display),
            display,
            display_name: display_name(display),
            display_answers,
            missing,
            worker: WorkerFacts::here(),
            folders: folders(),
            data: data(),
            package_manager: PackageManager::here(),
            root: machine::is_root(),
        }
    }
}

/// Returns the variable that names the display, with its value.
fn display_name(display: Option<Display>) -> String {
    let variable = match display {
        Some(Display::X11) => "DISPLAY",
        Some(Display::Wayland) => "WAYLAND_DISPLAY",
        Some(Display::Native) | None => return String::new(),
    };
    format!("{variable}={}", env::var(variable).unwrap_or_default())
}

fn data() -> Option<(PathBuf, Vec<String>)> {
    let folder = valleyscope_experiments::dataset::named_folder()?;
    let descriptions = downloaded().map(|files| files.words_of(&folder)).collect();
    Some((folder, descriptions))
}

fn downloaded() -> impl Iterator<Item = &'static DatasetFiles> {
    DATASETS.iter().filter_map(|dataset| dataset.files.as_ref())
}

fn folders() -> Vec<FolderFacts> {
    // Without a home folder this folder does not exist; the program then saves only to given paths.
    let presets = Library::open().folder().map(Path::to_owned);
    let data = ProjectDirs::from("", "", "valleyscope").map(|project| project.data_dir().to_owned());
    let [config_variable, data_variable] =
        if cfg!(target_os = "linux") { ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] } else { ["HOME", "HOME"] };
    let cache_variable = if cfg!(target_os = "linux") { "XDG_CACHE_HOME" } else { "HOME" };
    let folders = [
        presets.map(|path| FolderFacts::check("presets", path, config_variable)),
        data.map(|path| FolderFacts::check("session", path, data_variable)),
        runs_folder().map(|path| FolderFacts::check("runs", path, RUNS_VARIABLE)),
    ];
    let caches = downloaded().filter_map(|DatasetFiles { title, cache, lacking_in }| {
        // Nothing is written where the files exist already.
        let folder = cache().filter(|path| lacking_in(path).is_some())?;
        Some(FolderFacts::check(title, folder, cache_variable))
    });
    folders.into_iter().flatten().chain(caches).collect()
}

impl FolderFacts {
    /// Checks that a file can be written into a folder or, if that does not exist, into its nearest existing parent.
    pub fn check(holds: &'static str, path: PathBuf, variable: &'static str) -> FolderFacts {
        let exists = path.is_dir();
        let refusal = match path.ancestors().find(|above| above.exists()) {
            Some(above) => tempfile::tempfile_in(above).err().map(|error| error.to_string()),
            None => Some("no folder above it exists".to_owned()),
        };
        FolderFacts { holds, path, exists, refusal, variable }
    }
}

#[cfg(feature = "app")]
fn adapters(display: Option<Display>) -> Vec<Adapter> {
    // Without a display OpenGL has nothing to draw on, and prints errors.
    let without = if display.is_some() { wgpu::Backends::empty() } else { wgpu::Backends::GL };
    // A broken driver is a finding like any other, even where querying it panics.
    std::panic::catch_unwind(|| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        descriptor.backends.remove(without);
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
        adapters.iter().map(|adapter| Adapter::from(adapter.get_info())).collect()
    })
    .unwrap_or_default()
}

/// Connects to the display as the window does, which is possible on the main thread only.
#[cfg(feature = "app")]
fn answers() -> bool {
    std::panic::catch_unwind(|| eframe::EventLoopBuilder::<()>::default().build().is_ok()).unwrap_or(true)
}

#[cfg(not(feature = "app"))]
fn answers() -> bool {
    true
}

#[cfg(not(feature = "app"))]
fn adapters(_display: Option<Display>) -> Vec<Adapter> {
    Vec::new()
}

#[cfg(feature = "app")]
impl From<wgpu::AdapterInfo> for Adapter {
    fn from(info: wgpu::AdapterInfo) -> Adapter {
        let kind = match info.device_type {
            wgpu::DeviceType::IntegratedGpu => "integrated graphics",
            wgpu::DeviceType::DiscreteGpu => "graphics card",
            wgpu::DeviceType::VirtualGpu => "virtual graphics",
            wgpu::DeviceType::Cpu => "drawn by the processor",
            wgpu::DeviceType::Other => "unknown kind",
        };
        let driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
        let software = info.device_type == wgpu::DeviceType::Cpu;
        Adapter { name: info.name, kind, software, backend: info.backend.to_string(), driver }
    }
}

/// The processor available to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    pub model: String,
    /// The number of threads that run at the same time.
    pub threads: usize,
    /// Vector instructions that make the simulation faster, and whether they are available.
    pub features: Vec<(&'static str, bool)>,
}

impl Processor {
    pub fn here() -> Processor {
        Processor {
            model: model().unwrap_or_else(|| "a processor of unknown model".to_owned()),
            threads: thread::available_parallelism().map_or(1, |threads| threads.get()),
            features: features(),
        }
    }
}

#[cfg(target_os = "macos")]
fn model() -> Option<String> {
    let output = std::process::Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(target_os = "windows")]
fn model() -> Option<String> {
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

#[cfg(not(any(target_os = "macos", target_os = "windows")))]
fn model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, model) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(model.trim().to_owned())
}

fn features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let avx512 = has!("avx512f") && has!("avx512dq");
        vec![("AVX2", has!("avx2")), ("AVX-512 (F, DQ)", avx512)]
    }
    #[cfg(target_arch = "aarch64")]
    {
        vec![("NEON", std::arch::is_aarch64_feature_detected!("neon"))]
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

/// The training worker, as far as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFacts {
    pub state: WorkerCheck,
    pub set_up: Option<SetUpStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerCheck {
    Works {
        program: PathBuf,
        /// The folder that is searched first for libtorch, if there is one.
        libraries: Option<PathBuf>,
        handshake: Handshake,
    },
    Missing,
    /// The worker cannot be used, for this reason.
    Broken(String),
    /// The worker that `VALLEYSCOPE_TRAIN` names cannot be used, for this reason. An installed one is not considered.
    Misnamed(String),
}

impl WorkerFacts {
    /// Queries the worker that `valleyscope train` starts. This takes seconds, as the worker loads its libraries.
    pub fn here() -> WorkerFacts {
        let set_up = WorkerFolder::of_user().and_then(|folder| folder.status());
        WorkerFacts { state: WorkerCheck::here(), set_up }
    }

    fn problem(&self) -> Option<Problem> {
        let what = match &self.state {
            WorkerCheck::Works { handshake, .. } => {
                let what = format!("no training on a graphics card: {}", handshake.problem.as_ref()?);
                let remedy = "until that is fixed, the processor trains".to_owned();
                return Some(Problem { what, remedy, blocks_window: false });
            }
            _ if self.is_being_set_up() => return None,
            WorkerCheck::Missing => format!("no worker that trains: {} is not installed", WorkerProgram::NAME),
            WorkerCheck::Misnamed(why) => {
                let remedy = "let VALLEYSCOPE_TRAIN name a worker that works, or unset it to use the installed one";
                return Some(Problem { what: why.clone(), remedy: remedy.to_owned(), blocks_window: false });
            }
            WorkerCheck::Broken(why) => why.clone(),
        };
        let failed = self.set_up.as_ref().filter(|set_up| set_up.state == SetUpState::Failed);
        let reason = failed.map(|set_up| format!("; its last set-up failed: {}", set_up.message)).unwrap_or_default();
        Some(Problem { what: what + &reason, remedy: SETUP.to_owned(), blocks_window: false })
    }

    fn is_being_set_up(&self) -> bool {
        self.set_up.as_ref().is_some_and(|set_up| set_up.state == SetUpState::Working)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            WorkerCheck::Works { program, libraries, handshake } => {
                line(f, LABEL, &format!("{}, version {}", program.display(), handshake.version))?;
                let folder = libraries.as_ref().map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
                line(f, "", &format!("libtorch {}{folder}", handshake.libtorch))?;
                for device in &handshake.devices {
                    let memory = device.memory.map(|bytes| format!(", {:.0} GiB", bytes as f64 / f64::from(1 << 30)));
                    line(f, "", &format!("{}: {}{}", device.name, device.kind, memory.unwrap_or_default()))?;
                }
            }
            WorkerCheck::Missing => line(f, LABEL, "none")?,
            WorkerCheck::Broken(_) | WorkerCheck::Misnamed(_) => line(f, LABEL, "cannot be used")?,
        }
        match &self.set_up {
            Some(set_up) if set_up.state == SetUpState::Working => {
                let percent = set_up.percent.map(|percent| format!(", {percent} %")).unwrap_or_default();
                let (step, steps) = set_up.step;
                line(f, "", &format!("being set up, step {step} of {steps}: {}{percent}", set_up.message))
            }
            _ => Ok(()),
        }
    }
}

const LABEL: &str = "worker";

impl WorkerCheck {
    fn here() -> WorkerCheck {
        let refused = |error: LaunchError| match WorkerProgram::named(None) {
            Some(_) => WorkerCheck::Misnamed(error.to_string()),
            None => WorkerCheck::Broken(error.to_string()),
        };
        let worker = match WorkerProgram::find(None) {
            Ok(worker) => worker,
            Err(LaunchError::Missing) => return WorkerCheck::Missing,
            Err(error) => return refused(error),
        };
        match worker.handshake() {
            Ok(handshake) => {
                let adjacent = worker.path().parent().map(|folder| folder.join("../lib"));
                let libraries = adjacent.and_then(|folder| folder.canonicalize().ok());
                WorkerCheck::Works { program: worker.path().to_owned(), libraries, handshake }
            }
            Err(error) => refused(error),
        }
    }
}
