//! The worker that trains, a separate process that `valleyscope train` and the window start.

use std::process::ExitCode;

fn main() -> ExitCode {
    valleyscope_training::main()
}
