//! A home of their own for tests, so that none depends on the data, the worker, the settings, the language or the time
//! zone that a machine happens to have.

use std::path::Path;
use std::{env, fs};

// Before the first thread starts, as other threads may read the environment.
ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn set_environment() {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("home-of-", env!("CARGO_CRATE_NAME")));
        // Where the build's folder is another user's, there is no home.
        let _ = fs::remove_dir_all(&home);
        let _ = fs::create_dir_all(&home);
        let variables = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
        let data = env::var_os("VALLEYSCOPE_DATA");
        // SAFETY: no other thread exists before `main`.
        unsafe {
            variables.iter().for_each(|variable| env::set_var(variable, &home));
            env::set_var("LC_ALL", "C.UTF-8");
            env::set_var("TZ", "UTC");
            ["VALLEYSCOPE_DATA", "VALLEYSCOPE_TRAIN"].iter().for_each(|variable| env::remove_var(variable));
            if let Some(data) = data {
                env::set_var("VALLEYSCOPE_TEST_DATA", data);
            }
        }
    }
}

#[test]
fn tests_have_a_home_of_their_own() {
    let folder = valleyscope_runs::data_folder().expect("they have a home");
    assert!(folder.starts_with(env!("CARGO_TARGET_TMPDIR")), "{}", folder.display());
    assert_eq!(valleyscope_experiments::dataset::named_folder(), None);
    assert_eq!(valleyscope_runs::WorkerProgram::named(None), None);
}
