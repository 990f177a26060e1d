//! The requirements of a training, estimated from its spec.

use valleyscope_engine::optimizer::{Need, RuleSpec};

use super::Course;

/// The requirements of a training on its device and on the disk. The figures are estimates, within a fifth for a large
/// model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Bytes of the parameters, their gradients and the rule's states, and of libtorch.
    kept: u64,
    /// Bytes of everything else that is on the device at once.
    activations: u64,
    /// Bytes of a checkpoint.
    checkpoint: u64,
    /// Bytes of the checkpoints that are kept, and of one that is being written.
    pub disk: u64,
    /// Multiplications and additions of a step, two for each pair.
    pub step_operations: f64,
}

/// Bytes that libtorch takes without a model.
const LIBRARY: u64 = 150 << 20;

impl Needs {
    /// The requirements of a model with so many parameter tensors of these shapes and a number of bytes for each parameter, a
    /// gradient for each, the rule's states and what it asks of a batch; `activations` are the bytes of everything else that is in
    /// memory at once, and `step_operations` those of a step.
    pub(super) fn of_model(
        tensors: &[(u64, Vec<i64>)],
        bytes: u64,
        rule: &RuleSpec,
        course: &Course,
        activations: u64,
        step_operations: f64,
    ) -> Needs {
        let info = rule.info();
        let (mut parameters, mut statistics, mut largest) = (0, 0, 0);
        for (count, shape) in tensors {
            parameters += count * shape.iter().product::<i64>() as u64;
            for length in rule.kind().statistics(shape).into_iter().flatten() {
                let square = (length * length) as u64;
                statistics += count * square;
                largest = square.max(largest);
            }
        }
        // Of each axis with a statistic that, and its root or eigenvectors, beside averages of the gradient and of squares.
        let remembered = match info.needs(Need::Axes) {
            true => 2 * parameters + 2 * statistics,
            false => info.states.len() as u64 * parameters,
        };
        // Eigenvectors are found in double precision, with room for five matrices.
        let activations = activations.max(5 * 8 * largest);
        // What is kept while gradients are computed again, and their result.
        let asked = match rule.gradient_toward() {
            // The parameters, while those are in their place where the gradient is taken.
            Some(_) => 1,
            None if info.needs(Need::GradientElsewhere) => 3,
            None => 2 * u64::from(info.needs(Need::Curvature)),
        };
        let flat = parameters * bytes;
        // The last two, the best and the next checkpoint, and those that are kept at multiples of `keep_every`.
        let common = |every: u64| every / greatest_divisor(every, course.checkpoint_every) * course.checkpoint_every;
        let kept = 4 + course.keep_every.map_or(0, |every| course.steps / common(every));
        let checkpoint = flat + remembered * bytes;
        Needs {
            kept: LIBRARY + flat * (2 + asked) + remembered * bytes,
            activations,
            checkpoint,
            disk: checkpoint.saturating_mul(kept),
            step_operations,
        }
    }

    /// The least that so many processes on one processor need: each keeps a model, and they share a batch.
    pub fn of_processes(self, count: usize) -> Needs {
        Needs { kept: self.kept.saturating_mul(count as u64), ..self }
    }

    /// Bytes on the device, at the most.
    pub fn memory(&self, on_gpu: bool) -> u64 {
        // The file of a checkpoint is built in main memory, at a time without activations.
        let passing = if on_gpu { self.activations } else { self.activations.max(self.checkpoint) };
        self.kept.saturating_add(passing)
    }
}

/// The greatest common divisor of two numbers, of which none is 0.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
