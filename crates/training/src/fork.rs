//! The first checkpoint of a fork, saved by another run.

use valleyscope_experiments::preset::Preset;
use valleyscope_runs::checkpoint::{Checkpoint, CheckpointOrigin};
use valleyscope_runs::{Forked, RunFolder};

use super::checkpoint::{check_powers, load, read};
use super::checkpoint_reader::ExpectedTensors;
use super::error::CheckpointError;
use super::named_tensors::{NamedTensors, OPTIMIZER, OwnedTensors, TrainingState, most_bytes};

/// Loads the checkpoint that a run was forked from, as the fork continues from it, and its tensors by name.
///
/// An optimizer with another rule starts with the states and the progress of `expected`, which are those before its
/// first step. The best evaluation is this checkpoint's, if the fork evaluates in the same way: earlier ones are not in
/// the fork's folder.
///
/// # Errors
///
/// Fails as [`load`] does, and with [`CheckpointError::Foreign`] if the fork has saved a checkpoint of its own at that
/// step.
pub(crate) fn load_forked(
    run: &RunFolder,
    forked: &Forked,
    origin: &CheckpointOrigin,
    expected: &TrainingState<'_>,
) -> Result<(Checkpoint, OwnedTensors), CheckpointError> {
    let is_fresh = |name: &str| !forked.keeps_optimizer && name.starts_with(OPTIMIZER);
    let (fresh, kept): (NamedTensors<'_>, NamedTensors<'_>) =
        expected.tensors.iter().cloned().partition(|(name, _)| is_fresh(name));
    let step = forked.from_step;
    let most = most_bytes(&kept);
    let wanted = ExpectedTensors { tensors: &kept, most, passes_over: &is_fresh };
    let (mut checkpoint, mut tensors) = read(run, step, &wanted, |about, found| {
        if found.is_origin_of(forked) {
            return Ok(());
        }
        let [expected, found] = [forked.checkpoint_crc32, found.crc32].map(|sum| format!("checksum {sum}"));
        Err(CheckpointError::Foreign { path: about.to_owned(), with: "from another fork", expected, found })
    })?;
    tensors.extend(fresh.into_iter().map(|(name, tensor)| (name, tensor.shallow_clone())));
    match forked.keeps_optimizer {
        true => check_powers(&checkpoint, run, &expected.progress)?,
        false => checkpoint.set_progress(expected.progress.clone()),
    }
    // The fork's config has them.
    checkpoint.settings.clear();
    checkpoint.best = checkpoint.best.filter(|(best, _)| *best == step && evaluate_the_same(&checkpoint, origin));
    Ok((checkpoint, tensors))
}

/// Loads the checkpoint of a step from which a run continues: its own, or the one that it was forked from.
pub(super) fn load_any(
    run: &RunFolder,
    step: u64,
    forked: Option<&Forked>,
    origin: &CheckpointOrigin,
    expected: &TrainingState<'_>,
) -> Result<(Checkpoint, OwnedTensors), CheckpointError> {
    let forked = forked.filter(|forked| forked.from_step == step);
    match forked.map(|forked| load_forked(run, forked, origin, expected)) {
        None | Some(Err(CheckpointError::Foreign { .. })) => load(run, step, origin, expected),
        Some(loaded) => loaded,
    }
}

/// Returns whether evaluations before a checkpoint are comparable with those of a run that continues from it.
fn evaluate_the_same(checkpoint: &Checkpoint, origin: &CheckpointOrigin) -> bool {
    let evaluation = |config: &str| Preset::parse(config, RunFolder::CONFIG).ok()?.workload()?.evaluation();
    let [before, now] = [&checkpoint.preset, &origin.preset].map(|config| evaluation(config));
    checkpoint.data == origin.data && now.is_some() && before == now
}
