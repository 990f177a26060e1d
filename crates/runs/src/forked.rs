//! The origin of a run that was forked from another.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;

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
    /// Returns whether the fork starts from a checkpoint, as opposed to having saved it.
    pub fn is_checkpoint(&self, checkpoint: &Checkpoint) -> bool {
        (self.from_step, self.checkpoint_crc32) == (checkpoint.step, checkpoint.crc32)
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
