//! What a training needs, as far as its spec says it.

use super::Course;
use crate::optimizer::RuleSpec;

/// What a training needs of its device and of the disk. The figures are estimates, less than a fifth off where a
/// model is large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Bytes of the parameters, their gradients and what the rule remembers, and of libtorch.
    kept: u64,
    /// Bytes of all else that is on the device at once.
    activations: u64,
    /// Bytes of a checkpoint.
    checkpoint: u64,
    /// Bytes of the checkpoints that are kept, and of one that is being written.
    pub disk: u64,
    /// Multiplications and additions of a step, two for each pair.
    pub step_operations: f64,
}

/// What libtorch takes before there is any model.
const LIBRARY: u64 = 150 << 20;

impl Needs {
    /// Of a model with so many `parameters`, each of so many bytes, a gradient for each and what the rule remembers;
    /// `activations` are the bytes of all else that is there at once, and `step_operations` those of a step.
    pub(super) fn of_model(
        parameters: u64,
        bytes: u64,
        rule: &RuleSpec,
        course: &Course,
        activations: u64,
        step_operations: f64,
    ) -> Needs {
        let remembered = rule.info().states.len() as u64;
        let flat = parameters * bytes;
        // The last two, the best one and the next one, and of the others those that are saved and kept.
        let common = |every: u64| every / greatest_divisor(every, course.checkpoint_every) * course.checkpoint_every;
        let kept = 4 + course.keep_every.map_or(0, |every| course.steps / common(every));
        let checkpoint = flat * (1 + remembered);
        Needs {
            kept: LIBRARY + flat * (2 + remembered),
            activations,
            checkpoint,
            disk: checkpoint.saturating_mul(kept),
            step_operations,
        }
    }

    /// Bytes on the device, at the most.
    pub fn memory(&self, on_gpu: bool) -> u64 {
        // The file of a checkpoint is made in main memory, when there are no activations.
        let passing = if on_gpu { self.activations } else { self.activations.max(self.checkpoint) };
        self.kept.saturating_add(passing)
    }
}

/// The greatest common divisor of two numbers, of which none is 0.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
