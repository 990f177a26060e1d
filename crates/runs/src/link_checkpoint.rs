//! Bringing a checkpoint into the folder of another run.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::checkpoint::Checkpoint;
use super::folder::RunFolder;
use super::plain_file::{self, Links};

/// Links or copies a run's checkpoint into another folder and checks it there, where nobody removes it. On an error,
/// returns why it cannot be used, and leaves nothing of it in the folder.
pub fn link_checkpoint(run: &RunFolder, step: u64, folder: &RunFolder) -> Result<Checkpoint, String> {
    // The description, which marks the checkpoint as complete, is linked last, as the worker removes it first.
    let paths = |run: &RunFolder| [run.checkpoint_tensors(step), run.checkpoint_tensors(step).with_extension("ron")];
    let targets = paths(folder);
    let brought = paths(run).iter().zip(&targets).try_fold(true, |linked, (path, target)| {
        let is_link = link_or_copy(path, target).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(linked && is_link)
    });
    let examined = brought.and_then(|linked| {
        let files = Checkpoint::open(folder, step)?;
        // The time of a copy proves nothing. Nor do links if the worker has replaced both files between the two links.
        if linked && files.is_as_written(run) { files.look_over() } else { files.examine() }
    });
    examined.inspect_err(|_| {
        for target in targets {
            // A file that stays is harmless: the caller removes the folder, or takes another checkpoint.
            let _ = fs::remove_file(target);
        }
    })
}

/// Links or copies a file, and returns whether it is a link.
fn link_or_copy(path: &Path, target: &Path) -> io::Result<bool> {
    plain_file::check(path)?;
    // Checkpoints are replaced as a whole and never written to, so a link keeps its content.
    match fs::hard_link(path, target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let mut copy = File::create_new(target)?;
            io::copy(&mut plain_file::open(path, Links::Refused)?, &mut copy)?;
            copy.sync_all().map(|()| false)
        }
        Ok(()) => Ok(true),
    }
}
