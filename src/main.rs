use std::io::Write;
use std::process::ExitCode;

use env_logger::{Builder, Env};
use valleyscope_engine::terminal_escape::visible_lines;

/// The default of `RUST_LOG`.
const LOGGED: &str = "error,valleyscope=warn";

/// A frame of the window makes many small allocations; with this allocator it is shorter than with the system's.
#[cfg(feature = "app")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Log messages may quote a file.
    let line = |out: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        writeln!(out, "[{} {}] {}", record.level(), record.target(), visible_lines(&record.args().to_string()))
    };
    Builder::from_env(Env::default().default_filter_or(LOGGED)).format(line).init();
    valleyscope::cli::run()
}
