//! The project's commands, for a machine with nothing but Rust on it:
//!
//! ```text
//! cargo xtask run [-- ARGUMENTS…]     sets up what is missing, then builds and starts valleyscope
//! cargo xtask setup                   sets up what is missing, and builds valleyscope and its training worker
//! cargo xtask test                    sets up what is missing, then checks format, lints and all tests
//! cargo xtask test -- ARGUMENTS…      sets up what is missing, then runs only the tests that the arguments name
//! cargo xtask fuzz [TARGET]           tries damaged and crafted inputs
//! cargo xtask wheel                   makes the Python package, with the programs in it
//! cargo xtask docs                    writes the reference pages of the book, and builds it
//! ```
//!
//! Missing requirements are installed as root on Debian and its derivatives. Elsewhere the command that installs them
//! is printed, and nothing is changed. PyTorch, which the training worker needs, is installed in the user's data folder
//! if the machine has none that fits.

mod cargo;
mod setup;
mod test;
mod wheel;
mod worker;

use std::fmt;
use std::process::{Command, ExitCode};

use cargo::{build_valleyscope, cargo, project, status, step};
use valleyscope_machine as machine;
use valleyscope_machine::{Display, SetUpState};
use worker::Audience;

const USAGE: &str = "\
Usage: cargo xtask run [--no-worker] [-- ARGUMENTS…]
           set up this machine, then build and start valleyscope; meanwhile the training worker is set up in the
           background, unless --no-worker is given
       cargo xtask setup [--no-worker | --only-worker] [--background]
           set up this machine and build valleyscope and the training worker, or only one of them; with
           --background the worker is set up by a process that outlives this command
       cargo xtask setup --cancel
           end the running set-up of the worker
       cargo xtask test [--no-worker] [-- ARGUMENTS…]
           set up this machine, then check format, lints and all tests, those of the worker too unless
           --no-worker is given; with ARGUMENTS, for instance a test's name, only run `cargo test` with them
       cargo xtask fuzz [TARGET] [--minutes N] [--no-worker]
           try damaged and crafted inputs, N minutes (1 unless given) each of presets, set, events, commands, idx,
           npz, recorded_clouds, sweep_records and training_checkpoints, or of one of these TARGETs
       cargo xtask wheel [--no-worker]
           make the Python package in target/wheels, with valleyscope and the training worker in it
       cargo xtask docs
           write the pages in docs/src/reference, which are made from the code, then build the book with mdbook where
           that is installed";

/// The early end of a command, with its exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    message: String,
    code: u8,
    /// The state in which it leaves a set-up of the worker.
    state: SetUpState,
}

impl Stop {
    fn failed(message: impl fmt::Display) -> Stop {
        Stop { message: message.to_string(), code: 1, state: SetUpState::Failed }
    }

    /// A wrong use of the command.
    fn refused(message: impl fmt::Display) -> Stop {
        Stop { code: 2, ..Stop::failed(message) }
    }

    /// Ends with the code of another program, which has already printed the reason.
    fn with_code(code: u8) -> Stop {
        Stop { code, ..Stop::failed("") }
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    let outcome = match command.as_str() {
        "run" => {
            let with_worker = !take(&mut arguments, "--no-worker");
            run(after_dashes(&arguments), with_worker)
        }
        "setup" => set_up(&arguments),
        "test" => {
            let with_worker = !take(&mut arguments, "--no-worker");
            test::test(after_dashes(&arguments), with_worker)
        }
        "fuzz" => {
            let given = arguments.len();
            arguments.retain(|argument| argument != "--no-worker");
            test::fuzz(&arguments, arguments.len() == given)
        }
        "wheel" => {
            let with_worker = !take(&mut arguments, "--no-worker");
            wheel::wheel("release", with_worker).map(drop)
        }
        "docs" => docs(),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(Stop::refused(USAGE)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            if !stop.message.is_empty() {
                eprintln!("{}", stop.message);
            }
            ExitCode::from(stop.code)
        }
    }
}

/// Runs `cargo xtask setup`, which installs all requirements without starting the program.
fn set_up(arguments: &[String]) -> Result<(), Stop> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => set_up_app().and_then(|()| worker::set_up(Audience::here())),
        ["--no-worker"] => set_up_app(),
        ["--only-worker"] => worker::set_up(Audience::here()),
        // The arguments of the process in the background.
        ["--only-worker", "--detached"] => worker::set_up(Audience::Nobody),
        ["--background"] => set_up_app().and_then(|()| set_up_worker_in_background()),
        ["--only-worker", "--background"] => set_up_worker_in_background(),
        ["--cancel"] => worker::cancel(),
        _ => Err(Stop::refused(USAGE)),
    }
}

fn set_up_app() -> Result<(), Stop> {
    let mut needs = machine::for_building();
    // Without a display only the command line can be used.
    if let Some(display) = Display::here() {
        needs.extend(machine::for_window(Some(display)));
    }
    setup::provide(needs)?;
    setup::ready();
    build_valleyscope().map(drop)
}

fn set_up_worker_in_background() -> Result<(), Stop> {
    if worker::may_set_up_in_background(true)? { worker::set_up_in_background() } else { Ok(()) }
}

