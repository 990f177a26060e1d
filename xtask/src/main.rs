//! The project's two commands, for a machine with nothing but Rust on it:
//!
//! ```text
//! cargo xtask run [-- ARGUMENTS…]     sets up what is missing, then builds and starts valleyscope
//! cargo xtask test [-- ARGUMENTS…]    sets up what is missing, then checks format, lints and all tests
//! ```
//!
//! What is missing is installed where that is allowed, which is as root on Debian and its kin. Elsewhere
//! the command that does it is printed, and nothing is changed.

mod cargo;
// Shared with `valleyscope doctor`, and compiled in here as the program itself cannot be built yet.
#[path = "../../src/machine/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the program itself uses more of it")]
mod machine;
mod run;
mod setup;
mod test;
mod xvfb;

use std::fmt;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask run [-- ARGUMENTS…]    set up this machine, then build and start valleyscope
       cargo xtask test [-- ARGUMENTS…]   set up this machine, then check format, lints and all tests;
                                          ARGUMENTS go to `cargo test`, for instance a test's name";

/// Why a command ends early, with its exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    message: String,
    code: u8,
}

impl Stop {
    /// Something went wrong.
    fn failed(message: impl fmt::Display) -> Stop {
        Stop { message: message.to_string(), code: 1 }
    }

    /// It cannot work this way.
    fn refused(message: impl fmt::Display) -> Stop {
        Stop { message: message.to_string(), code: 2 }
    }

    /// Another program has ended with this code and has said why.
    fn quietly(code: u8) -> Stop {
        Stop { message: String::new(), code }
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    if arguments.first().is_some_and(|first| first == "--") {
        arguments.remove(0);
    }
    let outcome = match command.as_str() {
        "run" => run::run(&arguments),
        "test" => test::test(&arguments),
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

/// Says what is being done.
fn say(text: impl fmt::Display) {
    eprintln!("xtask: {text}");
}
