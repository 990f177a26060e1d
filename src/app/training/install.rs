//! Installs the worker from the window by a command in the background.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use valleyscope_machine::{PyTorchBytes, SetUpState, SetUpStatus, WorkerFolder};

/// The time limit for the start of the set-up that continues after the command.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between checks for that start.
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The number of lines of a command's output that are shown.
const OUTPUT_LINES: usize = 12;

/// The command that starts the worker's set-up in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The working directory of the command.
    pub folder: PathBuf,
}

/// The status of the worker's set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    pub status: Option<SetUpStatus>,
    /// The end of the set-up's log.
    pub log: String,
    /// The path of the whole log.
    pub log_file: PathBuf,
    /// The sizes of the download where this machine has no suitable PyTorch.
    pub bytes: PyTorchBytes,
}

impl Installation {
    pub(super) fn is_at_work(&self) -> bool {
        self.state() == Some(SetUpState::Working)
    }

    pub(super) fn state(&self) -> Option<SetUpState> {
        self.status.as_ref().map(|status| status.state)
    }
}

impl InstallCommand {
    /// Returns the project's own command, if this program can find the source folder that it was built from.
    pub fn of_project() -> Option<InstallCommand> {
        let arguments = ["xtask", "setup", "--only-worker", "--background"].map(str::to_owned).to_vec();
        Some(InstallCommand { program: cargo(), arguments, folder: source_folder()? })
    }

    /// Runs the command, and returns when the set-up is running or has a new outcome.
    pub fn begin(&self, folder: &WorkerFolder) -> Result<(), String> {
        let before = folder.status();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().map_err(|error| {
            let (program, folder) = (self.program.display(), self.folder.display());
            format!("`{program}` cannot be started in {folder}: {error}. Run the command below in a terminal.")
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(OUTPUT_LINES)..].join("\n");
            return Err(format!("The set-up did not start ({}).\n{last}", output.status));
        }
        let begun = Instant::now();
        while folder.status() == before && !folder.is_being_set_up() {
            if begun.elapsed() > START_TIMEOUT {
                return Err("The set-up was started but is not running; its log may show the reason.".to_owned());
            }
            std::thread::sleep(START_POLL_INTERVAL);
        }
        Ok(())
    }
}

/// Returns the cargo that has started this program, or else an installed one.
fn cargo() -> PathBuf {
    let of_caller = std::env::var_os("CARGO").map(PathBuf::from).filter(|path| path.is_file());
    let installed = || {
        // A window that was opened from a desktop's menu may not have it on its path.
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
        Some(home.join("bin").join(format!("cargo{}", std::env::consts::EXE_SUFFIX))).filter(|path| path.is_file())
    };
    of_caller.or_else(installed).unwrap_or_else(|| "cargo".into())
}

/// Returns the folder of the project's source: around this program, or where it was built.
fn source_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let around = program.iter().flat_map(|program| program.ancestors().skip(1));
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    around.chain([built]).find(|folder| is_source(folder)).map(Path::to_owned)
}

fn is_source(folder: &Path) -> bool {
    ["xtask/Cargo.toml", "crates/training/src/main.rs"].iter().all(|file| folder.join(file).is_file())
}
