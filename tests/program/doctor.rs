//! The doctor's report, on this machine and on invented ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;
use valleyscope::cli::doctor::{Adapter, Facts, FolderFacts, Processor, SystemMemory, WorkerCheck, WorkerFacts};
use valleyscope_experiments::workload::DatasetFiles;
use valleyscope_machine as machine;
use valleyscope_machine::{
    Detection, Display, PackageManager, SetUp, SetUpRefusal, SetUpState, SetUpStatus, WorkerFolder, for_window,
};
use valleyscope_runs::{Device, Handshake, PROTOCOL};

use crate::says::says;

/// Returns a worker that trains on a graphics card.
fn worker() -> WorkerFacts {
    let device = |name: &str, kind: &str, memory| Device { name: name.into(), kind: kind.into(), memory };
    let handshake = Handshake {
        version: "0.1.0".into(),
        protocol: PROTOCOL,
        libtorch: "2.11.0".into(),
        cuda: Some("13.0".into()),
        devices: vec![device("cpu", "Some CPU", None), device("cuda:0", "Some GPU", Some(80 << 30))],
        problem: None,
    };
    let program = PathBuf::from("/home/ada/.local/share/valleyscope/worker/bin/valleyscope-train");
    let libraries = Some(PathBuf::from("/opt/torch/lib"));
    WorkerFacts { state: WorkerCheck::Works { program, libraries, handshake }, set_up: None }
}

fn set_up(state: SetUpState, message: &str) -> Option<SetUpStatus> {
    Some(SetUpStatus { state, message: message.into(), step: (2, 3), percent: Some(40) })
}

/// Returns a desktop that lacks nothing.
fn desktop() -> Facts {
    Facts {
        processor: Processor { model: "Some CPU".into(), threads: 8, features: vec![("AVX2", true), ("FMA", false)] },
        memory: Some(SystemMemory { total: 16 << 30, available: 4 << 30 }),
        has_window: true,
        adapters: vec![Adapter {
            name: "Some GPU".into(),
            kind: "graphics card",
            software: false,
            backend: "vulkan".into(),
            driver: "some driver 1.2".into(),
        }],
        display: Some(Display::X11),
        display_name: "DISPLAY=:0".into(),
        display_answers: true,
        missing: Vec::new(),
        worker: worker(),
        folders: vec![FolderFacts {
            holds: "presets",
            path: PathBuf::from("/home/ada/.config/valleyscope/presets"),
            exists: true,
            refusal: None,
            variable: "XDG_CONFIG_HOME",
        }],
        data: None,
        package_manager: Some(PackageManager::Apt),
        root: false,
    }
}

#[test]
fn the_folder_of_training_data_is_shown() {
    let files = |lacking_in| DatasetFiles { title: "Letters", cache: || None, lacking_in };
    let all = files(|_| None).words_of(Path::new("/data"));
    let none = files(|folder| Some(format!("no a.txt in {}", folder.display()))).words_of(Path::new("/data"));
    let shown = Facts { data: Some(("/data".into(), vec![all, none])), ..desktop() }.to_string();
    let expected = "VALLEYSCOPE_DATA=/data (has the files of Letters; no Letters: no a.txt in /data)";
    assert!(shown.contains(expected), "{shown}");
    assert!(!desktop().to_string().contains("VALLEYSCOPE_DATA"));
}

/// Returns the window's needs of which nothing but `present` is there.
fn lacking(present: &[Detection]) -> Facts {
    let needs = for_window(Some(Display::X11));
    Facts { missing: needs.into_iter().filter(|need| !present.contains(&need.detection)).collect(), ..desktop() }
}

fn remedies(facts: &Facts) -> Vec<String> {
    facts.problems().into_iter().map(|problem| problem.remedy).collect()
}

#[test]
fn a_complete_machine_has_no_problems() {
    let facts = desktop();
    assert_eq!(facts.problems(), []);
    let text = facts.to_string();
    assert!(text.starts_with(concat!("valleyscope ", env!("CARGO_PKG_VERSION"), " for ")), "{text}");
    for expected in ["Some CPU, 8 threads", "AVX2: yes", "FMA: no", "16.0 GiB, 4.0 GiB of it free", "DISPLAY=:0"] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    assert!(text.contains("Some GPU: graphics card, vulkan, some driver 1.2"), "{text}");
    assert!(text.ends_with("\nEverything needed is here.\n"), "{text}");
}

