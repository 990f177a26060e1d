use std::env;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use valleyscope_experiments::preset::Library;
use valleyscope_experiments::run::SystemMemory;
use valleyscope_experiments::workload::{DATASETS, DatasetFiles};
use valleyscope_machine::{self as machine, Display, Look, Need, PackageManager, Packages};
use valleyscope_runs::runs_folder;

use super::processor::Processor;
use super::worker::WorkerFacts;

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
    /// The folder that is searched for datasets besides the cache, and in words whether they are there.
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
    /// The contents of the folder.
    pub holds: &'static str,
    pub path: PathBuf,
    pub exists: bool,
    /// Why nothing can be written there.
    pub refusal: Option<String>,
    /// The environment variable that moves it.
    pub variable: &'static str,
}

/// Opens file dialogs where the desktop has no portal for them.
pub(super) static ZENITY: Need = Need {
    name: "a program for file dialogs",
    look: Look::Program("zenity"),
    packages: Packages { apt: "zenity", dnf: "zenity", pacman: "zenity", zypper: "zenity" },
};

impl Facts {
    pub fn of_this_machine() -> Facts {
        let display = Display::here();
        let (display_name, display_answers) = look_at(display);
        let has_window = cfg!(feature = "app");
        let mut missing = Vec::new();
        if has_window {
            let mut needs = machine::for_window(display);
            if cfg!(target_os = "linux") && display.is_some() && !machine::has_portal() {
                needs.push(&ZENITY);
            }
            missing = machine::missing(needs);
        }
        Facts {
            processor: Processor::here(),
            memory: SystemMemory::here(),
            has_window,
            adapters: adapters(display),
            display,
            display_name,
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

/// Returns the display's name for users, and whether a server answers for it, as far as can be determined.
fn look_at(display: Option<Display>) -> (String, bool) {
    let value = |name: &str| env::var(name).unwrap_or_default();
    match display {
        Some(Display::X11) => {
            let name = value("DISPLAY");
            // A display has a number after a colon, such as `:0` or `host:10.0`.
            let answers = name.contains(':') && x11_socket(&name).is_none_or(|socket| is_served(&socket));
            (format!("DISPLAY={name}"), answers)
        }
        Some(Display::Wayland) => {
            let name = value("WAYLAND_DISPLAY");
            if name.is_empty() {
                return ("WAYLAND_SOCKET".to_owned(), true);
            }
            let socket = Path::new(&value("XDG_RUNTIME_DIR")).join(&name);
            (format!("WAYLAND_DISPLAY={name}"), is_served(&socket))
        }
        Some(Display::Native) | None => (String::new(), true),
    }
}

/// Returns the socket of an X11 display on this machine, such as `:0` or `:0.1`.
fn x11_socket(display: &str) -> Option<PathBuf> {
    let number = display.strip_prefix(':')?.split('.').next()?;
    Some(PathBuf::from(format!("/tmp/.X11-unix/X{number}")))
}

#[cfg(target_os = "linux")]
fn is_served(socket: &Path) -> bool {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};

    // An X server also listens on an abstract socket of the same name.
    let abstract_name = SocketAddr::from_abstract_name(socket.as_os_str().as_bytes());
    UnixStream::connect(socket).is_ok() || abstract_name.is_ok_and(|name| UnixStream::connect_addr(&name).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn is_served(_socket: &Path) -> bool {
    true
}

fn data() -> Option<(PathBuf, Vec<String>)> {
    let folder = valleyscope_experiments::dataset::named_folder()?;
    let words = downloaded().map(|files| files.words_of(&folder)).collect();
    Some((folder, words))
}

fn downloaded() -> impl Iterator<Item = &'static DatasetFiles> {
    DATASETS.iter().filter_map(|dataset| dataset.files.as_ref())
}

fn folders() -> Vec<FolderFacts> {
    // Without a home folder there is no such folder; the program then saves only to given paths.
    let presets = Library::open().folder().map(Path::to_owned);
    let data = ProjectDirs::from("", "", "valleyscope").map(|project| project.data_dir().to_owned());
    let [config_variable, data_variable] =
        if cfg!(target_os = "linux") { ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] } else { ["HOME", "HOME"] };
    let cache_variable = if cfg!(target_os = "linux") { "XDG_CACHE_HOME" } else { "HOME" };
    let folders = [
        presets.map(|path| FolderFacts::look("presets", path, config_variable)),
        data.map(|path| FolderFacts::look("session", path, data_variable)),
        runs_folder().map(|path| FolderFacts::look("runs", path, data_variable)),
    ];
    let caches = downloaded().filter_map(|DatasetFiles { title, cache, lacking_in }| {
        // Nothing is written where the files exist already.
        let folder = cache().filter(|path| lacking_in(path).is_some())?;
        Some(FolderFacts::look(title, folder, cache_variable))
    });
    folders.into_iter().flatten().chain(caches).collect()
}

impl FolderFacts {
    /// Checks that a file can be written into a folder, or where that does not exist yet, into its nearest existing
    /// parent.
    pub fn look(holds: &'static str, path: PathBuf, variable: &'static str) -> FolderFacts {
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
