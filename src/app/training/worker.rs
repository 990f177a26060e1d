//! The training worker: its status, paths and installation.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use egui::{
    Button, CollapsingHeader, Context, Label, ProgressBar, RichText, ScrollArea, Spinner, TextEdit, TextStyle, Ui,
};
use valleyscope_machine::{PyTorchVariant, SetUpState, SetUpStatus, WorkerFolder};
use valleyscope_runs::{Handshake, LaunchError, RUNS_VARIABLE, SETUP, WorkerProgram, runs_folder};

use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::jobs::Job;
use crate::app::shell::messages::Question;
use crate::app::widgets::form;
use crate::app::widgets::theme::large_primary_button;
use crate::runs::MetricAliases;

/// The paths of runs and of the worker, and its installation.
#[derive(Clone, Debug, Default)]
pub struct TrainingPaths {
    /// The folder of runs, and whether the user has named it for this window.
    pub runs: Option<PathBuf>,
    pub are_runs_named: bool,
    /// The worker to use instead of the one that is found.
    pub worker: Option<PathBuf>,
    /// The folder of the worker's set-up.
    pub worker_folder: Option<WorkerFolder>,
    /// The command that starts the worker's set-up, if this program can start it.
    pub install: Option<InstallCommand>,
    /// The file of the names under which metrics are shown.
    pub aliases: Option<PathBuf>,
}

impl TrainingPaths {
    pub fn of_user() -> TrainingPaths {
        TrainingPaths {
            runs: runs_folder(),
            are_runs_named: std::env::var_os(RUNS_VARIABLE).is_some(),
            worker: None,
            worker_folder: WorkerFolder::of_user(),
            install: InstallCommand::of_project(),
            aliases: MetricAliases::file_of_user(),
        }
    }

    /// Whether a set-up would provide the worker, which it does not if another one is named.
    pub fn can_be_set_up(&self) -> bool {
        let named = WorkerProgram::named(self.worker.as_deref());
        named.is_none_or(|(_, path)| self.worker_folder.as_ref().is_some_and(|folder| folder.program() == path))
    }
}

#[derive(Clone, Debug, Default)]
pub enum WorkerState {
    #[default]
    Asked,
    Ready(Handshake),
    /// The worker is not installed.
    Missing(String),
    /// The worker is installed and cannot be used.
    Unusable(String),
}

impl WorkerState {
    /// The devices and libraries that the worker reported when it became ready.
    pub(super) fn handshake(&self) -> Option<&Handshake> {
        if let WorkerState::Ready(handshake) = self { Some(handshake) } else { None }
    }