#[test]
fn missing_libraries_are_named_with_the_command_that_installs_them() {
    let mut facts = lacking(&[Detection::GraphicsDriver]);
    let [problem] = &facts.problems()[..] else { panic!("{:?}", facts.problems()) };
    assert!(problem.blocks_window);
    assert!(problem.what.contains("libX11.so.6") && problem.what.contains("libxkbcommon.so.0"), "{}", problem.what);
    let packages = "libx11-6 libx11-xcb1 libxcursor1 libxi6 libxkbcommon-x11-0 libxkbcommon0";
    assert_eq!(problem.remedy, format!("sudo apt-get install {packages}"));
    facts.root = true;
    assert_eq!(remedies(&facts), [format!("apt-get install {packages}")]);
    facts.package_manager = None;
    assert!(remedies(&facts)[0].contains("libX11.so.6"), "{:?}", remedies(&facts));
}

#[test]
fn no_driver_and_a_driver_without_adapter_are_distinguished() {
    let no_driver = Facts { adapters: Vec::new(), package_manager: Some(PackageManager::Dnf), ..lacking(&[]) };
    let driver = no_driver.problems().into_iter().find(|problem| problem.what.contains("driver")).expect("a problem");
    assert_eq!(driver.remedy, "sudo dnf install mesa-vulkan-drivers vulkan-loader");
    assert!(driver.blocks_window);

    let no_adapter = Facts { adapters: Vec::new(), ..desktop() };
    let [problem] = &no_adapter.problems()[..] else { panic!("{:?}", no_adapter.problems()) };
    assert!(problem.what.contains("offers no adapter") && problem.blocks_window, "{problem:?}");
    assert!(no_adapter.to_string().contains("no adapter"));
}

#[test]
fn a_machine_without_display_points_to_the_commands_that_need_none() {
    for facts in [
        Facts { display: None, display_name: String::new(), ..desktop() },
        Facts { display_answers: false, ..desktop() },
    ] {
        let [problem] = &facts.problems()[..] else { panic!("{:?}", facts.problems()) };
        assert!(problem.what.starts_with("no display") && problem.blocks_window, "{problem:?}");
        assert!(problem.remedy.contains("valleyscope simulate"), "{problem:?}");
        assert!(facts.to_string().ends_with("\n1 thing is missing.\n"));
    }
}

#[test]
fn a_build_without_window_needs_nothing_for_one() {
    let facts = Facts { has_window: false, display: None, adapters: Vec::new(), ..lacking(&[]) };
    assert_eq!(facts.problems(), []);
    assert!(facts.to_string().contains("--no-default-features"));
}

