use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder to work in, apart from a user's presets.
pub struct Place {
    folder: TempDir,
}

/// A sweep of few pixels and steps, which takes no time.
pub const SMALL: [&str; 8] = ["--grid", "4x5", "--lrs", "3", "--replicates", "4", "--steps", "20"];

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_valleyscope"));
        let folder = self.folder.path();
        command.args(args).current_dir(folder).env("HOME", folder).env("XDG_CONFIG_HOME", folder);
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and expects success; returns what was said.
    #[track_caller]
    pub fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        expect_code(&output, 0);
        assert_eq!(output.stdout, b"");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Starts a sweep and waits until its checkpoint holds some pixels.
    pub fn start_and_wait(&self, args: &[&str], folder: &str) -> Child {
        self.start_and_wait_for(args, &format!("{folder}/checkpoint.bin"))
    }

    /// Starts a sweep and waits until a file holds some pixels.
    pub fn start_and_wait_for(&self, args: &[&str], file: &str) -> Child {
        let mut child = self.command(args).stderr(Stdio::piped()).spawn().unwrap();
        let checkpoint = self.path(file);
        let length = || fs::metadata(&checkpoint).map_or(0, |metadata| metadata.len());
        let started = Instant::now();
        while length() < 4096 {
            assert!(child.try_wait().unwrap().is_none(), "the sweep ended before it could be stopped");
            assert!(started.elapsed() < Duration::from_secs(120), "no pixel was saved in two minutes");
            thread::sleep(Duration::from_millis(20));
        }
        child
    }

    /// The names of all files of a folder, and their bytes.
    pub fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(self.path(folder)).unwrap().map(|file| file.unwrap().path());
        files.map(|path| (name_of(&path), fs::read(&path).unwrap())).collect()
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[track_caller]
pub fn expect_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
pub fn expect_error(output: &Output, code: i32, words: &[&str]) {
    expect_code(output, code);
    let stderr = String::from_utf8_lossy(&output.stderr);
    for word in words {
        assert!(stderr.contains(word), "no {word:?} in: {stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// The arguments, then more.
pub fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}