    pub(super) fn of(error: &LaunchError) -> WorkerState {
        match error {
            LaunchError::Missing | LaunchError::NoFile { .. } => WorkerState::Missing(error.to_string()),
            _ => WorkerState::Unusable(error.to_string()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerAction {
    CheckAgain,
    Cancel,
}

#[derive(Default)]
pub(super) struct WorkerCard {
    pub installation: Option<Installation>,
    /// The start of the command that installs it.
    beginning: Option<Job<Result<(), String>>>,
    /// The reason why the installation did not begin.
    pub refused: Option<String>,
    /// True while the user is asked to confirm the installation.
    pub asking: bool,
}

impl WorkerCard {
    /// Shows the state of the worker, and how to install it.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        worker: &WorkerState,
        paths: &TrainingPaths,
        requests: &mut Requests,
    ) -> Option<WorkerAction> {
        if let Some(installation) = self.installation.as_ref().filter(|installation| installation.is_at_work()) {
            return at_work(ui, installation, requests);
        }
        let can_be_set_up = paths.can_be_set_up();
        let (heading, reason) = match worker {
            WorkerState::Ready(handshake) => {
                if let Some(problem) = &handshake.problem {
                    let color = ui.visuals().warn_fg_color;
                    ui.add(Label::new(RichText::new(problem).small().color(color)).wrap());
                }
                return None;
            }
            WorkerState::Asked => {
                ui.horizontal(|ui| {
                    ui.add(Spinner::new().size(14.0));
                    ui.label(RichText::new("Asking the training worker what it can use…").small().weak());
                });
                return None;
            }
            WorkerState::Missing(_) if can_be_set_up => ("The training worker is not installed", None),
            WorkerState::Missing(reason) => ("The training worker is not installed", Some(reason)),
            WorkerState::Unusable(reason) => ("The training worker can't be used", Some(reason)),
        };
        let mut wanted = None;
        form::framed(ui, |ui| {
            ui.label(RichText::new(heading).strong());
            self.last_outcome(ui);
            if let Some(reason) = reason {
                ui.add(Label::new(RichText::new(reason).small()).selectable(true).wrap());
            }
            let help = "Training needs a second program, the worker, and PyTorch's libraries. Existing runs can be \
                        viewed without them.";
            ui.add(Label::new(RichText::new(help).small().weak()).wrap());
            if can_be_set_up && paths.install.is_some() {
                self.button(ui);
            }
            ui.add(Label::new(RichText::new(manual_instructions(paths)).small().weak()).wrap());
            wanted = command(ui, requests);
            if let Some(installation) = &self.installation {
                log(ui, installation, requests);
            }
        });
        wanted
    }

    fn button(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            let install = ui.add_enabled(self.beginning.is_none(), large_primary_button(ui, "Install the worker…"));
            self.asking |= install.accessible_name("Install the training worker").clicked();
            if self.beginning.is_some() {
                ui.label(RichText::new("Starting the set-up…").small().weak());
            }
        });
    }

    fn last_outcome(&self, ui: &mut Ui) {
        let visuals = ui.visuals();
        let (error, weak) = (visuals.error_fg_color, visuals.warn_fg_color);
        let mut messages = Vec::new();
        if let Some(SetUpStatus { state, message, .. }) = self.installation.as_ref().and_then(|it| it.status.as_ref()) {
            match state {
                SetUpState::Failed => messages.push((error, format!("The set-up failed: {message}"))),
                SetUpState::Interrupted => {
                    messages.push((error, format!("The set-up was interrupted. Its last message: {message}")));
                }
                SetUpState::Cancelled | SetUpState::Declined => messages.push((weak, message.clone())),
                SetUpState::Working | SetUpState::Done => {}
            }
        }
        messages.extend(self.refused.clone().map(|refused| (error, refused)));
        ScrollArea::vertical().max_height(110.0).id_salt("end of the set-up").show(ui, |ui| {
            for (color, text) in messages {
                ui.add(Label::new(RichText::new(text).small().color(color)).selectable(true).wrap());
            }
        });
    }

    /// Asks before a large download, and then starts the set-up.
    pub(super) fn confirm_install(&mut self, ctx: &Context, paths: &TrainingPaths) {
        if let Some(begun) = Job::take(&mut self.beginning) {
            self.refused = begun.unwrap_or_else(|failed| Err(format!("The set-up did not start: {failed}."))).err();
        }
        let (true, Some(installation), Some(folder), Some(command)) =
            (self.asking, &self.installation, paths.worker_folder.clone(), paths.install.clone())
        else {
            return;
        };
        let bytes = installation.bytes;
        let text = format!(
            "The set-up looks for PyTorch 2.11 on this machine. Where it finds none that fits, it downloads one: about \
             {:.1} GB, which take about {:.1} GB in\n{}\n\nThen it builds the worker, which takes some minutes. All of \
             that is done in the background, can be cancelled here, and goes on when the window is closed.",
            bytes.download as f64 / 1e9,
            bytes.disk as f64 / 1e9,
            folder.path().display()
        );
        let question = Question {
            id: "install the worker",
            heading: "Install the training worker?",
            text: &text,
            yes: "Install",
            no: "Not now",
        };
        let answer = question.ask(ctx);
        self.asking = answer.is_none();
        if answer == Some(true) {
            self.refused = None;
            self.beginning = Some(Job::start(ctx, move |_| command.begin(&folder)));
        }
    }
}

/// Explains why and where the command is typed.
fn manual_instructions(paths: &TrainingPaths) -> String {
    match &paths.install {
        _ if !paths.can_be_set_up() => {
            "Another worker is in use. This command installs one in Valleyscope's source folder:".to_owned()
        }
        Some(install) => format!("Instead, you can run this command in {}:", install.folder.display()),
        None => "This program does not find its source folder, so it cannot install the worker itself. Run this \
                 command in a copy of Valleyscope's source folder; it first shows how much it will download:"
            .to_owned(),
    }
}

fn command(ui: &mut Ui, requests: &mut Requests) -> Option<WorkerAction> {
    let mut again = false;
    ui.horizontal_wrapped(|ui| {
        ui.add(Label::new(RichText::new(SETUP).monospace().strong()).selectable(true));
        if ui.add(Button::new("Copy")).accessible_name("Copy the command that installs the worker").clicked() {
            ui.ctx().copy_text(SETUP.to_owned());
            requests.actions.push(Action::Notify(format!("Copied “{SETUP}”.")));
        }
        again = ui.add(Button::new("Look again")).accessible_name("Look for the worker again").clicked();
    });
    again.then_some(WorkerAction::CheckAgain)
}

fn at_work(ui: &mut Ui, installation: &Installation, requests: &mut Requests) -> Option<WorkerAction> {
    let status = installation.status.as_ref()?;
    let mut cancelled = false;
    form::framed(ui, |ui| {
        ui.label(RichText::new("The training worker is being set up").strong());
        let (step, steps) = status.step;
        let text = format!("Step {step} of {steps}: {}", status.message);
        ui.add(Label::new(RichText::new(text).small()).wrap());
        if let Some(percent) = status.percent {
            let bar = ProgressBar::new(f32::from(percent) / 100.0).desired_height(14.0);
            let bar = bar.text(RichText::new(format!("{percent} %")).small());
            ui.add(bar).accessible_name("Progress of the step");
        }
        ui.horizontal_wrapped(|ui| {
            cancelled = ui.add(Button::new("Cancel")).accessible_name("Cancel the set-up of the worker").clicked();
            ui.label(RichText::new("It continues when the window is closed.").small().weak());
        });
        log(ui, installation, requests);
    });
    cancelled.then_some(WorkerAction::Cancel)
}

fn log(ui: &mut Ui, installation: &Installation, requests: &mut Requests) {
    if installation.log.is_empty() {
        return;
    }
    CollapsingHeader::new(RichText::new("Log").small()).id_salt("log of the set-up").show(ui, |ui| {
        ScrollArea::both().max_height(130.0).stick_to_bottom(true).id_salt("log of the set-up").show(ui, |ui| {
            let mut text = installation.log.as_str();
            let field = TextEdit::multiline(&mut text).font(TextStyle::Small).desired_width(f32::INFINITY);
            ui.add(field.frame(egui::Frame::NONE)).accessible_name("Log of the set-up");
        });
        ui.horizontal_wrapped(|ui| {
            if ui.add(Button::new("Copy").small()).accessible_name("Copy the log of the set-up").clicked() {
                ui.ctx().copy_text(installation.log.clone());
                requests.actions.push(Action::Notify("Copied the end of the log.".to_owned()));
            }
            let path = RichText::new(installation.log_file.display().to_string()).small().weak();
            ui.add(Label::new(path).selectable(true).wrap());
        });
    });
}

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    pub status: Option<SetUpStatus>,
    pub log: String,
    /// The path of the whole log.
    pub log_file: PathBuf,
    /// The sizes of the download where this machine has no suitable PyTorch.
    pub bytes: PyTorchVariant,
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
    /// Makes the project's own command, if this program can find the source folder that it was built from.
    pub fn of_project() -> Option<InstallCommand> {
        let arguments = ["xtask", "setup", "--only-worker", "--background"].map(str::to_owned).to_vec();
        Some(InstallCommand { program: cargo(), arguments, folder: source_folder()? })
    }

    /// Runs the command, and blocks until the set-up is running or has a new outcome.
    pub fn begin(&self, folder: &WorkerFolder) -> Result<(), String> {
        let before = folder.status();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().map_err(|error| {
            let (program, folder) = (self.program.display(), self.folder.display());
            format!("“{program}” cannot be started in {folder}: {error}. Run the command below in a terminal.")
        })?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = messages.lines().collect();
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

/// Finds the cargo that has started this program, or else an installed one.
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

fn source_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let around = program.iter().flat_map(|program| program.ancestors().skip(1));
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    around.chain([built]).find(|folder| is_source(folder)).map(Path::to_owned)
}

fn is_source(folder: &Path) -> bool {
    ["xtask/Cargo.toml", "crates/training/src/main.rs"].iter().all(|file| folder.join(file).is_file())
}
