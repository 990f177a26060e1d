//! The commands `cargo xtask test` and `cargo xtask fuzz`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, process};

use valleyscope_machine as machine;
use valleyscope_machine::Display;

use super::cargo::{cargo, project, step};
use super::worker::PyTorch;
use super::{Stop, USAGE, say, setup, wheel, worker};

fn rule_files() -> Result<Vec<PathBuf>, Stop> {
    let folder = project().join("crates/engine/src/optimizer");
    let unread = |error| Stop::failed(format!("xtask: {}: {error}", folder.display()));
    let files = folder.read_dir().map_err(unread)?.map(|entry| Ok(entry?.path()));
    let files = files.collect::<Result<Vec<_>, std::io::Error>>().map_err(unread)?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect())
}

/// Sets up the machine, then checks format and lints and runs all tests. With `arguments`, only `cargo test` is run,
/// with them. Without a PyTorch, the worker and its tests are left out. Prints at the end what was left out.
pub fn test(arguments: &[String], with_worker: bool) -> Result<(), Stop> {
    let display = Display::here();
    setup::provide_rust_components()?;
    setup::provide(machine::for_building().into_iter().chain(machine::for_tests(display)).collect())?;
    setup::ready();
    let left_out = LeftOut::begin()?;
    let pytorch = pytorch(with_worker);
    let of_workspace = |subcommand| {
        let mut command = linted(subcommand, pytorch.as_ref());
        command.arg("--workspace");
        if pytorch.is_none() {
            command.args(["--exclude", "valleyscope-training"]);
        }
        command
    };
    if arguments.is_empty() {
        check_format()?;
        let mut bare = linted("check", None);
        bare.args(["--package", "valleyscope", "--no-default-features", "--lib", "--bins"]);
        step("lints without the window: clippy on --no-default-features", &mut bare)?;
        check_engine_for_web(&left_out)?;
        // This compiles in full, under clippy, so that dependencies are built once for lints and tests.
        step("lints: clippy on everything", of_workspace("build").arg("--all-targets"))?;
    }
    let mut tests = of_workspace("test");
    tests.args(arguments);
    // Pictures are compared under one driver, independent of this machine's graphics card.
    if let Some(manifest) = machine::software_vulkan() {
        tests.env("VK_DRIVER_FILES", manifest);
    }
    let xvfb = display.is_none().then(Xvfb::start).transpose()?;
    if let Some(xvfb) = &xvfb {
        tests.env("DISPLAY", xvfb.display());
    }
    tests.env(LeftOut::VARIABLE, &left_out.path);
    let outcome = step("tests: cargo test", &mut tests);
    let outcome = if arguments.is_empty() { outcome.and_then(|()| test_python(&left_out)) } else { outcome };
    if pytorch.is_none() {
        say(LEFT_OUT);
        left_out.add("the training worker: there is no PyTorch for it");
    }
    left_out.print();
    outcome
}

fn check_format() -> Result<(), Stop> {
    step("formatting: cargo fmt --check", cargo("fmt").args(["--all", "--check"]))?;
    let mut rules = Command::new("rustfmt");
    rules.args(["--check", "--edition", "2024"]).args(rule_files()?);
    step("formatting of rules, which are declared in a macro", &mut rules)
}

/// The file with a line for each check and test that this machine leaves out.
struct LeftOut {
    path: PathBuf,
    /// False if the caller names it.
    is_own: bool,
}

impl LeftOut {
    /// The variable that names the file. A caller of several `cargo xtask test` may set it, to have one list.
    const VARIABLE: &str = "VALLEYSCOPE_LEFT_OUT";

