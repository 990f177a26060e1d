use super::*;

/// Takes a step of the particles or runs of an external optimizer, given by its id: from the parameters x and y of each,
/// one after another, and their noisy gradients, to the parameters after the step, in place. Returns false to stop.
pub type ExternalStep<'a> = &'a mut dyn FnMut(u32, &mut [f64], &[f64]) -> bool;

/// An optimizer that is not a rule of the engine, such as a Python object: the caller takes its steps.
///
/// A preset or a result names it, without its code: from a file, its steps cannot be taken again, and its particles stay
/// at their start.
pub struct External;

impl External {
    /// Why the steps of an external optimizer cannot be taken from a file.
    pub fn refusal(name: &str) -> String {
        format!(
            "is that of {name}, an optimizer whose code is not in the file; run it where its code is, such as in Python, or \
             take it out"
        )
    }
}

const GRADIENT: StepPart = StepPart::state("g", "gradient", "gradient of the step");

impl Rule for External {
    const INFO: RuleInfo = RuleInfo {
        name: "External",
        color: [110, 110, 120],
        marker: Marker::filled(MarkerShape::Plus),
        source: "code outside of the program",
        hyperparameters: &[],
        states: &[&GRADIENT],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = [N; 0];
    type Coefficients<A: Algebra> = ();
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(_step: &StepSettings<N, [N; 0]>, _of: impl Fn(N) -> A) {}

    /// Keeps the gradient for the caller, who moves θ.
    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(_c: &(), seen: RuleInput<A, B>, _state: [A; 1]) -> ([A; 1], Moved<A>) {
        ([seen.gradient], Moved { theta: seen.theta, direction: A::splat(0.0) })
    }
}
