use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use valleyscope::run::{Event, MetricId, MetricValues, RunFolder, RunSession, Started};

/// A user's folder, with all that the program keeps for a user.
pub struct Place {
    home: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.home.path().join(name)
    }

    /// Where runs are unless another folder is named.
    pub fn runs(&self) -> PathBuf {
        self.path("valleyscope/runs")
    }

    /// A run that was trained for some steps by a worker in this process.
    pub fn run(&self, stem: &str, config: &str, started: Started, events: Vec<Event>) -> RunFolder {
        let run = RunFolder::create(&self.runs(), stem, config).unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        session.record(0, Event::Started(started)).unwrap();
        for step in 1..=5 {
            let train = MetricValues::from([
                (MetricId::LOSS, 2.0 / step as f64),
                (MetricId::LEARNING_RATE, 0.001),
                (MetricId::GRAD_NORM, 1.0),
            ]);
            session.record(step, Event::Train(train)).unwrap();
        }
        for event in events {
            session.record(5, event).unwrap();
        }
        run
    }

    pub fn program(&self) -> Command {
        self.at_home(Command::new(env!("CARGO_BIN_EXE_valleyscope")))
    }

    /// The command in this place.
    pub fn at_home(&self, mut command: Command) -> Command {
        let home = self.home.path();
        command.current_dir(home).env("HOME", home);
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env(variable, home);
        }
        command
    }

    pub fn valleyscope(&self, args: &[&str]) -> Output {
        self.program().args(args).output().unwrap()
    }
}

/// All that a program has said.
pub fn said(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}
