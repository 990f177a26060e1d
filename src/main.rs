use std::process::ExitCode;

/// A frame of the window makes many small allocations; with this allocator it is shorter than with the system's.
#[cfg(feature = "app")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(valleyscope::cli::run(std::env::args_os()))
}