/// Removes an option of xtask from the front of the arguments, before those of another program.
fn take(arguments: &mut Vec<String>, option: &str) -> bool {
    let given = arguments.first().is_some_and(|first| first == option);
    if given {
        arguments.remove(0);
    }
    given
}

/// Removes the dashes that may separate the arguments from those of xtask.
fn after_dashes(arguments: &[String]) -> &[String] {
    match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    }
}

fn say(text: impl fmt::Display) {
    eprintln!("xtask: {text}");
}

const NO_DISPLAY: &str = "\
There is no display here (neither WAYLAND_DISPLAY nor DISPLAY is set), so the window cannot open.
These commands need none:
    cargo xtask run -- presets list
    cargo xtask run -- simulate fig1c --out fig1c.csv
    cargo xtask run -- doctor";

/// Sets up the machine, then builds valleyscope and starts it with `arguments`. The training worker is set up first if
/// the command trains, and in the background if a window opens.
pub fn run(arguments: &[String], with_worker: bool) -> Result<(), Stop> {
    let mut needs = machine::for_building();
    let opens_window = opens_window(arguments);
    if opens_window {
        let display = Display::here();
        if display.is_none() {
            return Err(Stop::refused(NO_DISPLAY));
        }
        needs.extend(machine::for_window(display));
    }
    setup::provide(needs)?;
    setup::ready();
    let with_worker = with_worker && !names_worker();
    if with_worker && arguments.first().is_some_and(|first| first == "train") {
        worker::set_up(Audience::here())?;
    }
    let in_background = with_worker && opens_window && without_worker(worker::may_set_up_in_background(false));
    let program = build_valleyscope()?;
    if in_background {
        without_worker(worker::set_up_in_background().map(|()| true));
    }
    // `cargo run` would wait until no other build uses the same folder.
    match status(Command::new(program).args(arguments))?.code() {
        Some(0) => Ok(()),
        code => Err(Stop::with_code(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}

fn names_worker() -> bool {
    std::env::var_os("VALLEYSCOPE_TRAIN").is_some_and(|path| !path.is_empty())
}

/// Converts a failure to false, as the window opens without the worker.
fn without_worker(outcome: Result<bool, Stop>) -> bool {
    outcome.unwrap_or_else(|stop| {
        say(format_args!("continuing without the training worker: {}", stop.message));
        false
    })
}

/// Whether valleyscope opens its window with these arguments, as it does without a subcommand.
fn opens_window(arguments: &[String]) -> bool {
    let asks_for_text = |it: &String| ["-h", "--help", "-V", "--version"].contains(&it.as_str());
    let subcommand = arguments.first().filter(|first| !first.starts_with('-'));
    subcommand.is_none_or(|it| it == "app") && !arguments.iter().any(asks_for_text)
}

/// The test that compares the reference pages with the program, and writes them if `UPDATE_BOOK` is set.
const PAGES_TEST: &str = "reference::pages_match_the_program";

const NO_MDBOOK: &str = "\
mdbook, which makes HTML of the book, is not installed. This installs it; then repeat `cargo xtask docs`:
    cargo install mdbook --locked";

/// Writes the reference pages, then builds the book if mdbook is installed.
pub fn docs() -> Result<(), Stop> {
    setup::provide(machine::for_building())?;
    let mut pages = cargo("test");
    pages.args(["--quiet", "--package", "valleyscope", "--test", "book", "--", "--exact", PAGES_TEST]);
    step("writing docs/src/reference", pages.env("UPDATE_BOOK", "1"))?;
    if !setup::answers("mdbook") {
        say(NO_MDBOOK);
        return Ok(());
    }
    let mut book = Command::new("mdbook");
    book.arg("build").arg(project().join("docs")).arg("--dest-dir").arg(project().join("target/book"));
    step("building target/book", &mut book)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_come_before_the_dashes() {
        let split = |line: &str| {
            let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let taken = take(&mut arguments, "--no-worker");
            (taken, after_dashes(&arguments).join(" "))
        };
        assert_eq!(split("--no-worker -- doctor"), (true, "doctor".to_owned()));
        assert_eq!(split("--no-worker doctor"), (true, "doctor".to_owned()));
        assert_eq!(split("-- doctor --no-worker"), (false, "doctor --no-worker".to_owned()));
        assert_eq!(split("doctor -- --all"), (false, "doctor -- --all".to_owned()));
        assert_eq!(split(""), (false, String::new()));
    }

    #[test]
    fn a_window_opens_without_a_subcommand() {
        let opens = |line: &str| opens_window(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert!(opens(""));
        assert!(opens("app"));
        assert!(opens("--preset fig1c"));
        assert!(opens("app --preset fig1c"));
        assert!(!opens("simulate fig1c --steps 10"));
        assert!(!opens("presets list"));
        assert!(!opens("doctor"));
        assert!(!opens("--version"));
        assert!(!opens("app --help"));
    }

    #[test]
    fn the_test_that_writes_pages_exists() {
        // cargo succeeds if it finds no test of a name.
        let (module, name) = PAGES_TEST.split_once("::").unwrap();
        let path = project().join("tests/book").join(module).with_extension("rs");
        assert!(std::fs::read_to_string(path).unwrap().contains(&format!("#[test]\nfn {name}()")));
    }
}
