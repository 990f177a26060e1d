//! The programs that the tests start.

use std::path::PathBuf;

/// The worker.
pub const WORKER: &str = env!("CARGO_BIN_EXE_valleyscope-train");

/// Returns the path of `valleyscope`, which cargo builds into the same folder as the worker when it tests the
/// workspace.
pub fn valleyscope_program() -> PathBuf {
    let path = PathBuf::from(WORKER).with_file_name(format!("valleyscope{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "build {} first, with `cargo build --bin valleyscope`, or test the whole workspace",
        path.display()
    );
    path
}