#[test]
fn a_worker_is_shown_with_its_libraries_and_devices() {
    let text = desktop().to_string();
    for expected in [
        "worker      /home/ada/.local/share/valleyscope/worker/bin/valleyscope-train, version 0.1.0\n",
        " libtorch 2.11.0 in /opt/torch/lib\n",
        " cpu: Some CPU\n",
        " cuda:0: Some GPU, 80 GiB\n",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
}

#[test]
fn a_worker_that_cannot_train_is_a_problem_but_not_for_the_window() {
    let with = |state, set_up| Facts { worker: WorkerFacts { state, set_up }, ..desktop() };
    let problem = |facts: &Facts| {
        let [problem] = &facts.problems()[..] else { panic!("{:?}", facts.problems()) };
        assert!(!problem.blocks_window);
        (problem.what.clone(), problem.remedy.clone())
    };
    let (what, remedy) = problem(&with(WorkerCheck::Missing, None));
    assert!(what.contains("valleyscope-train is not installed"), "{what}");
    assert_eq!(remedy, "cargo xtask setup");

    let failed = set_up(SetUpState::Failed, "There is no room left on the disk");
    let (what, _) = problem(&with(WorkerCheck::Missing, failed));
    assert!(what.contains("no room left on the disk"), "{what}");

    let (what, remedy) = problem(&with(WorkerCheck::Broken("libc10.so is missing".into()), None));
    assert_eq!((what.as_str(), remedy.as_str()), ("libc10.so is missing", "cargo xtask setup"));

    let mut old_driver = worker();
    let WorkerCheck::Works { handshake, .. } = &mut old_driver.state else { unreachable!() };
    handshake.problem = Some("the driver is too old".into());
    let (what, _) = problem(&Facts { worker: old_driver, ..desktop() });
    assert!(what.contains("the driver is too old"), "{what}");
}

#[test]
fn a_worker_that_is_being_set_up_is_no_problem() {
    let working = set_up(SetUpState::Working, "Building the training worker");
    let facts = Facts { worker: WorkerFacts { state: WorkerCheck::Missing, set_up: working }, ..desktop() };
    assert_eq!(facts.problems(), []);
    says(facts.to_string(), &["being set up, step 2 of 3: Building the training worker, 40 %"]);
}

/// The folder is computed with the standard library alone, as the set-up has no dependencies.
#[test]
fn the_folder_of_data_is_that_of_the_system() {
    let folders = directories::ProjectDirs::from("", "", "valleyscope");
    assert_eq!(machine::data_folder(), folders.map(|folders| folders.data_dir().to_owned()));
}

#[test]
fn a_folder_that_cannot_be_written_is_a_problem_but_not_for_the_window() {
    let base = tempfile::tempdir().unwrap();
    let there = FolderFacts::check("presets", base.path().to_owned(), "XDG_CONFIG_HOME");
    assert!(there.exists && there.refusal.is_none(), "{there:?}");
    let to_be_made = FolderFacts::check("presets", base.path().join("a/b"), "XDG_CONFIG_HOME");
    assert!(!to_be_made.exists && to_be_made.refusal.is_none(), "{to_be_made:?}");
    assert!(!base.path().join("a").exists(), "looking made a folder");

    // A file in the folder's place refuses everybody, even root.
    std::fs::write(base.path().join("file"), "").unwrap();
    let refused = FolderFacts::check("presets", base.path().join("file/presets"), "XDG_CONFIG_HOME");
    let facts = Facts { folders: vec![refused], ..desktop() };
    let [problem] = &facts.problems()[..] else { panic!("{:?}", facts.problems()) };
    assert!(!problem.blocks_window);
    assert!(problem.what.contains("file/presets") && problem.remedy.contains("XDG_CONFIG_HOME"), "{problem:?}");
}

#[test]
fn the_report_of_this_machine_is_complete() {
    let facts = Facts::of_this_machine();
    assert!(facts.processor.threads >= 1);
    assert_eq!(facts.has_window, cfg!(feature = "app"));
    if cfg!(target_os = "linux") {
        let memory = facts.memory.expect("Linux tells its memory");
        assert!(memory.total >= memory.available && memory.total > 1 << 20, "{memory:?}");
    }
    #[cfg(target_arch = "x86_64")]
    assert!(facts.processor.features.contains(&("AVX2", std::arch::is_x86_feature_detected!("avx2"))));
    let text = facts.to_string();
    for label in ["processor", "memory", "worker", "presets", "session", "runs", "MNIST"] {
        assert!(text.lines().any(|line| line.starts_with(label)), "no {label} in\n{text}");
    }
    let problems = facts.problems().len();
    let verdict = text.lines().last().unwrap();
    assert!(if problems == 0 { verdict.starts_with("Everything") } else { verdict.starts_with(&problems.to_string()) });
    println!("{text}");
}

#[test]
fn the_command_reports_a_missing_display_or_driver() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .command(&["doctor"])
        .env("VK_DRIVER_FILES", sandbox.join("none.json"))
        .envs(
            ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name, "")),
        )
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lacks_something = cfg!(feature = "app") && cfg!(target_os = "linux");
    assert_eq!(output.status.code(), Some(if lacks_something { 1 } else { 0 }), "{stdout}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    if lacks_something {
        assert!(stdout.contains("no display: neither WAYLAND_DISPLAY nor DISPLAY is set"), "{stdout}");
        assert!(stdout.contains("graphics    no adapter"), "{stdout}");
        assert!(stderr.contains("the window cannot open here"), "{stderr}");
    }
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 0, "looking left something behind");
}

