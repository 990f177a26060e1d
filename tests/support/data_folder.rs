//! The folder with real data, for tests that need it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// Returns the folder that `VALLEYSCOPE_DATA` names. Where the variable is not set, the test is skipped, and that is
/// reported and counted even if the test runner captures output.
pub fn data_folder(test: &str) -> Option<PathBuf> {
    match std::env::var_os("VALLEYSCOPE_DATA") {
        Some(folder) => Some(folder.into()),
        None => {
            let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            let line = format!("SKIPPED {test}: VALLEYSCOPE_DATA is not set ({count} skipped in this test program)\n");
            std::io::stderr().write_all(line.as_bytes()).expect("stderr is there");
            None
        }
    }
}
