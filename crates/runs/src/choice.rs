//! Finding a chosen checkpoint of a run.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::checkpoint::Checkpoint;
use super::folder::RunFolder;

/// A choice among the checkpoints of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckpointChoice {
    /// The newest usable checkpoint.
    #[default]
    Newest,
    /// The checkpoint with the smallest loss of an evaluation.
    Best,
    Step(u64),
}

/// Why a chosen checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error("cannot look into {}: {source}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("the run {0} has no checkpoint: a training has one once it has saved it, and a scan saves none")]
    NoCheckpoint(String),
    #[error("the run {run} has no checkpoint of step {step}; it has {}", list(there))]
    NoStep { run: String, step: u64, there: Vec<u64> },
    #[error("the checkpoint of step {step} of the run {run} cannot be used: {reason}; it has {} besides", list(there))]
    Unusable { run: String, step: u64, reason: String, there: Vec<u64> },
    #[error(
        "the run {run} has no best checkpoint: it was not evaluated before its newest one, or the best one is gone; it has {}",
        list(there)
    )]
    NoBest { run: String, there: Vec<u64> },
}

fn list(steps: &[u64]) -> String {
    match steps {
        [] => "none".to_owned(),
        [only] => format!("one of step {only}"),
        steps => format!("those of steps {}", steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl CheckpointChoice {
    /// Returns the chosen checkpoint after reading and comparing both its files ([`Checkpoint::examine`]).
    ///
    /// # Errors
    ///
    /// Fails if the run has no such checkpoint, or it is damaged; the error lists the existing ones.
    pub fn find(self, run: &RunFolder) -> Result<Checkpoint, ChoiceError> {
        self.find_by(run, Checkpoint::examine)
    }

    /// Returns the chosen checkpoint after a brief check ([`Checkpoint::look_over`]), for callers that read the tensors
    /// later.
    ///
    /// # Errors
    ///
    /// Fails as [`CheckpointChoice::find`] does.
    pub fn find_briefly(self, run: &RunFolder) -> Result<Checkpoint, ChoiceError> {
        self.find_by(run, Checkpoint::look_over)
    }

    fn find_by(
        self,
        run: &RunFolder,
        open: fn(&RunFolder, u64) -> Result<Checkpoint, String>,
    ) -> Result<Checkpoint, ChoiceError> {
        let find = |step| first_usable(run, step, |step| open(run, step));
        match self {
            CheckpointChoice::Newest => find(None),
            CheckpointChoice::Step(step) => find(Some(step)),
            CheckpointChoice::Best => match find(None)?.best {
                // A fork may begin with a checkpoint whose best one is the other run's.
                Some((step, _)) if steps(run)?.contains(&step) => find(Some(step)),
                _ => Err(ChoiceError::NoBest { run: run.name(), there: steps(run)? }),
            },
        }
    }
}

fn steps(run: &RunFolder) -> Result<Vec<u64>, ChoiceError> {
    run.checkpoints().map_err(|source| ChoiceError::Look { path: run.path().to_owned(), source })
}

/// Opens the checkpoint of a step, or without one the newest that `open` accepts. Returns a step's fault in words if it
/// cannot be opened. The worker that trains the run may remove a checkpoint at any moment.
pub fn first_usable<C>(
    run: &RunFolder,
    step: Option<u64>,
    mut open: impl FnMut(u64) -> Result<C, String>,
) -> Result<C, ChoiceError> {
    let name = || run.name();
    if let Some(step) = step {
        let there = steps(run)?;
        if !there.contains(&step) {
            return Err(ChoiceError::NoStep { run: name(), step, there });
        }
        return open(step).or_else(|reason| match steps(run)? {
            mut there if there.contains(&step) => {
                there.retain(|other| *other != step);
                Err(ChoiceError::Unusable { run: name(), step, reason, there })
            }
            there => Err(ChoiceError::NoStep { run: name(), step, there }),
        });
    }
    let mut tried = BTreeMap::new();
    loop {
        let there = steps(run)?;
        let Some(&step) = there.iter().rev().find(|step| !tried.contains_key(*step)) else {
            return Err(match tried.pop_last() {
                Some((step, reason)) => ChoiceError::Unusable { run: name(), step, reason, there: Vec::new() },
                None => ChoiceError::NoCheckpoint(name()),
            });
        };
        match open(step) {
            Ok(checkpoint) => return Ok(checkpoint),
            Err(reason) => tried.insert(step, reason),
        };
    }
}
