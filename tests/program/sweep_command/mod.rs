//! `valleyscope sweep` and `valleyscope figure`: the files of the real program, and that stopping it loses nothing.

mod inputs;
mod parts;
mod results;
mod stopped;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use super::doctor::{Sandbox, expect_code, wait_until};

/// A sweep of few pixels and steps, which takes no time.
const SMALL: [&str; 8] = ["--grid", "4x5", "--lrs", "3", "--replicates", "4", "--steps", "20"];

impl Sandbox {
    /// Runs and expects success; returns the messages.
    #[track_caller]
    fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        expect_code(&output, 0);
        assert_eq!(output.stdout, b"");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Starts a sweep and waits until its checkpoint holds some pixels.
    fn start_and_wait(&self, args: &[&str], folder: &str) -> Child {
        self.start_and_wait_for(args, &format!("{folder}/pixels.bin"))
    }

    /// Starts a sweep and waits until a file holds some pixels.
    fn start_and_wait_for(&self, args: &[&str], file: &str) -> Child {
        let mut child = self.command(args).stderr(Stdio::piped()).spawn().unwrap();
        let checkpoint = self.join(file);
        wait_until("pixels on the disk", || {
            let has_ended = child.try_wait().unwrap().is_some();
            let is_saved = fs::metadata(&checkpoint).is_ok_and(|metadata| metadata.len() >= 4096);
            assert!(is_saved || !has_ended, "the sweep ended before it could be stopped");
            is_saved
        });
        child
    }

    /// Returns the names of all files of a folder, and their bytes.
    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(self.join(folder)).unwrap().map(|file| file.unwrap().path());
        files.map(|path| (name_of(&path), fs::read(&path).unwrap())).collect()
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}
