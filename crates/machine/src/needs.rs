//! The program's requirements on the machine, and the packages that provide them.

use std::fmt;

/// An external requirement of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    pub name: &'static str,
    pub detection: Detection,
    pub packages: Packages,
}

/// The names of packages, separated by spaces, for each package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packages {
    pub apt: &'static str,
    pub dnf: &'static str,
    pub pacman: &'static str,
    pub zypper: &'static str,
}

/// A way to detect a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detection {
    /// A shared library that can be opened under this file name.
    Library(&'static str),
    Program(&'static str),
    /// A driver, Vulkan or OpenGL, with a library that can be opened.
    GraphicsDriver,
    /// Lavapipe, the Vulkan driver that draws on the processor, with a library that can be opened.
    SoftwareVulkan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    Wayland,
    X11,
    /// Part of the system, as on macOS and Windows.
    Native,
}

impl Display {
    /// Chooses the display of this process as winit does.
    pub fn here() -> Option<Display> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !cfg!(target_os = "linux") {
            Some(Display::Native)
        } else if is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET") {
            Some(Display::Wayland)
        } else if is_set("DISPLAY") {
            Some(Display::X11)
        } else {
            None
        }
    }
}

/// Lists the requirements of a window on `display`; without a display, those under X11.
pub fn for_window(display: Option<Display>) -> Vec<&'static Need> {
    let libraries: &[&Need] = match display {
        Some(Display::Native) => return Vec::new(),
        Some(Display::Wayland) => &[&WAYLAND_CLIENT, &XKBCOMMON],
        Some(Display::X11) | None => &[&X11, &X11_XCB, &XCURSOR, &XI, &XKBCOMMON, &XKBCOMMON_X11],
    };
    libraries.iter().copied().chain([&GRAPHICS_DRIVER]).collect()
}

/// Lists the requirements of building the program, besides Rust.
pub fn for_building() -> Vec<&'static Need> {
    if cfg!(target_os = "linux") { vec![&C_COMPILER] } else { Vec::new() }
}

/// Lists the additional requirements of building the training worker, besides libtorch.
pub fn for_building_worker() -> Vec<&'static Need> {
    if cfg!(target_os = "linux") { vec![&CXX_COMPILER] } else { Vec::new() }
}

pub fn for_installing_pytorch() -> Vec<&'static Need> {
    vec![&PIP]
}

/// Lists the requirements of running the tests on `display`. Without a display they start their own.
pub fn for_tests(display: Option<Display>) -> Vec<&'static Need> {
    let mut needs = for_window(display);
    if display != Some(Display::Native) {
        needs.push(&SOFTWARE_VULKAN);
    }
    if display.is_none() {
        needs.push(&XVFB);
    }
    needs
}

macro_rules! needs {
    ($($id:ident: $name:literal, $detection:expr, apt $apt:literal, dnf $dnf:literal, pacman $pacman:literal, zypper $zypper:literal;)*) => {$(
        static $id: Need = Need {
            name: $name,
            detection: $detection,
            packages: Packages { apt: $apt, dnf: $dnf, pacman: $pacman, zypper: $zypper },
        };
    )*};
}

