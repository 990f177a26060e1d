//! The origin of a run that was forked from another.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::folder::RunFolder;
use super::history::RunHistory;
use super::reader::RunReader;

/// The origin of a fork, as recorded in the first event of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// Name of the other run's folder.
    pub from_run: String,
    /// The step of the other run's checkpoint from which the fork starts.
    pub from_step: u64,
    /// Path of the other run's folder when the fork was made.
    pub folder: String,
    /// SHA-256 of the config that the other run was begun with, which identifies it.
    pub config_sha256: String,
    /// Checksum of the checkpoint, which distinguishes it from those that the fork saves.
    pub checkpoint_crc32: u32,
    /// Whether the optimizer keeps its state, as its rule is unchanged. Otherwise its state is fresh.
    pub keeps_optimizer: bool,
}

impl Forked {
    /// Lists the possible folders of the other run: beside the fork, as after all runs were moved, and its old place.
    fn places(&self, fork: &RunFolder) -> impl Iterator<Item = RunFolder> {
        let name = Path::new(&self.from_run).file_name();
        let beside = fork.path().parent().zip(name).map(|(parent, name)| parent.join(name));
        let places = beside.into_iter().chain([PathBuf::from(&self.folder)]);
        places.filter_map(|place| RunFolder::open(&place).ok())
    }

    /// Returns whether the fork starts from a checkpoint, as opposed to having saved it.
    pub fn is_checkpoint(&self, checkpoint: &Checkpoint) -> bool {
        (self.from_step, self.checkpoint_crc32) == (checkpoint.step, checkpoint.crc32)
    }

    /// Returns the other run, if its folder exists.
    pub fn other_run(&self, fork: &RunFolder) -> Option<RunFolder> {
        self.places(fork).find(|run| {
            let mut reader = RunReader::brief(run.clone());
            reader.poll().is_ok() && self.is_of(reader.history())
        })
    }

    /// Returns whether a run with this history may be the other run, as its name may have been reused. A run that has
    /// not begun, such as a fork before its first step, is accepted.
    fn is_of(&self, history: &RunHistory) -> bool {
        let sum = history.started().map(|started| &started.config_sha256).filter(|sum| !sum.is_empty());
        sum.is_none_or(|sum| *sum == self.config_sha256)
    }

    /// Reads the history of the other run, if it exists, through at most `forks` further forks.
    pub(super) fn history(&self, fork: &RunFolder, forks: u32) -> Option<RunHistory> {
        self.places(fork).find_map(|run| {
            let mut reader = RunReader::of_fork(run, forks);
            reader.poll().ok()?;
            Some(reader.into_history()).filter(|history| self.is_of(history))
        })
    }

    /// Describes the origin, such as `forked from mnist-1 at step 100, with its optimizer's state`.
    pub fn sentence(&self) -> String {
        self.sentence_parts().concat()
    }

    /// Splits the sentence into three parts, the second of which is the name of the other run.
    pub fn sentence_parts(&self) -> [String; 3] {
        let Forked { from_run, from_step, .. } = self;
        let state = if self.keeps_optimizer { "with its optimizer's state" } else { "with a fresh optimizer" };
        ["forked from ".to_owned(), from_run.clone(), format!(" at step {from_step}, {state}")]
    }

    /// Describes a fork without a usable checkpoint, with the fault of its newest one, if it has any.
    pub fn lost(&self, newest: Option<&String>) -> String {
        let Forked { from_run, from_step, .. } = self;
        let newest = newest.map_or("the run has no checkpoint", String::as_str);
        format!(
            "{newest}; a fork without a checkpoint of its own begins with that of step {from_step} of {from_run}: put it back, or \
             fork that run again, from another checkpoint if need be"
        )
    }

    /// Describes a fork without the other run's history.
    pub fn missing(&self) -> String {
        let Forked { from_run, from_step, .. } = self;
        format!("the run {from_run} is not found, so the curve begins at step {from_step}, where it was forked")
    }
}
