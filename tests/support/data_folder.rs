//! The folder with real data, for tests that need it. They are in modules named `with_data`, so that
//! `cargo xtask test with_data` runs them alone.

use std::path::PathBuf;

use crate::left_out::left_out;

/// Returns the folder that `VALLEYSCOPE_DATA` names; without it, reports that the tests of `module` are left out.
pub fn data_folder(module: &str) -> Option<PathBuf> {
    assert!(module.contains("with_data"), "{module}: tests with real data are in modules named with_data");
    // The name that the home of the tests gives it.
    let folder = ["VALLEYSCOPE_TEST_DATA", "VALLEYSCOPE_DATA"].into_iter().find_map(std::env::var_os);
    if folder.is_none() {
        left_out(module, "VALLEYSCOPE_DATA names no folder with real data");
    }
    folder.map(PathBuf::from)
}
