//! Finding and installing missing requirements.

use std::process::{Command, Stdio};

use valleyscope_machine::{self as machine, Need, PackageManager};

use crate::cargo::{status, step};
use crate::{Stop, say};

/// The action for missing requirements.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    /// Install these packages with apt-get.
    Install(Vec<&'static str>),
    /// Print this for the user, who may have more rights than this program.
    Ask(String),
}

fn plan(missing: &[&Need], manager: Option<PackageManager>, root: bool) -> Plan {
    let names = || missing.iter().map(|need| format!("    {need}\n")).collect::<String>();
    match manager {
        _ if missing.is_empty() => Plan::Nothing,
        Some(PackageManager::Apt) if root => Plan::Install(PackageManager::Apt.packages(missing)),
        Some(manager) => Plan::Ask(format!(
            "This machine lacks\n{}Run this command, then try again:\n    {}",
            names(),
            manager.command(missing, root)
        )),
        None => Plan::Ask(format!(
            "This machine lacks\n{}Install that with the system's package manager, then try again.",
            names()
        )),
    }
}

/// Installs the `needs` that this machine lacks.
pub fn provide(needs: Vec<&'static Need>) -> Result<(), Stop> {
    let missing = machine::missing(needs);
    match plan(&missing, PackageManager::here(), machine::is_root()) {
        Plan::Nothing => return Ok(()),
        Plan::Ask(text) => return Err(Stop::failed(text)),
        Plan::Install(packages) => install(&packages)?,
    }
    let still = machine::missing(missing);
    if still.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = still.iter().map(|need| need.to_string()).collect();
    Err(Stop::failed(format!("The packages are installed, but this is still missing: {}", names.join(", "))))
}

fn install(packages: &[&str]) -> Result<(), Stop> {
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command
    };
    step("apt-get update", apt_get().args(["update", "--quiet"]))?;
    let what = format!("apt-get install {}", packages.join(" "));
    step(&what, apt_get().args(["install", "--yes", "--quiet", "--no-install-recommends"]).args(packages))
}

/// Installs rustfmt and clippy, which a minimal installation of Rust lacks.
pub fn provide_rust_components() -> Result<(), Stop> {
    let missing: Vec<_> = [("rustfmt", "rustfmt"), ("clippy", "clippy-driver")]
        .into_iter()
        .filter(|(_, program)| !answers(program))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let components: Vec<_> = missing.iter().map(|(component, _)| *component).collect();
    if !answers("rustup") {
        let names = components.join(" and ");
        return Err(Stop::failed(format!(
            "Rust is installed without {names}, and there is no rustup to add it. Install {names}."
        )));
    }
    let what = format!("rustup component add {}", components.join(" "));
    step(&what, Command::new("rustup").args(["component", "add"]).args(components))
}

/// Whether a program starts. rustup has a stand-in for a missing component of Rust, which fails.
pub fn answers(program: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    status(&mut version).is_ok_and(|status| status.success())
}

pub fn ready() {
    say("this machine has everything needed");
}

#[cfg(test)]
mod tests {
    use super::*;
    use valleyscope_machine::{Detection, Display, for_building, for_tests, for_window};

    /// Lists the needs that are not met by a machine with only the `present` requirements.
    fn lacking(needs: Vec<&'static Need>, present: &[Detection]) -> Vec<&'static Need> {
        needs.into_iter().filter(|need| !present.contains(&need.detection)).collect()
    }

    #[test]
    fn installs_nothing_on_a_complete_machine() {
        for manager in [None, Some(PackageManager::Apt), Some(PackageManager::Dnf)] {
            assert_eq!(plan(&[], manager, true), Plan::Nothing);
            assert_eq!(plan(&[], manager, false), Plan::Nothing);
        }
    }

    #[test]
    fn installs_all_test_requirements_in_a_bare_container() {
        let missing = lacking(for_tests(None), &[]);
        let Plan::Install(packages) = plan(&missing, Some(PackageManager::Apt), true) else {
            panic!("no installation")
        };
        let expected = [
            "libvulkan1",
            "libx11-6",
            "libx11-xcb1",
            "libxcursor1",
            "libxi6",
            "libxkbcommon-x11-0",
            "libxkbcommon0",
            "mesa-vulkan-drivers",
            "xvfb",
        ];
        assert_eq!(packages, expected);
    }

    #[test]
    fn installs_only_missing_packages() {
        let present = for_tests(None)
            .into_iter()
            .map(|need| need.detection)
            .filter(|&detection| detection != Detection::Program("Xvfb"));
        let missing = lacking(for_tests(None), &present.collect::<Vec<_>>());
        assert_eq!(plan(&missing, Some(PackageManager::Apt), true), Plan::Install(vec!["xvfb"]));
    }

    #[test]
    fn prints_the_command_without_the_right_to_install() {
        let missing = lacking(for_window(Some(Display::Wayland)), &[Detection::GraphicsDriver]);
        let printed = |manager, root| match plan(&missing, manager, root) {
            Plan::Ask(text) => text.lines().last().unwrap().trim().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(printed(Some(PackageManager::Apt), false), "sudo apt-get install libwayland-client0 libxkbcommon0");
        assert_eq!(printed(Some(PackageManager::Dnf), false), "sudo dnf install libwayland-client libxkbcommon");
        assert_eq!(printed(Some(PackageManager::Dnf), true), "dnf install libwayland-client libxkbcommon");
        assert_eq!(printed(Some(PackageManager::Pacman), false), "sudo pacman -S --needed libxkbcommon wayland");
        assert_eq!(printed(Some(PackageManager::Zypper), true), "zypper install libwayland-client0 libxkbcommon0");
        assert!(printed(None, true).contains("package manager"));
    }

    #[test]
    fn wayland_needs_no_x11_and_a_display_needs_no_xvfb() {
        let detections = |needs: Vec<&Need>| needs.iter().map(|need| need.detection).collect::<Vec<_>>();
        assert!(!detections(for_window(Some(Display::Wayland))).contains(&Detection::Library("libX11.so.6")));
        assert!(!detections(for_tests(Some(Display::X11))).contains(&Detection::Program("Xvfb")));
        assert!(detections(for_tests(Some(Display::X11))).contains(&Detection::SoftwareVulkan));
        assert_eq!(detections(for_tests(Some(Display::Native))), []);
        if cfg!(target_os = "linux") {
            assert_eq!(detections(for_building()), [Detection::Program("cc")]);
        }
    }
}
