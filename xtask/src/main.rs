//! The project's commands, for a machine with nothing but Rust on it:
//!
//! ```text
//! cargo xtask run [-- ARGUMENTS…]     sets up what is missing, then builds and starts valleyscope
//! cargo xtask setup                   sets up what is missing, and builds valleyscope and its training worker
//! cargo xtask test                    sets up what is missing, then checks format, lints and all tests
//! cargo xtask test -- ARGUMENTS…      sets up what is missing, then runs only the tests that the arguments name
//! cargo xtask fuzz [TARGET]           tries damaged and crafted inputs
//! cargo xtask docs                    writes the reference pages of the book, and builds it
//! ```
//!
//! Missing requirements are installed as root on Debian and its kin. Elsewhere the command that installs them is
//! printed, and nothing is changed. PyTorch, which the training worker needs, is installed in the user's data folder if
//! the machine has none that fits.

mod cargo;
mod run;
mod setup;
mod test;
mod worker;

use std::fmt;
use std::process::ExitCode;

use valleyscope_machine::{self as machine, Display};

use cargo::build_valleyscope;
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
           npz, sweep_records and training_checkpoints, or of one of these TARGETs
       cargo xtask docs
           write the pages in docs/src/reference, which are made from the code, then build the book with mdbook where
           that is installed";

/// The early end of a command, with its exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    message: String,
    code: u8,
}

impl Stop {
    /// Returns a failure.
    fn failed(message: impl fmt::Display) -> Stop {
        Stop { message: message.to_string(), code: 1 }
    }

    /// Returns a wrong use of the command.
    fn refused(message: impl fmt::Display) -> Stop {
        Stop { message: message.to_string(), code: 2 }
    }

    /// Returns the end of another program with this code, which has already printed the reason.
    fn quietly(code: u8) -> Stop {
        Stop { message: String::new(), code }
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    let outcome = match command.as_str() {
        "run" => {
            let with_worker = !take(&mut arguments, "--no-worker");
            run::run(after_dashes(&arguments), with_worker)
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
        "docs" => run::docs(),
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
    if worker::may_go_on_in_background(true)? { worker::set_up_in_background() } else { Ok(()) }
}

/// Removes an option of xtask from the front of the arguments, before those of another program.
fn take(arguments: &mut Vec<String>, option: &str) -> bool {
    let given = arguments.first().is_some_and(|first| first == option);
    if given {
        arguments.remove(0);
    }
    given
}

/// Returns the arguments without the dashes that may separate them from those of xtask.
fn after_dashes(arguments: &[String]) -> &[String] {
    match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    }
}

/// Prints what is being done.
fn say(text: impl fmt::Display) {
    eprintln!("xtask: {text}");
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
}