#[test]
fn the_command_reports_variables_that_name_nothing() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .command(&["doctor"])
        .envs(["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name, "")))
        .env("DISPLAY", "no-colon")
        .env("VALLEYSCOPE_TRAIN", "/nowhere/worker")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    if cfg!(feature = "app") && cfg!(target_os = "linux") {
        assert_eq!(output.status.code(), Some(1), "{stdout}");
        assert!(stdout.contains("DISPLAY=no-colon is set, but nothing answers there"), "{stdout}");
    }
    // Setting up a worker does not help as long as the variable names another.
    let mut lines = stdout.lines().skip_while(|line| !line.contains("VALLEYSCOPE_TRAIN names /nowhere/worker"));
    assert!(lines.nth(1).is_some_and(|remedy| remedy.contains("unset it")), "{stdout}");
}

#[test]
fn the_status_of_a_set_up_is_readable_during_and_after_it() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(&base.path().join("valleyscope/worker"));
    assert_eq!(folder.status(), None);
    assert!(!folder.is_being_set_up());

    let session = SetUp::begin(&folder).unwrap();
    session.report(SetUpState::Working, "Building", (2, 3), Some(40));
    assert!(folder.is_being_set_up());
    let status = folder.status().expect("a status");
    assert_eq!((status.state, status.message.as_str()), (SetUpState::Working, "Building"));
    assert_eq!((status.step, status.percent), ((2, 3), Some(40)));

    session.report(SetUpState::Done, "It works", (3, 3), None);
    drop(session);
    assert!(!folder.is_being_set_up());
    assert_eq!(folder.status().map(|status| status.state), Some(SetUpState::Done));
}

#[test]
fn a_set_up_without_an_outcome_was_interrupted() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let session = SetUp::begin(&folder).unwrap();
    session.report(SetUpState::Working, "Building", (2, 3), None);
    drop(session);
    assert_eq!(folder.status().map(|status| status.state), Some(SetUpState::Interrupted));
}

#[test]
fn there_is_one_set_up_at_a_time() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let first = SetUp::begin(&folder).unwrap();
    assert!(matches!(SetUp::begin(&folder), Err(SetUpRefusal::Held)));
    drop(first);
    assert!(SetUp::begin(&folder).is_ok());
}

#[test]
fn a_cancellation_affects_only_the_running_set_up() {
    let base = tempfile::tempdir().unwrap();
    let folder = WorkerFolder::at(base.path());
    let first = SetUp::begin(&folder).unwrap();
    assert!(!first.is_cancelled());
    folder.cancel().unwrap();
    assert!(first.is_cancelled());
    drop(first);
    // A request without a running set-up is dropped too.
    folder.cancel().unwrap();
    assert!(!SetUp::begin(&folder).unwrap().is_cancelled());
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("file"), "").unwrap();
    let folder = WorkerFolder::at(&base.path().join("file/worker"));
    assert!(matches!(SetUp::begin(&folder), Err(SetUpRefusal::Folder(_))));
    assert_eq!(folder.status(), None);
}

/// An empty folder that is a user's home and the program's working directory, removed when dropped.
pub struct Sandbox {
    home: TempDir,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox { home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Returns the default folder of runs.
    pub fn runs(&self) -> PathBuf {
        self.join("valleyscope/runs")
    }

    /// Returns the command with this folder as its home, and without a network.
    pub fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(self.path());
        for variable in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, self.path());
        }
        // Nobody listens at this proxy.
        command.env("ALL_PROXY", "http://127.0.0.1:9");
        command
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.at_home(Command::new(env!("CARGO_BIN_EXE_valleyscope")));
        command.args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the program where no file may be larger than this, as on a full disk.
    pub fn run_limited(&self, kib: u32, args: &[&str]) -> Output {
        let script = format!("ulimit -f {kib}; exec \"$0\" \"$@\"");
        let mut shell = self.at_home(Command::new("bash"));
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_valleyscope")]).args(args).output().unwrap()
    }

    /// Writes a file, and makes its folder.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Returns what the program wrote to both outputs.
pub fn said(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

#[track_caller]
pub fn expect_code(output: &Output, code: i32) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// Expects an exit code, and words on either output.
#[track_caller]
pub fn expect(output: &Output, code: i32, words: &[&str]) {
    expect_code(output, code);
    says(said(output), words);
}

/// Expects an exit code, and words on the error output.
#[track_caller]
pub fn expect_error(output: &Output, code: i32, words: &[&str]) {
    expect_code(output, code);
    says(String::from_utf8_lossy(&output.stderr), words);
}

#[track_caller]
pub fn wait_until(what: &str, mut come: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !come() {
        assert!(begun.elapsed() < Duration::from_secs(300), "waited five minutes for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `INT`, to a process.
pub fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

pub fn make_fifo(path: impl AsRef<Path>) {
    assert!(Command::new("mkfifo").arg(path.as_ref()).status().unwrap().success());
}
