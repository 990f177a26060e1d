//! A home of their own for tests, so that none depends on the data, the worker, the settings, the language or the time
//! zone that a machine happens to have.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

const VARIABLES: [&str; 5] = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

fn homes() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("homes")
}

/// Removes the homes of processes that have ended.
#[cfg(unix)]
fn remove_old_homes() {
    for home in homes().read_dir().into_iter().flatten().flatten() {
        let number =
            home.file_name().to_str().and_then(|name| name.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let ended =
            number.is_some_and(|number| rustix::process::test_kill_process(number) == Err(rustix::io::Errno::SRCH));
        if ended {
            let _ = fs::remove_dir_all(home.path());
        }
    }
}

// Before the first thread starts, as other threads may read the environment.
ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn set_environment() {
        // A test may start its own program again.
        if env::var_os("HOME").is_some_and(|home| Path::new(&home).starts_with(homes())) {
            return;
        }
        #[cfg(unix)]
        remove_old_homes();
        let home = homes().join(process::id().to_string());
        // Where the build's folder is another user's, there is no home.
        let _ = fs::remove_dir_all(&home);
        let _ = fs::create_dir_all(&home);
        let data = env::var_os("VALLEYSCOPE_DATA");
        // SAFETY: no other thread exists before `main`.
        unsafe {
            VARIABLES.iter().for_each(|variable| env::set_var(variable, &home));
            env::set_var("LC_ALL", "C.UTF-8");
            env::set_var("TZ", "UTC");
            ["VALLEYSCOPE_DATA", "VALLEYSCOPE_RUNS", "VALLEYSCOPE_TRAIN"].iter().for_each(|variable| env::remove_var(variable));
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

#[test]
fn a_test_program_that_a_test_starts_has_the_same_home() {
    let home = env::var_os("HOME").unwrap();
    match env::var_os("HOME_OF_PARENT") {
        Some(of_parent) => assert_eq!(home, of_parent),
        None => {
            let mut again = process::Command::new(env::current_exe().unwrap());
            again.args(["--exact", "home::a_test_program_that_a_test_starts_has_the_same_home"]);
            let output = again.env("HOME_OF_PARENT", home).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }
}
