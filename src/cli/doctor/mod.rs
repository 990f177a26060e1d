//! `valleyscope doctor`: the parts of this machine that the program uses, those that are missing, and remedies.

mod facts;
mod processor;
mod worker;

use std::fmt;

use anyhow::anyhow;

pub use facts::{Adapter, Facts, FolderFacts};
pub use processor::Processor;
pub use valleyscope_experiments::run::SystemMemory;
pub use worker::{WorkerCheck, WorkerFacts};

use valleyscope_experiments::dataset::FOLDER_VARIABLE;
use valleyscope_machine::{Display, Look, Need};

use super::Failure;
use super::output::print;

/// Prints the report on stdout. Returns an error if the window could not open.
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
    /// Returns the problems that prevent the program, or a part of it, from working here.
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
            self.missing.iter().copied().filter(|need| matches!(need.look, Look::Library(_))).collect();
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
        let drivers: Vec<_> = self.missing.iter().copied().filter(|need| need.look == Look::GraphicsDriver).collect();
        let (what, remedy) = if drivers.is_empty() {
            let what = "a graphics driver is installed, but it offers no adapter";
            (what, "install the driver made for this machine's graphics card, or Mesa's Vulkan drivers".to_owned())
        } else {
            ("no Vulkan or OpenGL driver is installed", self.install(&drivers))
        };
        Some(Problem { what: what.to_owned(), remedy, blocks_window: true })
    }

    fn dialog_problem(&self) -> Option<Problem> {
        let dialog = self.missing.iter().copied().find(|need| need.look == facts::ZENITY.look)?;
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
        writeln!(f, "valleyscope {} for {}\n", env!("CARGO_PKG_VERSION"), target())?;
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

/// Returns the target for which this program was compiled.
fn target() -> String {
    let abi = if cfg!(target_env = "musl") {
        " (musl)"
    } else if cfg!(target_env = "gnu") {
        " (GNU)"
    } else if cfg!(target_env = "msvc") {
        " (MSVC)"
    } else {
        ""
    };
    format!("{} on {}{abi}", std::env::consts::OS, std::env::consts::ARCH)
}
