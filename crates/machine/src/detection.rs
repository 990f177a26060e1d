//! Detection of what the machine has: libraries, programs, graphics drivers, GPUs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::needs::Detection;

impl Detection {
    /// Whether the requirement is met on this machine.
    pub fn finds(self) -> bool {
        match self {
            Detection::Library(name) => can_open(Path::new(name)),
            Detection::Program(name) => is_on_path(name),
            Detection::GraphicsDriver => (can_open(Path::new(VULKAN)) && !vulkan_drivers().is_empty()) || has_opengl(),
            Detection::SoftwareVulkan => can_open(Path::new(VULKAN)) && software_vulkan().is_some(),
        }
    }
}

const VULKAN: &str = "libvulkan.so.1";

pub fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Whether the desktop opens file dialogs for programs, over the session's message bus.
pub fn has_portal() -> bool {
    const SERVICE: &str = "dbus-1/services/org.freedesktop.portal.Desktop.service";
    let has_bus = env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty())
        || env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).join("bus").exists());
    let folders = env::var_os("XDG_DATA_DIRS").filter(|folders| !folders.is_empty());
    let folders = folders.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    has_bus && env::split_paths(&folders).any(|folder| folder.join(SERVICE).is_file())
}

/// Whether this machine has a GPU that CUDA may run on, with or without a sufficient driver.
pub fn has_nvidia_gpu() -> bool {
    Path::new("/proc/driver/nvidia/version").exists()
        || is_on_path(&format!("nvidia-smi{}", env::consts::EXE_SUFFIX))
        || can_open(Path::new("libcuda.so.1"))
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether the system's loader opens this library, as winit and wgpu do.
#[cfg(target_os = "linux")]
fn can_open(library: &Path) -> bool {
    use std::ffi::{CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;

    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    }
    const RTLD_LAZY: c_int = 1;

    let Ok(name) = CString::new(library.as_os_str().as_bytes()) else { return false };
    // SAFETY: `name` is a C string that outlives the call. Opening a library runs its initialisers; those of drivers
    // and window libraries are made for any program. The library stays open, as not every driver can be closed.
    !unsafe { dlopen(name.as_ptr(), RTLD_LAZY) }.is_null()
}

#[cfg(not(target_os = "linux"))]
fn can_open(_library: &Path) -> bool {
    false
}

/// Returns the manifest of lavapipe, the Vulkan driver that draws on the processor.
pub fn software_vulkan() -> Option<PathBuf> {
    let is_software = |name: &OsStr| name.to_string_lossy().starts_with("lvp_icd");
    vulkan_drivers().into_iter().find(|manifest| manifest.file_name().is_some_and(is_software))
}

/// Lists the manifests of the Vulkan drivers whose libraries can be opened, in the folders of Vulkan's loader.
fn vulkan_drivers() -> Vec<PathBuf> {
    let list = |name| env::var_os(name).filter(|value| !value.is_empty());
    let folders = match list("VK_DRIVER_FILES").or_else(|| list("VK_ICD_FILENAMES")) {
        Some(chosen) => env::split_paths(&chosen).collect(),
        None => data_folders().into_iter().map(|folder| folder.join("vulkan/icd.d")).collect::<Vec<_>>(),
    };
    let manifests = folders.iter().flat_map(|path| manifests_in(path));
    manifests.filter(|manifest| leads_to_a_library(manifest)).collect()
}

/// Whether there is an OpenGL driver behind EGL.
fn has_opengl() -> bool {
    let folders = ["/etc/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d"];
    can_open(Path::new("libEGL.so.1"))
        && folders
            .iter()
            .flat_map(|folder| manifests_in(Path::new(folder)))
            .any(|manifest| leads_to_a_library(&manifest))
}

/// Lists the folders of settings and data of installed programs, the user's own first.
fn data_folders() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let lists = [
        ("XDG_CONFIG_HOME", home.join(".config")),
        ("XDG_CONFIG_DIRS", PathBuf::from("/etc/xdg")),
        ("", PathBuf::from("/etc")),
        ("XDG_DATA_HOME", home.join(".local/share")),
        ("XDG_DATA_DIRS", PathBuf::from("/usr/local/share:/usr/share")),
    ];
    let values = lists.map(|(variable, default)| {
        let set = if variable.is_empty() { None } else { env::var_os(variable) };
        set.filter(|value| !value.is_empty()).unwrap_or_else(|| default.into_os_string())
    });
    values.iter().flat_map(env::split_paths).collect()
}

/// Lists a manifest, or the manifests in a folder, sorted.
fn manifests_in(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut manifests: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    manifests.sort();
    manifests
}

/// Whether the library that a driver's manifest names can be opened.
fn leads_to_a_library(manifest: &Path) -> bool {
    let text = fs::read_to_string(manifest).unwrap_or_default();
    library_path(&text).is_some_and(|library| {
        let base = manifest.parent().filter(|_| library.contains('/'));
        can_open(&base.unwrap_or(Path::new("")).join(&library))
    })
}

/// The `library_path` in a driver's manifest, a JSON file. The system's loader searches for a path without a slash; a
/// relative path starts at the manifest.
fn library_path(manifest: &str) -> Option<String> {
    let (_, after) = manifest.split_once("\"library_path\"")?;
    let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (path, _) = value.split_once('"')?;
    Some(path.replace("\\/", "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_library_of_a_manifest() {
        let of = |text| library_path(text);
        let mesa = r#"{ "ICD": { "api_version": "1.1.230", "library_path": "/usr/lib/libvulkan_lvp.so" } }"#;
        assert_eq!(of(mesa).as_deref(), Some("/usr/lib/libvulkan_lvp.so"));
        assert_eq!(of(r#"{"ICD":{"library_path" : "libGLX_nvidia.so.0"}}"#).as_deref(), Some("libGLX_nvidia.so.0"));
        assert_eq!(of(r#"{"ICD":{"library_path":"..\/lib\/x.so"}}"#).as_deref(), Some("../lib/x.so"));
        assert_eq!(of(r#"{"ICD":{}}"#), None);
        assert_eq!(of(r#"{"library_path": 3}"#), None);
        assert_eq!(of(""), None);
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn finds_only_existing_requirements() {
        assert!(Detection::Library("libc.so.6").finds());
        assert!(!Detection::Library("libno-such-thing.so.1").finds());
        assert!(Detection::Program("sh").finds());
        assert!(!Detection::Program("no-such-program").finds());
    }
}
