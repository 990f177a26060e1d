//! The commands `cargo xtask run` and `cargo xtask docs`.

use std::process::Command;

use valleyscope_machine as machine;
use valleyscope_machine::Display;

use super::cargo::{build_valleyscope, cargo, project, status, step};
use super::worker::Audience;
use super::{Stop, say, setup, worker};

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
    let in_background = with_worker && opens_window && without_worker(worker::may_go_on_in_background(false));
    let program = build_valleyscope()?;
    if in_background {
        without_worker(worker::set_up_in_background().map(|()| true));
    }
    // Not by `cargo run`, which would wait until nobody else builds in the same folder.
    match status(Command::new(program).args(arguments))?.code() {
        Some(0) => Ok(()),
        code => Err(Stop::quietly(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}

/// Returns whether the user has named a worker.
fn names_worker() -> bool {
    std::env::var_os("VALLEYSCOPE_TRAIN").is_some_and(|path| !path.is_empty())
}

/// Returns the outcome, or false: trouble with the worker does not keep a window from opening.
fn without_worker(outcome: Result<bool, Stop>) -> bool {
    outcome.unwrap_or_else(|stop| {
        say(format_args!("continuing without the training worker: {}", stop.message));
        false
    })
}

/// Returns whether valleyscope opens its window with these arguments, as it does without a subcommand.
fn opens_window(arguments: &[String]) -> bool {
    let asks_for_text = |it: &String| ["-h", "--help", "-V", "--version"].contains(&it.as_str());
    let subcommand = arguments.first().filter(|first| !first.starts_with('-'));
    subcommand.is_none_or(|it| it == "app") && !arguments.iter().any(asks_for_text)
}

/// The test that compares the reference pages with the program, and writes them where `UPDATE_BOOK` is set.
const PAGES_TEST: &str = "reference::pages_match_the_program";

const NO_MDBOOK: &str = "\
mdbook, which makes HTML of the book, is not installed. This installs it; then repeat `cargo xtask docs`:
    cargo install mdbook --locked";

/// Writes the reference pages, then builds the book where mdbook is installed.
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
}

#[cfg(test)]
mod docs_tests {
    #[test]
    fn the_test_that_writes_pages_exists() {
        // cargo succeeds if it finds no test of a name.
        let (module, name) = super::PAGES_TEST.split_once("::").unwrap();
        let path = crate::cargo::project().join("tests/book").join(module).with_extension("rs");
        assert!(std::fs::read_to_string(path).unwrap().contains(&format!("#[test]\nfn {name}()")));
    }
}
