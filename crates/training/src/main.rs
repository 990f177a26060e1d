//! The worker that trains, started by `valleyscope train` and by the window as a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    valleyscope_training::main()
}
