use std::fmt;
use std::path::PathBuf;

use valleyscope_machine::{SetUpState, SetUpStatus, WorkerFolder};
use valleyscope_runs::{Handshake, LaunchError, SETUP, WorkerProgram};

use super::{Problem, line};

/// The training worker, as far as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFacts {
    pub state: WorkerCheck,
    /// The status of its set-up, if there was one.
    pub set_up: Option<SetUpStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerCheck {
    Works {
        program: PathBuf,
        /// The folder that is searched first for libtorch, if there is one.
        libraries: Option<PathBuf>,
        handshake: Handshake,
    },
    Missing,
    /// The worker cannot be used, for this reason.
    Broken(String),
    /// The worker that `VALLEYSCOPE_TRAIN` names cannot be used, for this reason. An installed one is not considered.
    Misnamed(String),
}

impl WorkerFacts {
    /// Returns the facts about the worker that `valleyscope train` starts. This takes seconds, as the worker loads its
    /// libraries.
    pub fn here() -> WorkerFacts {
        let set_up = WorkerFolder::of_user().and_then(|folder| folder.status());
        WorkerFacts { state: WorkerCheck::here(), set_up }
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        let what = match &self.state {
            WorkerCheck::Works { handshake, .. } => {
                let what = format!("no training on a graphics card: {}", handshake.problem.as_ref()?);
                let remedy = "until that is fixed, the processor trains".to_owned();
                return Some(Problem { what, remedy, blocks_window: false });
            }
            _ if self.is_being_set_up() => return None,
            WorkerCheck::Missing => format!("no worker that trains: {} is not installed", WorkerProgram::NAME),
            WorkerCheck::Misnamed(why) => {
                let remedy = "let VALLEYSCOPE_TRAIN name a worker that works, or unset it to use the installed one";
                return Some(Problem { what: why.clone(), remedy: remedy.to_owned(), blocks_window: false });
            }
            WorkerCheck::Broken(why) => why.clone(),
        };
        let failed = self.set_up.as_ref().filter(|set_up| set_up.state == SetUpState::Failed);
        let reason = failed.map(|set_up| format!("; its last set-up failed: {}", set_up.message)).unwrap_or_default();
        Some(Problem { what: what + &reason, remedy: SETUP.to_owned(), blocks_window: false })
    }

    fn is_being_set_up(&self) -> bool {
        self.set_up.as_ref().is_some_and(|set_up| set_up.state == SetUpState::Working)
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            WorkerCheck::Works { program, libraries, handshake } => {
                line(f, LABEL, &format!("{}, version {}", program.display(), handshake.version))?;
                let place = libraries.as_ref().map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
                line(f, "", &format!("libtorch {}{place}", handshake.libtorch))?;
                for device in &handshake.devices {
                    let memory = device.memory.map(|bytes| format!(", {:.0} GiB", bytes as f64 / f64::from(1 << 30)));
                    line(f, "", &format!("{}: {}{}", device.name, device.kind, memory.unwrap_or_default()))?;
                }
            }
            WorkerCheck::Missing => line(f, LABEL, "none")?,
            WorkerCheck::Broken(_) | WorkerCheck::Misnamed(_) => line(f, LABEL, "cannot be used")?,
        }
        match &self.set_up {
            Some(set_up) if set_up.state == SetUpState::Working => {
                let percent = set_up.percent.map(|percent| format!(", {percent} %")).unwrap_or_default();
                let (step, steps) = set_up.step;
                line(f, "", &format!("being set up, step {step} of {steps}: {}{percent}", set_up.message))
            }
            _ => Ok(()),
        }
    }
}

const LABEL: &str = "worker";

impl WorkerCheck {
    fn here() -> WorkerCheck {
        let refused = |error: LaunchError| match WorkerProgram::named(None) {
            Some(_) => WorkerCheck::Misnamed(error.to_string()),
            None => WorkerCheck::Broken(error.to_string()),
        };
        let worker = match WorkerProgram::find(None) {
            Ok(worker) => worker,
            Err(LaunchError::Missing) => return WorkerCheck::Missing,
            Err(error) => return refused(error),
        };
        match worker.handshake() {
            Ok(handshake) => {
                let beside = worker.path().parent().map(|folder| folder.join("../lib"));
                let libraries = beside.and_then(|folder| folder.canonicalize().ok());
                WorkerCheck::Works { program: worker.path().to_owned(), libraries, handshake }
            }
            Err(error) => refused(error),
        }
    }
}
