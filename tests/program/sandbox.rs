//! The real program in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// An empty folder that is a user's home and the program's working directory, removed when dropped.
pub struct Sandbox {
    home: TempDir,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox { home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Returns the default folder of runs.
    pub fn runs(&self) -> PathBuf {
        self.join("valleyscope/runs")
    }

    /// Returns the command with this folder as its home, and without a network.
    pub fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(self.path());
        for variable in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, self.path());
        }
        // Nobody listens at this proxy.
        command.env("ALL_PROXY", "http://127.0.0.1:9");
        command
    }

    /// Returns the program with arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.at_home(Command::new(env!("CARGO_BIN_EXE_valleyscope")));
        command.args(args);
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the program where no file may be larger than this, as on a full disk.
    pub fn run_limited(&self, kib: u32, args: &[&str]) -> Output {
        let script = format!("ulimit -f {kib}; exec \"$0\" \"$@\"");
        let mut shell = self.at_home(Command::new("bash"));
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_valleyscope")]).args(args).output().unwrap()
    }

    /// Writes a file, and makes its folder.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Returns what the program wrote to both outputs.
pub fn said(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

#[track_caller]
pub fn expect_code(output: &Output, code: i32) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// Expects an exit code, and words on either output.
#[track_caller]
pub fn expect(output: &Output, code: i32, words: &[&str]) {
    expect_code(output, code);
    expect_words(&said(output), words);
}

/// Expects an exit code, and words on the error output.
#[track_caller]
pub fn expect_error(output: &Output, code: i32, words: &[&str]) {
    expect_code(output, code);
    expect_words(&String::from_utf8_lossy(&output.stderr), words);
}

#[track_caller]
fn expect_words(said: &str, words: &[&str]) {
    for words in words {
        assert!(said.contains(words), "no {words:?} in: {said}");
    }
}

/// Waits until `come` returns true.
#[track_caller]
pub fn wait_until(what: &str, mut come: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !come() {
        assert!(begun.elapsed() < Duration::from_secs(300), "waited five minutes for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `INT`, to a process.
pub fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Makes a FIFO that nobody writes to.
pub fn make_fifo(path: impl AsRef<Path>) {
    assert!(Command::new("mkfifo").arg(path.as_ref()).status().unwrap().success());
}