// winit and wgpu open these libraries at run time.
needs! {
    X11: "the X11 library", Detection::Library("libX11.so.6"),
        apt "libx11-6", dnf "libX11", pacman "libx11", zypper "libX11-6";
    X11_XCB: "the X11 library for XCB", Detection::Library("libX11-xcb.so.1"),
        apt "libx11-xcb1", dnf "libX11-xcb", pacman "libx11", zypper "libX11-xcb1";
    XCURSOR: "the X11 cursor library", Detection::Library("libXcursor.so.1"),
        apt "libxcursor1", dnf "libXcursor", pacman "libxcursor", zypper "libXcursor1";
    XI: "the X11 input library", Detection::Library("libXi.so.6"),
        apt "libxi6", dnf "libXi", pacman "libxi", zypper "libXi6";
    XKBCOMMON: "the keyboard library", Detection::Library("libxkbcommon.so.0"),
        apt "libxkbcommon0", dnf "libxkbcommon", pacman "libxkbcommon", zypper "libxkbcommon0";
    XKBCOMMON_X11: "the keyboard library for X11", Detection::Library("libxkbcommon-x11.so.0"),
        apt "libxkbcommon-x11-0", dnf "libxkbcommon-x11", pacman "libxkbcommon-x11", zypper "libxkbcommon-x11-0";
    WAYLAND_CLIENT: "the Wayland library", Detection::Library("libwayland-client.so.0"),
        apt "libwayland-client0", dnf "libwayland-client", pacman "wayland", zypper "libwayland-client0";
    GRAPHICS_DRIVER: "a Vulkan or OpenGL driver", Detection::GraphicsDriver,
        apt "libvulkan1 mesa-vulkan-drivers", dnf "vulkan-loader mesa-vulkan-drivers",
        pacman "vulkan-icd-loader vulkan-swrast", zypper "libvulkan1 libvulkan_lvp";
    SOFTWARE_VULKAN: "the Vulkan driver that draws on the processor", Detection::SoftwareVulkan,
        apt "libvulkan1 mesa-vulkan-drivers", dnf "vulkan-loader mesa-vulkan-drivers",
        pacman "vulkan-icd-loader vulkan-swrast", zypper "libvulkan1 libvulkan_lvp";
    XVFB: "an X server without a screen", Detection::Program("Xvfb"),
        apt "xvfb", dnf "xorg-x11-server-Xvfb", pacman "xorg-server-xvfb", zypper "xorg-x11-server-Xvfb";
    C_COMPILER: "a C compiler", Detection::Program("cc"),
        apt "gcc libc6-dev", dnf "gcc", pacman "gcc", zypper "gcc";
    CXX_COMPILER: "a C++ compiler", Detection::Program("c++"),
        apt "g++ libc6-dev", dnf "gcc-c++", pacman "gcc", zypper "gcc-c++";
    PIP: "Python's installer of packages", Detection::Program("pip3"),
        apt "python3-pip", dnf "python3-pip", pacman "python-pip", zypper "python3-pip";
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detection {
            Detection::Library(file) | Detection::Program(file) => write!(f, "{} ({file})", self.name),
            Detection::GraphicsDriver | Detection::SoftwareVulkan => f.write_str(self.name),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageManager {
    Apt,
    Dnf,
    Pacman,
    Zypper,
}

impl PackageManager {
    pub fn here() -> Option<PackageManager> {
        let os_release = ["/etc/os-release", "/usr/lib/os-release"];
        os_release
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok())
            .and_then(|text| Self::from_os_release(&text))
    }

    /// Finds the package manager of the distribution that an `os-release` file describes.
    pub fn from_os_release(text: &str) -> Option<PackageManager> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or("").trim().trim_matches(['"', '\'']).to_owned()
        };
        let family = format!("{} {}", field("ID"), field("ID_LIKE"));
        family.split_whitespace().find_map(|id| match id {
            "debian" | "ubuntu" => Some(PackageManager::Apt),
            "fedora" | "rhel" | "centos" => Some(PackageManager::Dnf),
            "arch" => Some(PackageManager::Pacman),
            "suse" | "opensuse" => Some(PackageManager::Zypper),
            _ => None,
        })
    }

    /// Lists the packages for `needs`, each once, sorted.
    pub fn packages(self, needs: &[&Need]) -> Vec<&'static str> {
        let names = needs.iter().map(|need| match self {
            PackageManager::Apt => need.packages.apt,
            PackageManager::Dnf => need.packages.dnf,
            PackageManager::Pacman => need.packages.pacman,
            PackageManager::Zypper => need.packages.zypper,
        });
        let mut packages: Vec<&str> = names.flat_map(str::split_whitespace).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }

    pub fn command(self, needs: &[&Need], root: bool) -> String {
        let install = match self {
            PackageManager::Apt => "apt-get install",
            PackageManager::Dnf => "dnf install",
            PackageManager::Pacman => "pacman -S --needed",
            PackageManager::Zypper => "zypper install",
        };
        let sudo = if root { "" } else { "sudo " };
        format!("{sudo}{install} {}", self.packages(needs).join(" "))
    }
}
