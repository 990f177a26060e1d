use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, MarkerShape, Moved, Rates, Rule, RuleInfo, RuleInput, Scalar,
    StepArrow, StepPart, hyperparameters,
};

/// Signum: the sign of the momentum (Bernstein et al., [arXiv:1802.04434](https://arxiv.org/abs/1802.04434)), with
/// decoupled weight decay.
///
/// ```text
/// m ← β₁ m + (1 − β₁) g
/// θ ← θ − η ( sign(m) + ω θ )
/// ```
///
/// It is FOCUS with γ = 0 and β₂ = 0. The paper's toy model uses β₁ = 0.9 and ω = 0.1.
pub struct Signum;

hyperparameters! {
    beta1: Hyperparameter::momentum().paper("0.9"),
    weight_decay: Hyperparameter::weight_decay().paper("0.1"),
}

const M: StepPart = StepPart::state("m", "m", "running average of the gradients");
const D: StepPart = StepPart::quantity("d", "direction of the step");
const DIRECTION: StepArrow = StepArrow::direction("−sign m", "Signum's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    one_minus_beta1: A,
}

impl Rule for Signum {
    const INFO: RuleInfo = RuleInfo {
        name: "Signum",
        color: [251, 221, 133],
        marker: Marker::filled(MarkerShape::Square),
        source: "arXiv:1802.04434",
        hyperparameters: TABLE,
        states: &[&M],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        h: &Hyper<N>,
        _elapsed: &Elapsed<N, Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> Coefficients<A> {
        Coefficients { beta1: of(h.beta1), one_minus_beta1: of(N::splat(1.0) - h.beta1) }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        rates: Rates<A>,
        RuleInput { theta, gradient, .. }: RuleInput<A, B>,
        [m]: [A; 1],
    ) -> ([A; 1], Moved<A>) {
        let m = c.beta1.mul_add(m, c.one_minus_beta1 * gradient).named(&M);
        let direction = m.sign().named(&D);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m], Moved { theta: rates.decayed_step(theta, direction, theta), direction })
    }
}
