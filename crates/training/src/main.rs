//! The worker that trains. It is started by `valleyscope train` and by the window, and lives apart from them.

use std::process::ExitCode;

fn main() -> ExitCode {
    valleyscope_training::main()
}