    fn begin() -> Result<LeftOut, Stop> {
        let named = env::var_os(LeftOut::VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let is_own = named.is_none();
        let own = || env::temp_dir().join(format!("valleyscope-left-out-{}.txt", process::id()));
        let list = LeftOut { path: named.unwrap_or_else(own), is_own };
        // A killed run with the same process number may have left lines.
        let (empties, adds) = (list.is_own, !list.is_own);
        let made = File::options().create(true).write(true).truncate(empties).append(adds).open(&list.path);
        made.map_err(|error| Stop::failed(format!("xtask: {}: {error}", list.path.display())))?;
        Ok(list)
    }

    fn add(&self, line: &str) {
        let written = File::options().append(true).open(&self.path).and_then(|mut file| writeln!(file, "{line}"));
        if let Err(error) = written {
            say(format_args!("{}: {error}; left out: {line}", self.path.display()));
        }
    }

    fn print(&self) {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let lines: BTreeSet<&str> = text.lines().collect();
        println!("left out on this machine:{}", if lines.is_empty() { " nothing" } else { "" });
        lines.iter().for_each(|line| println!("    {line}"));
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        if self.is_own {
            // A file that remains is among the temporary ones.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the Python package with the profile of tests, installs it in a virtual environment, and runs its tests. Without
/// the packages that they need, they are left out.
fn test_python(left_out: &LeftOut) -> Result<(), Stop> {
    const PACKAGES: [&str; 7] = ["numpy", "pytest", "nbclient", "ipykernel", "pandas", "xarray", "tqdm"];
    const WITH_TORCH: [&str; 2] = ["torch==2.11.0", "pytorch_optimizer==4.1.0"];
    const FOLDER: &str = "python-tests";
    if let Err(stop) = wheel::environment(FOLDER, &PACKAGES).and_then(|_| wheel::maturin()) {
        left_out.add(&format!("the tests of the Python package: {}", stop.message));
        return Ok(());
    }
    let wheel = wheel::wheel("dev", false)?;
    let python = wheel::environment(FOLDER, &["--force-reinstall", "--no-deps", &wheel.to_string_lossy()])?;
    if wheel::environment(FOLDER, &WITH_TORCH).is_err() {
        left_out.add("the tests of the Python package that need torch: it could not be installed");
    }
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(project().join("tests/python"));
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    step("tests of the Python package: pytest", &mut tests)
}

/// Checks that the engine builds for web pages, if the compiler has the target for them.
fn check_engine_for_web(left_out: &LeftOut) -> Result<(), Stop> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let has_target = asked.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_dir());
    if !has_target {
        left_out.add(&format!("the engine for {TARGET}: `rustup target add {TARGET}` would install it"));
        return Ok(());
    }
    let mut engine = linted("check", None);
    engine.args(["--package", "valleyscope-engine", "--target", TARGET]);
    step("lints of the engine for web pages", &mut engine)
}

const LEFT_OUT: &str = "
****************************************************************
*  THE TRAINING WORKER IS LEFT OUT: IT IS NOT BUILT OR TESTED  *
****************************************************************";

/// Finds or installs a PyTorch to test the worker with, if wanted and possible.
pub fn pytorch(wanted: bool) -> Option<PyTorch> {
    let found = wanted.then(worker::pytorch_for_tests)?;
    found.map_err(|stop| say(format_args!("no PyTorch for the training worker: {}\n{LEFT_OUT}", stop.message))).ok()
}

/// Makes cargo's command with clippy instead of the compiler for the project's own packages; warnings are errors.
pub fn linted(subcommand: &str, pytorch: Option<&PyTorch>) -> Command {
    let mut command = cargo(subcommand);
    if let Some(pytorch) = pytorch {
        worker::with_pytorch(&mut command, pytorch);
    }
    // `cargo clippy` sets up its driver through these variables.
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command.env("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}

/// Parses the target and the minutes from the arguments; without a target, all are run.
fn asked(arguments: &[String]) -> Result<(Option<&str>, u64), Stop> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (target, minutes) = match arguments[..] {
        [] => (None, Some("1")),
        ["--minutes", minutes] => (None, Some(minutes)),
        [target] => (Some(target), Some("1")),
        [target, "--minutes", minutes] | ["--minutes", minutes, target] => (Some(target), Some(minutes)),
        _ => (None, None),
    };
    if target.is_some_and(|target| target.starts_with('-')) {
        return Err(Stop::refused(USAGE));
    }
    let minutes = minutes.ok_or_else(|| Stop::refused(USAGE))?.parse().ok().filter(|minutes| *minutes > 0);
    Ok((target, minutes.ok_or_else(|| Stop::refused("xtask: --minutes takes a whole number from 1"))?))
}

/// Runs the targets whose names contain the requested one. Each run tries other inputs, unless `VALLEYSCOPE_FUZZ_SEED`
/// chooses them.
pub fn fuzz(arguments: &[String], with_worker: bool) -> Result<(), Stop> {
    let (target, minutes) = asked(arguments)?;
    let pytorch = pytorch(with_worker);
    let tests = |options: &[&str]| {
        let mut tests = linted("test", pytorch.as_ref());
        tests.args(["--package", "valleyscope", "--test", "fuzz"]);
        if pytorch.is_some() {
            tests.args(["--package", "valleyscope-training"]);
        }
        tests.arg("--").args(options).args(target);
        tests
    };
    say("building the targets");
    let listed = tests(&["--list", "--format", "terse"]).stderr(Stdio::inherit()).output();
    let listed = listed.map_err(|error| Stop::failed(format!("xtask: cannot start cargo: {error}")))?;
    if !listed.status.success() {
        return Err(Stop::failed("xtask: the targets cannot be built"));
    }
    if !String::from_utf8_lossy(&listed.stdout).contains(": test") {
        let target = target.unwrap_or_default();
        return Err(Stop::refused(format!("xtask: no target in tests/fuzz has {target} in its name")));
    }
    let mut run = tests(&["--nocapture", "--test-threads", "1"]);
    if std::env::var_os("VALLEYSCOPE_FUZZ_SEED").is_none() {
        let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
        run.env("VALLEYSCOPE_FUZZ_SEED", seed.to_string());
    }
    run.env("VALLEYSCOPE_FUZZ_MINUTES", minutes.to_string());
    step("trying inputs", &mut run)
}

/// An X server without a screen, which ends when this is dropped.
pub struct Xvfb {
    server: Child,
    number: u32,
}

impl Xvfb {
    /// Starts a server with a free display number.
    pub fn start() -> Result<Xvfb, Stop> {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Stop::failed(format!("xtask: cannot start Xvfb: {error}")))?;
        let stdout = server.stdout.take().expect("stdout was asked for");
        let mut line = String::new();
        // The server writes the number when it is ready, and nothing if it ends before.
        let read = BufReader::new(stdout).read_line(&mut line);
        let mut xvfb = Xvfb { server, number: 0 };
        match line.trim().parse() {
            Ok(number) => xvfb.number = number,
            Err(_) => return Err(Stop::failed(format!("xtask: Xvfb did not start ({read:?}, {line:?})"))),
        }
        say(format_args!("there is no display; the tests get {}, which is Xvfb", xvfb.display()));
        Ok(xvfb)
    }

    /// The value of `DISPLAY` for its clients.
    pub fn display(&self) -> String {
        format!(":{}", self.number)
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        // Killing fails if the process has ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_minutes_are_told_apart() {
        let of = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (line, target, minutes) in
            [("", None, 1), ("presets --minutes 10", Some("presets"), 10), ("--minutes 2 npz", Some("npz"), 2)]
        {
            assert_eq!(asked(&of(line)), Ok((target, minutes)));
        }
        for wrong in ["--minutes", "--minutes 0", "--minutes x", "--hours 2", "two names"] {
            assert!(asked(&of(wrong)).is_err(), "{wrong}");
        }
    }
}
