use std::process::ExitCode;

use env_logger::{Builder, Env};

/// What is logged where `RUST_LOG` does not say.
const LOGGED: &str = "error,valleyscope=warn";

/// A frame of the window makes and drops many small things; with this it is shorter than with the system's
/// allocator.
#[cfg(feature = "app")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    Builder::from_env(Env::default().default_filter_or(LOGGED)).init();
    valleyscope::cli::run()
}
